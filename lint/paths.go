package lint

// This file looks at conditions on paths and at file: URIs.

import (
	"fmt"
	"strings"

	"github.com/penstock-mcp/penstock/engine"
)

func (l *linter) rulePaths() {
	for _, list := range lists {
		for _, r := range l.rules[list] {
			for i := range r.lookups {
				for _, c := range r.lookups[i].conds {
					l.root(r, &r.lookups[i], c)
				}
			}
			if r.list == engine.ListAllow && r.kind == engine.Resources {
				l.dotDot(r)
			}
		}
	}
}

// root looks for roots that hold everything in a condition and its parts.
func (l *linter) root(r *rule, at *lookup, c engine.Condition) {
	s := c.Inspect()
	for _, part := range s.Parts {
		l.root(r, at, part)
	}
	if s.Op != "inside" && s.Op != "outside" {
		return
	}
	of := ""
	switch {
	case strings.Trim(s.Root, "/") == "":
		of = "absolute path"
	case len(strings.TrimRight(s.Root, `/\`)) == 2 && s.Root[1] == ':':
		of = "path of the drive"
	default:
		return
	}
	message := fmt.Sprintf("inside: %s holds for every %s.", quote(s.Root), of)
	if s.Op == "outside" {
		message = fmt.Sprintf("outside: %s holds for no %s.", quote(s.Root), of)
	}
	l.reportRule(rootHoldsAll, r, message, "Name the folder that is meant, such as \"/srv/share\".").Position = at.pos
}

// dotDot reports an allow pattern for file: URIs if the policy as a whole allows one that climbs out of the folder that
// the pattern names.
func (l *linter) dotDot(r *rule) {
	for i := range r.globs {
		g := &r.globs[i]
		head, rest, star := strings.Cut(g.name, "*")
		folder := strings.TrimLeft(strings.TrimPrefix(head, "file:"), "/")
		if !star || !strings.HasPrefix(head, "file:") || folder == "" {
			continue
		}
		for _, up := range []string{"..", "%2e%2e"} {
			// Every star but the first stands for nothing.
			uri := head + "x/" + strings.Repeat(up+"/", 2+strings.Count(folder, "/")) + "etc/passwd" + strings.ReplaceAll(rest, "*", "")
			server := strings.ReplaceAll(g.server, "*", "x")
			for _, s := range l.in.Servers {
				if r.onServer(s.ID) {
					server = s.ID
					break
				}
			}
			d, err := l.policy.EvaluateResource(server, uri, nil)
			if err != nil || d.Action != engine.Allow {
				continue
			}
			f := l.reportRule(fileDotDot, r,
				fmt.Sprintf("This allows %s: '*' takes '..', too, and no URI is normalised.", quote(uri)),
				`Deny what climbs: {resource: {server: "*", regexp: '(?i)(^|/|\\|%2f|%5c)(\.|%2e){2}(/|\\|%2f|%5c|$)'}}.`)
			f.Position = g.pos
			return
		}
	}
}
