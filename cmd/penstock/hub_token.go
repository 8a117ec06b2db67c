package main

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"

	"github.com/spf13/cobra"
)

func newHubToken() *cobra.Command {
	return &cobra.Command{
		Use:   "token",
		Short: "Make a token for a caller",
		Long: `Make a random token of 256 bits, and print it with its SHA-256: the token is the caller's, who sends it as
"Authorization: Bearer TOKEN"; its SHA-256 is what a caller in hub.yaml has. The token is shown this once.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			var b [32]byte
			if _, err := rand.Read(b[:]); err != nil {
				return &failure{exitFindings, err}
			}
			token := base64.RawURLEncoding.EncodeToString(b[:])
			sum := sha256.Sum256([]byte(token))
			_, err := fmt.Fprintf(cmd.OutOrStdout(), "token: %s\ntoken_sha256: %s\n", token, hex.EncodeToString(sum[:]))
			return written(err)
		},
	}
}
