package bench

import "strings"

// The words that names are made of. Verbs, nouns and their weights are those that stand most often in the tool lists
// under testdata/catalogs; vendors are made up or common.

// verbs of the three classes that policies tell apart, the frequent ones several times.
var verbs = [...][]string{
	reading: strings.Fields(`get get get get get get get get get get list list list list list list search search search
		read read find find query query fetch describe check show count export download validate view analyze`),
	writing: strings.Fields(`create create create create create update update update update add add add set set send send
		run execute deploy generate upload insert edit move copy start manage publish assign merge trigger import reply`),
	destroying: strings.Fields(`delete delete delete delete delete remove remove cancel stop reset clear archive revoke
		uninstall drop purge`),
}

// class is what a tool does, as far as its verb tells.
type class int

const (
	reading class = iota
	writing
	destroying
)

// sensitive nouns are those that infix rules are written about first.
var sensitive = strings.Fields(`secret token password credential billing payment invoice permission member webhook
	certificate key audit production payroll salary contract license backup policy`)

var nouns = append(strings.Fields(`issue project file user group message cluster pull website item domain pipeline
	database comment table tool task card calendar page template status folder org test config team catalog monitor
	workspace node component event release site dashboard app room firewall image content repository log workflow branch
	draft note droplet chart schema milestone object text chat tag label channel mailbox link wiki server request
	collection job slide contact alert email spec environment section sheet range setting snapshot service board
	reaction doc code blob version initiative plan resource document review column subscription storage field metadata
	response campaign center schedule drive meeting planner customer script account deployment model session property
	profile todo attachment thread rule cycle variable experiment record namespace topic health cron system cache
	connection url mock patch metric queue notification agent screenshot batch action value plugin application segment
	map design usage source migration mode network sync form env diff checklist state block discussion access index
	product analysis type approval notebook asset organization entity vector lease quota tenant region zone gateway
	route proxy peer volume bucket stream shard replica partition lock ticket incident runbook playbook sprint epic
	story backlog roadmap estimate timesheet order shipment refund coupon price tax vendor supplier warehouse stock`), sensitive...)

var tails = strings.Fields(`details status all by_id bulk v1 v2 history list info content stats summary async preview`)

var vendors = strings.Fields(`github gitlab jira slack linear notion asana figma stripe hubspot airtable sentry grafana
	datadog mongodb postgres redis elastic kubernetes terraform azure-devops google-drive google-calendar gmail outlook
	teams zendesk intercom shopify wordpress webflow netlify vercel cloudflare digitalocean aws-s3 aws-lambda bigquery
	snowflake kafka jenkins circleci codacy sonarqube bitwarden vault okta twilio sendgrid mailchimp discord reddit
	youtube spotify browser playwright fs git memory search`)
