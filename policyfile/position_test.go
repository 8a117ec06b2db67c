package policyfile

import "testing"

func TestPositionOfOptions(t *testing.T) {
	doc, err := Parse([]byte("version: 1\npolicy:\n  scope: [tools]\n  trusted:\n    - fs\n    - web\n"), Options{File: "p.yaml"})
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		keys []string
		want string
		ok   bool
	}{
		{nil, "p.yaml:1:1", true},
		{[]string{"policy", "scope"}, "p.yaml:3:10", true},
		{[]string{"policy", "default"}, "p.yaml", false},
		{[]string{"filter", "include"}, "p.yaml", false},
	} {
		if p, ok := doc.Position(test.keys...); p.String() != test.want || ok != test.ok {
			t.Errorf("%v: %s, %t; want %s, %t", test.keys, p, ok, test.want, test.ok)
		}
	}
	if p, ok := doc.TrustedPosition(1); !ok || p.String() != "p.yaml:6:7" {
		t.Errorf("trusted[1]: %s, %t", p, ok)
	}
	if _, ok := doc.TrustedPosition(2); ok {
		t.Error("there is no trusted[2]")
	}
	if _, ok := new(Document).Position(); ok {
		t.Error("a document made in Go has no places")
	}
}
