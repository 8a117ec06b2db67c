package main

import (
	"github.com/spf13/cobra"

	"github.com/penstock-mcp/penstock/engine"
	"github.com/penstock-mcp/penstock/policyfile"
)

// rules is a compiled policy document.
type rules struct {
	filter *engine.Filter
	policy *engine.Policy
}

// policyFlag adds the flag that names the policy document.
func policyFlag(cmd *cobra.Command, path *string) {
	cmd.Flags().StringVarP(path, "policy", "p", "", "the policy document, YAML or JSON (required)")
	_ = cmd.MarkFlagRequired("policy")
	_ = cmd.MarkFlagFilename("policy", "yaml", "yml", "json")
}

// loadRules reads and compiles the document at path. The error holds everything that is wrong with it.
func loadRules(path string) (rules, error) {
	doc, err := policyfile.Load(path, policyfile.Options{File: path})
	if err != nil {
		return rules{}, err
	}
	filter, policy, err := doc.Compile()
	if err != nil {
		return rules{}, err
	}
	return rules{filter, policy}, nil
}
