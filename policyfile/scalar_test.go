package policyfile

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"
)

func TestPlainScalars(t *testing.T) {
	for _, tt := range []struct {
		kind    kind
		refused bool
		texts   []string
	}{
		{kindNull, false, []string{"null"}},
		{kindNull, true, []string{"", "~", "Null", "NULL"}},
		{kindBool, false, []string{"true", "false"}},
		{kindBool, true, []string{"True", "TRUE", "False", "FALSE"}},
		{kindNumber, false, []string{"0", "-0", "1", "-12", "1.5", "0.1", "1e3", "1E+3", "-1.25e-400", "9007199254740993", strings.Repeat("9", 400)}},
		{kindNumber, true, []string{"+1", "01", "007", "0x10", "0X1f", "0o7", "0b1", "1_000", "-1_0.5", "1.", ".5", "-.5e3", ".inf", "-.Inf", "+.INF", ".nan", ".NaN", "0_1", "1e5_0"}},
		{kindString, false, []string{"yes", "no", "on", "off", "y", "n", "tRUE", "nULL", "1:30", "2001-01-01", "2001-01-01T00:00:00Z", "1.2.3", "1e", "e1", "-", "--1",
			"0x", "0xg", "0badc0de", "12ab", "inf", "nan", ".infinity", "fs/read", "+", ".", "..", "_1", "a: b"}},
	} {
		for _, text := range tt.texts {
			k, problem := plainScalar(text)
			require.Equal(t, tt.kind, k, text)
			require.Equal(t, tt.refused, problem != "", "%s: %s", text, problem)
			requirePlainScalar(t, text)
		}
	}
}

// requirePlainScalar checks that what the YAML library takes for null, a boolean or a number is no string here.
func requirePlainScalar(t *testing.T, text string) {
	t.Helper()
	tag := (&yaml.Node{Kind: yaml.ScalarNode, Value: text}).ShortTag()
	want, is := map[string]kind{"!!null": kindNull, "!!bool": kindBool, "!!int": kindNumber, "!!float": kindNumber}[tag]
	if got, _ := plainScalar(text); is {
		require.Equal(t, want, got, "%q", text)
	}
}
