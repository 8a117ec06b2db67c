package main

import (
	"errors"
	"fmt"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/penstock-mcp/penstock/cmd/penstock/internal/catalog"
	"github.com/penstock-mcp/penstock/cmd/penstock/internal/text"
	"github.com/penstock-mcp/penstock/engine"
	"github.com/penstock-mcp/penstock/lockfile"
)

func newBaselineApprove() *cobra.Command {
	return &cobra.Command{
		Use:   "approve LOCKFILE CATALOG… SERVER/TOOL=FINGERPRINT…",
		Short: "Approve tools in the form that diff showed",
		Long: `Approve tools of the catalogs in the form that penstock baseline diff showed, and write that to the file.

An approval is bound to what was looked at: SERVER/TOOL=FINGERPRINT approves the tool only if it still has that
fingerprint, and SERVER/TOOL=gone takes a tool out of the file only if its server no longer lists it. Take both from
the lines "approve:" of diff. The server ends at the first "/" and the fingerprint begins behind the last "=", so that a
tool's name may hold either.

The first half of a fingerprint's 64 digits, or more, may stand for it. Less may not: whoever writes a server could
make two definitions that share a short beginning, and have the harmless one shown to you.

Either everything that was asked for is approved or nothing is. Approving what is approved already changes nothing.
There is no way to approve whatever is new without naming it: that would approve what nobody has seen. To approve all
that a diff has shown, keep it and read the approvals from there, as in the last example.

The exit code is 1 where a tool is another one by now, or is not there, or the file was changed or could not be
written meanwhile, and 2 where the input could not be used.`,
		Example: `  penstock baseline approve approved.json catalogs fs/write=penstock1:3f5a…
  penstock baseline approve approved.json catalogs/fs.json fs/read=3f5a… fs/old=gone
  penstock baseline diff --format json approved.json catalogs > seen.json
  jq -r '.changes[].approve | values' seen.json | xargs -d '\n' penstock baseline approve approved.json catalogs`,
		Args:              cobra.MinimumNArgs(3),
		RunE:              func(cmd *cobra.Command, args []string) error { return runBaselineApprove(cmd, args[0], args[1:]) },
		ValidArgsFunction: completeJSON,
	}
}

// approval is one SERVER/TOOL=FINGERPRINT.
type approval struct {
	target engine.Target
	print  string // with or without the scheme; "gone" for one that is not there
}

// leastDigits is how much of a fingerprint has to be given. Finding two definitions that share 128 bits takes 2^64
// attempts; sharing 48 bits, the dozen digits that people are used to, takes seconds.
const leastDigits = 32

var (
	ownPrint = regexp.MustCompile(`^(penstock1:)?([0-9a-f]+)$`)
	anyPrint = regexp.MustCompile(`^([A-Za-z0-9._-]+:)?[0-9A-Fa-f]*…?$`)
)

// parseApproval reads an approval. It returns false for an argument that is none, but a catalog; an argument that looks
// like an approval is one, and it is an error if it is a bad one.
func parseApproval(arg string) (a approval, ok bool, err error) {
	name, print, hasPrint := cutLast(arg)
	server, tool, hasTool := strings.Cut(name, "/")
	if !hasPrint || !hasTool || print != goneWord && !anyPrint.MatchString(print) {
		if _, err := os.Stat(arg); err != nil && strings.Contains(arg, "/") && !strings.HasSuffix(arg, ".json") {
			return a, false, fmt.Errorf("%s is no catalog (%w), and no approval, which is SERVER/TOOL=FINGERPRINT or SERVER/TOOL=gone", text.Plain(arg), unwrapPath(err))
		}
		return a, false, nil
	}
	a = approval{engine.Target{Server: server, Name: tool}, print}
	if err := engine.CheckServerID(server); err != nil {
		return a, true, fmt.Errorf("approval %s: %w", text.Plain(arg), err)
	}
	if print == goneWord {
		return a, true, nil
	}
	m := ownPrint.FindStringSubmatch(print)
	if m == nil {
		return a, true, fmt.Errorf("approval %s: %s is not the fingerprint of a tool, which is hexadecimal digits in lower case", text.Plain(arg), text.Plain(print))
	}
	if n := len(m[2]); n < leastDigits || n > 64 {
		return a, true, fmt.Errorf("approval %s: the fingerprint has %s; give all 64, or at least the first %d", text.Plain(arg), text.Of(n, "digit"), leastDigits)
	}
	return a, true, nil
}

// cutLast cuts s at the last "=".
func cutLast(s string) (before, after string, found bool) {
	i := strings.LastIndexByte(s, '=')
	if i < 0 {
		return s, "", false
	}
	return s[:i], s[i+1:], true
}

// unwrapPath returns what is wrong with a path, without the path.
func unwrapPath(err error) error {
	if inner := errors.Unwrap(err); inner != nil {
		return inner
	}
	return err
}

func runBaselineApprove(cmd *cobra.Command, path string, args []string) error {
	var approvals []approval
	var paths []string
	var errs []error
	for _, arg := range args {
		a, ok, err := parseApproval(arg)
		switch {
		case err != nil:
			errs = append(errs, err)
		case !ok:
			paths = append(paths, arg)
		case slices.ContainsFunc(approvals, func(b approval) bool { return b.target == a.target }):
			errs = append(errs, fmt.Errorf("approval %s: another one is of the same tool", text.Plain(arg)))
		default:
			approvals = append(approvals, a)
		}
	}
	if len(errs) == 0 && len(approvals) == 0 {
		errs = append(errs, errors.New("nothing to approve: want SERVER/TOOL=FINGERPRINT, as penstock baseline diff shows it"))
	}
	if len(errs) == 0 && len(paths) == 0 {
		errs = append(errs, errors.New("no catalog: an approval needs the tool that it approves"))
	}
	if len(errs) > 0 {
		return errors.Join(errs...)
	}
	file, catalogs, err := loadBaseline(cmd, path, paths)
	if err != nil {
		return err
	}
	var done []string
	for _, a := range approvals {
		word, err := a.apply(file, catalogs)
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", a, err))
			continue
		}
		done = append(done, fmt.Sprintf("%s %s\n", text.Pad(word, len("approved")), a))
	}
	if len(errs) > 0 {
		return failures(append(errs, fmt.Errorf("nothing is approved; see penstock baseline diff %s", path)))
	}
	if err := file.Save(path); err != nil {
		return &failure{exitFindings, fmt.Errorf("nothing is approved: %w", err)}
	}
	for _, line := range done {
		if _, err := cmd.OutOrStdout().Write([]byte(line)); err != nil {
			return written(err)
		}
	}
	return nil
}

// String names the tool for people.
func (a approval) String() string {
	return text.Plain(a.target.Server) + "/" + text.Plain(a.target.Name)
}

// apply puts the approval into file and says what it did.
func (a approval) apply(file *lockfile.File, catalogs []*catalog.Catalog) (done string, err error) {
	i := slices.IndexFunc(catalogs, func(c *catalog.Catalog) bool { return c.Server == a.target.Server })
	if i < 0 {
		return "", errors.New("there is no catalog of that server")
	}
	var tools []*engine.Tool
	for j := range catalogs[i].Tools {
		if t := &catalogs[i].Tools[j]; t.Name == a.target.Name {
			tools = append(tools, t)
		}
	}
	was, known := file.Lookup(a.target)
	switch {
	case a.print == goneWord && len(tools) > 0:
		return "", errors.New("it is not gone")
	case a.print == goneWord && catalogs[i].Partial:
		return "", errors.New("the catalog is one page of several: whether it is gone cannot be told")
	case a.print == goneWord && !known:
		return "", errors.New("it is not in the file")
	case a.print == goneWord:
		file.Remove(a.target)
		return goneWord, nil
	case len(tools) == 0:
		return "", errors.New("its server does not list it")
	case len(tools) > 1:
		return "", errors.New("its server lists it twice")
	}
	t := tools[0]
	if now := string(t.Fingerprint); now == "" {
		return "", lockfile.ErrNoFingerprint
	} else if !strings.HasPrefix(now, a.print) && !strings.HasPrefix(strings.TrimPrefix(now, "penstock1:"), a.print) {
		return "", fmt.Errorf("it is another one by now, with the fingerprint %s", now)
	}
	if err := file.Approve(*t); err != nil {
		var tool *lockfile.ToolError
		if errors.As(err, &tool) {
			err = tool.Err
		}
		return "", err
	}
	if is, _ := file.Lookup(a.target); reflect.DeepEqual(was, is) {
		return "same", nil
	}
	return "approved", nil
}
