package main

import (
	"github.com/spf13/cobra"

	"github.com/penstock-mcp/penstock/policyfile"
)

func newSchema() *cobra.Command {
	return &cobra.Command{
		Use:   "schema",
		Short: "Print the JSON Schema of a policy document",
		Long: `Print the JSON Schema of a policy document, for editors and other checkers.

The schema covers the shape of a document. What a pattern may hold, and everything else that needs more than the
shape, is checked when the document is compiled: see penstock check.`,
		Example: "  penstock schema > penstock.schema.json",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			_, err := cmd.OutOrStdout().Write(policyfile.Schema())
			return written(err)
		},
	}
}
