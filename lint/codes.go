package lint

import "slices"

// Code is a kind of finding. Its ID and Name never change and are never used for anything else.
type Code struct {
	ID       string // such as PS101
	Name     string // such as duplicate-rule
	Severity Severity
	Summary  string // one line
	Happens  string // what happens, and how it is found
	Write    string // what to write instead
	Catalogs bool   // needs the catalogs of the servers
}

// Codes returns every kind of finding, sorted by ID.
func Codes() []*Code { return slices.Clone(codes) }

// CodeOf returns the code with the given ID or name, or nil.
func CodeOf(word string) *Code {
	for _, c := range codes {
		if c.ID == word || c.Name == word {
			return c
		}
	}
	return nil
}

// The first digit groups: 1 rules by themselves, 2 options, 3 rules against the catalogs, 4 the catalogs themselves.
var codes = []*Code{
	duplicateRule, subsumedRule, redundantRule, shadowedRule, allowByDistrust, denyByDistrust, hintNeedsTrust,
	regexpTakesAll, regexpUnanchored, regexpNewline, bareServer, fileDotDot, rootHoldsAll, lookalikePattern,
	allowNewStar, scopeOpen, excludeLeavesOpen, pinLiftsDeny, askLiftsDeny, exactUnpinned,
	unknownServer, matchesNothing, allowSpelling, neverActs, onlyNew, foldsOntoSeveral, prefixCrosses, verbLeaves, bareSeveral,
	sameName, lookalikeName, invisibleName, hintAgainstName, hintsContradict,
}

var (
	duplicateRule = &Code{ID: "PS101", Name: "duplicate-rule", Severity: Warning,
		Summary: "a rule takes exactly what an earlier rule of its list takes",
		Happens: "The later rule is never the one that is reported, and changing only one of the two does not change what happens. " +
			"In deny, ask and exclude rules compare folded: Delete-Repo and delete_repo are one rule there.",
		Write: "Remove one of the two."}
	subsumedRule = &Code{ID: "PS102", Name: "subsumed-rule", Severity: Warning,
		Summary: "an earlier rule of the list takes everything that this rule takes",
		Happens: "The first rule that matches is the one that is reported, so this rule, its id and its message are never seen. " +
			"In allow an exact rule also lets new tools through, which a wider rule with a star does not: such a rule is no finding.",
		Write: "Remove the rule, or put it before the wider one if its id or message matters."}
	redundantRule = &Code{ID: "PS103", Name: "redundant-rule", Severity: Info,
		Summary: "a later rule of the list takes everything that this rule takes, and more",
		Happens: "Without this rule the same would be decided; it only changes which rule is reported. A rule with an id is no " +
			"finding: to be reported under its own name is what it may be for.",
		Write: "Remove the rule, or give it an id."}
	shadowedRule = &Code{ID: "PS104", Name: "shadowed-rule", Severity: Warning,
		Summary: "a rule can never act, since a stronger list takes everything that it takes",
		Happens: "The order is exclude, deny, ask, allow, whatever the rules' own order and however specific they are: there is no " +
			"exception to a deny.",
		Write: "Remove the rule, or narrow the stronger one."}
	allowByDistrust = &Code{ID: "PS105", Name: "allow-by-distrust", Severity: Error,
		Summary: "an allow rule wants a hint to have the value that every untrusted tool has",
		Happens: "The hints of a server that is not trusted count as not read-only, destructive, open-world and not idempotent, " +
			"whatever it says. An allow rule that wants one of these values allows every tool of every server that nobody trusts.",
		Write: "Ask for the opposite value, or name only trusted servers beside it: all: [\"fs/*\", {annotation: …}]."}
	denyByDistrust = &Code{ID: "PS106", Name: "deny-by-distrust", Severity: Info,
		Summary: "a deny or ask rule wants a hint to have the value that every untrusted tool has",
		Happens: "It takes every tool of every server that is not trusted, whatever the server says of the tool.",
		Write:   "If that is not meant, trust the servers whose hints you believe, or name the servers beside the hint."}
	hintNeedsTrust = &Code{ID: "PS107", Name: "hint-needs-trust", Severity: Warning,
		Summary: "a rule wants a hint to have a value that only tools of trusted servers have, and trusts none of its servers",
		Happens: "The rule never matches. In deny or ask that is a hole.",
		Write:   "Add the servers whose hints you believe to trusted, or go by names."}
	regexpTakesAll = &Code{ID: "PS108", Name: "regexp-takes-all", Severity: Warning,
		Summary: "a regular expression matches every name",
		Happens: "An empty expression, .* and the like match everything, which is easy to miss. In deny, ask and exclude, where that only " +
			"takes more away, it is an info.",
		Write: "Write the pattern \"server/*\" if everything is meant."}
	regexpUnanchored = &Code{ID: "PS109", Name: "regexp-unanchored", Severity: Warning,
		Summary: "an allow or include expression matches in the middle of a word",
		Happens: "Expressions are tried anywhere in the name: get takes forget_everything. In deny, ask and exclude, where that only " +
			"takes more away, it is a finding (info) only where a tool of the catalogs is taken so.",
		Write: "Begin it with ^, or with (^|[^a-z]) if it may stand behind other words."}
	regexpNewline = &Code{ID: "PS110", Name: "regexp-newline", Severity: Info,
		Summary: "a deny, ask or exclude expression has a '.' that does not take a newline",
		Happens: "A name with a newline in that place is not matched. A hub quarantines such tools, but not such resources and " +
			"prompts, and the policy can be used without one.",
		Write: "Begin the expression with (?s), or use a pattern: its star takes every character."}
	bareServer = &Code{ID: "PS111", Name: "bare-pattern-is-server", Severity: Warning,
		Summary: "a pattern without '/' is the id of a server",
		Happens: "A pattern without '/' names a tool, on any server: \"shell\" is a tool shell, not the tools of the server shell.",
		Write:   "Write \"shell/*\" for every tool of the server."}
	fileDotDot = &Code{ID: "PS112", Name: "file-glob-dotdot", Severity: Warning,
		Summary: "an allow pattern for file: URIs admits '..'",
		Happens: "'*' takes every character, '/' and '.' too, and no URI is normalised: file:///srv/* takes file:///srv/../etc/passwd. " +
			"The finding shows a URI that the whole policy really allows.",
		Write: "Deny what climbs: {resource: {server: \"*\", regexp: '(?i)(^|/|\\\\|%2f|%5c)(\\.|%2e){2}(/|\\\\|%2f|%5c|$)'}}."}
	rootHoldsAll = &Code{ID: "PS113", Name: "root-holds-everything", Severity: Warning,
		Summary: "a path condition has a root that holds everything",
		Happens: "inside: / holds for every absolute path, outside: / for none; a drive (C:\\) holds all of the drive.",
		Write:   "Name the folder that is meant, such as /srv/share."}
	lookalikePattern = &Code{ID: "PS114", Name: "lookalike-pattern", Severity: Warning,
		Summary: "a pattern or a server id has letters that look like others",
		Happens: "A Cyrillic а is not the Latin a: the rule does not match the name that a reader sees. Found by NFKC and the table that " +
			"PS402 uses.",
		Write: "Type the name again, or copy it from the server's tool list."}

	allowNewStar = &Code{ID: "PS201", Name: "allow-new-star", Severity: Warning,
		Summary: "allow_new_tools lets rules with a star allow tools that nobody has looked at",
		Happens: "A server can add a tool at any time, under any name that matches. Without allow_new_tools only rules that name one tool " +
			"allow a tool that is new.",
		Write: "Leave allow_new_tools out and approve tools into the baseline, or allow single tools by name."}
	scopeOpen = &Code{ID: "PS202", Name: "scope-open", Severity: Info,
		Summary: "resources or prompts are not in the scope, so all of them are allowed",
		Happens: "The scope is tools unless it says otherwise, and what a policy is not about it allows, also under default: deny.",
		Write:   "Write scope: [tools, resources, prompts] and rules for them, or make sure that no server has any."}
	excludeLeavesOpen = &Code{ID: "PS203", Name: "exclude-leaves-open", Severity: Warning,
		Summary: "an exclude hides every tool of a server and leaves its resources and prompts open",
		Happens: "The filter is about tools only. Where the scope lacks resources or prompts, those of the server can be read.",
		Write:   "Add them to the scope and deny them: \"resource:server/*\", \"prompt:server/*\"."}
	pinLiftsDeny = &Code{ID: "PS204", Name: "pin-lifts-deny", Severity: Info,
		Summary: "under default: deny a tool whose definition changed is asked about, not denied",
		Happens: "The pin comes before the default: with an approver, a changed tool that no rule allows can be approved once.",
		Write:   "Deny what must never run: no approver is asked about that."}
	askLiftsDeny = &Code{ID: "PS205", Name: "ask-failure-lifts-deny", Severity: Info,
		Summary: "under default: deny an ask rule whose condition cannot answer asks instead of denying",
		Happens: "A condition that fails (a missing argument, a path that is refused, an error) counts as matching in ask. The caller " +
			"can bring that about, and a call that no rule allows is then asked about.",
		Write: "Deny what must never run, or keep to patterns in ask."}
	exactUnpinned = &Code{ID: "PS206", Name: "exact-allow-unpinned", Severity: Info,
		Summary: "an allow rule for one tool takes every definition of it where there is no baseline",
		Happens: "A rule without a star allows a new tool, and without a baseline every tool is new, for ever: whatever the server makes " +
			"of the tool, it stays allowed. The same holds with pin_tools: false.",
		Write: "Keep a baseline and pin_tools (and give the baseline to lint)."}

	unknownServer = &Code{ID: "PS301", Name: "unknown-server", Severity: Warning, Catalogs: true,
		Summary: "a server id or glob matches no server of the catalogs",
		Happens: "The rule never matches, or the trust is never given. Ids compare exactly in allow, include, trusted and ignore, and " +
			"folded elsewhere.",
		Write: "Correct the id, or give the catalogs of all servers."}
	matchesNothing = &Code{ID: "PS302", Name: "matches-nothing", Severity: Warning, Catalogs: true,
		Summary: "a pattern or expression matches nothing of the catalogs",
		Happens: "Nobody says so when the policy runs. A deny, ask or exclude rule for any server may be meant for tools to come: it " +
			"is an info.",
		Write: "Correct the name, or remove the rule."}
	allowSpelling = &Code{ID: "PS303", Name: "allow-spelling", Severity: Warning, Catalogs: true,
		Summary: "an allow or include rule matches no tool, but would in another spelling",
		Happens: "Allow and include compare exactly: case, '-', '.' and '_' must be those of the tool.",
		Write:   "Write the name as the server does."}
	neverActs = &Code{ID: "PS304", Name: "never-acts", Severity: Warning, Catalogs: true,
		Summary: "everything that an allow or include rule matches is hidden, denied or asked about by other rules",
		Happens: "Each tool of the catalogs that it matches is taken by exclude, deny or ask rules, be it by several of them.",
		Write:   "Remove the rule, or narrow those that come before it."}
	onlyNew = &Code{ID: "PS305", Name: "only-new", Severity: Warning, Catalogs: true,
		Summary: "every tool that an allow rule matches is new, so it does not act",
		Happens: "The baseline has none of them, and only a rule that names one tool allows a new one.",
		Write:   "Approve the tools into the baseline."}
	foldsOntoSeveral = &Code{ID: "PS306", Name: "folds-onto-several", Severity: Warning, Catalogs: true,
		Summary: "a deny, ask or exclude rule for one name takes several tools of a server",
		Happens: "These lists compare folded, and the server has tools whose names differ only in case, '-', '.' and '_'.",
		Write:   "If only one is meant, and its name has capitals, '-' or '.', an expression can tell: {server: fs, regexp: \"^Read-File$\"}."}
	prefixCrosses = &Code{ID: "PS307", Name: "prefix-crosses-to-write", Severity: Warning, Catalogs: true,
		Summary: "an allow or include pattern that reads like reading also takes a tool that writes",
		Happens: "firecrawl_search* takes firecrawl_search_feedback. That a tool writes is guessed from the verbs in its name, or the " +
			"server says so itself.",
		Write: "Name the tools, or deny the ones that write."}
	verbLeaves = &Code{ID: "PS308", Name: "verb-leaves-siblings", Severity: Warning, Catalogs: true,
		Summary: "a rule against a verb leaves tools that do the same under another spelling or word",
		Happens: "\"*/delete_*\" does not take deleteRepo, sql_db_delete or remove_user. For deletion its synonyms count, for other verbs " +
			"their other spellings.",
		Write: "Use an expression that finds the words wherever they stand, or name the tools."}
	bareSeveral = &Code{ID: "PS309", Name: "bare-on-several-servers", Severity: Warning, Catalogs: true,
		Summary: "an allow or include pattern without '/' matches tools of several servers",
		Happens: "A pattern without '/' is for any server, also for one that is added later.",
		Write:   "Name the server: \"server/tool\"."}

	sameName = &Code{ID: "PS401", Name: "same-tool-name", Severity: Info, Catalogs: true,
		Summary: "tools of different servers have one name",
		Happens: "Penstock never confuses them, but a model can, and a client that joins names may. Hidden tools do not count.",
		Write:   "Hide those that are not needed, and write rules with the server in them."}
	lookalikeName = &Code{ID: "PS402", Name: "lookalike-name", Severity: Warning, Catalogs: true,
		Summary: "the name of a tool or server looks like another one",
		Happens: "A reader, or an approver, takes one for the other. Names are compared after NFKC and the table of look-alikes in " +
			"lint/lookalike.go, which says where it comes from and what it lacks.",
		Write: "Exclude the tool until you know why it is called that."}
	invisibleName = &Code{ID: "PS403", Name: "invisible-character", Severity: Error, Catalogs: true,
		Summary: "the name of a tool has a character that cannot be seen, or white space at its ends",
		Happens: "It looks like another name, or its text runs in another direction. A hub quarantines tools with control and format " +
			"characters.",
		Write: "Exclude the tool and ask the server's makers."}
	hintAgainstName = &Code{ID: "PS404", Name: "hint-against-name", Severity: Warning, Catalogs: true,
		Summary: "a hint says that a tool is harmless, and its name says otherwise",
		Happens: "A delete-like name with destructiveHint false, or a writing name with readOnlyHint true. Of a trusted server only tools " +
			"count that nothing else hides, denies or asks about. Of the others the hint is not believed: an info, to know before " +
			"trusting them.",
		Write: "Do not trust the server, or deny or ask about these tools by name."}
	hintsContradict = &Code{ID: "PS405", Name: "hints-contradict", Severity: Warning, Catalogs: true,
		Summary: "a server calls a tool read-only and destructive",
		Happens: "Penstock takes a read-only tool of a trusted server as not destructive. For servers that are not trusted: an info.",
		Write:   "Do not trust the server, or deny or ask about these tools by name."}
)
