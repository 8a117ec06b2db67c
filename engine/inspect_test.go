package engine

import (
	"context"
	"regexp"
	"testing"
)

func TestInspectShowsWhatARuleIsMadeOf(t *testing.T) {
	re := regexp.MustCompile("^x")
	yes := func(context.Context, Input) (bool, error) { return true, nil }
	tests := []struct {
		rule  Rule
		want  Shape // the fields that == compares
		exact bool
	}{
		{Rule{}, Shape{}, false},
		{Bad("x", nil), Shape{Text: "x"}, false},
		{Pattern("a/"), Shape{Text: "a/"}, false},
		{Pattern("a/b/c"), Shape{Form: FormPattern, Text: "a/b/c", Server: "a", Name: "b/c"}, true},
		{Pattern("a/*"), Shape{Form: FormPattern, Text: "a/*", Server: "a", Name: "*"}, false},
		{Pattern("b"), Shape{Form: FormPattern, Text: "b", Server: "*", Name: "b", Bare: true}, false},
		{Pattern("resource:a/x"), Shape{Form: FormPattern, Text: "resource:a/x", Kind: Resources, Server: "a", Name: "x"}, true},
		{PromptRegexp("a*", re), Shape{Form: FormRegexp, Kind: Prompts, Server: "a*", Regexp: re}, false},
		{Func("f", yes), Shape{Form: FormFunc, Text: "f"}, false},
		{Args("g", yes), Shape{Form: FormArgs, Text: "g"}, false},
		{Annotation(HintDestructive, true), Shape{Form: FormAnnotation, Hint: HintDestructive, Want: true}, false},
	}
	for _, test := range tests {
		got := test.rule.Inspect()
		if got.Exact() != test.exact {
			t.Errorf("%s: exact is %t", test.rule, got.Exact())
		}
		if got.Members != nil || got.Ignore != nil || got.Conditions != nil || !sameShape(got, test.want) {
			t.Errorf("%s: %+v, want %+v", test.rule, got, test.want)
		}
	}
}

func sameShape(a, b Shape) bool {
	return a.Form == b.Form && a.Text == b.Text && a.Kind == b.Kind && a.Server == b.Server && a.Name == b.Name &&
		a.Bare == b.Bare && a.Regexp == b.Regexp && a.Hint == b.Hint && a.Want == b.Want && a.ID == b.ID && a.Message == b.Message
}

func TestInspectHandsOutCopies(t *testing.T) {
	rule := Named("n", All(Pattern("a/b"), Tainted("x"), Arg("k", Inside("/d"), Each(Match(regexp.MustCompile("y")))))).WithMessage("m")
	named := rule.Inspect()
	if named.Form != FormNamed || named.ID != "n" || named.Message != "m" || len(named.Members) != 1 {
		t.Fatalf("%+v", named)
	}
	all := named.Members[0].Inspect()
	if all.Form != FormAll || len(all.Members) != 3 {
		t.Fatalf("%+v", all)
	}
	taint, arg := all.Members[1].Inspect(), all.Members[2].Inspect()
	if taint.Form != FormTainted || len(taint.Ignore) != 1 || taint.Ignore[0] != "x" {
		t.Errorf("%+v", taint)
	}
	if arg.Form != FormArg || arg.Text != "k" || len(arg.Conditions) != 2 {
		t.Fatalf("%+v", arg)
	}
	inside, each := arg.Conditions[0].Inspect(), arg.Conditions[1].Inspect()
	if inside.Op != "inside" || inside.Root != "/d" || each.Op != "each" || len(each.Parts) != 1 {
		t.Errorf("%+v, %+v", inside, each)
	}
	if m := each.Parts[0].Inspect(); m.Op != "regexp" || m.Regexp.String() != "y" {
		t.Errorf("%+v", m)
	}
	before := rule.String()
	all.Members[0], taint.Ignore[0], arg.Conditions[0], named.Members[0] = Pattern("z"), "z", Exists(true), Pattern("z")
	if rule.String() != before {
		t.Errorf("%s became %s", before, rule)
	}
}
