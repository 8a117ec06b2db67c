package main

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"penstock": main, "mcp-fake": fakeServer})
}

// The scripts run penstock as a program: see testdata/scripts. In them $TESTDATA is the testdata folder, and
//
//	exits CODE PROGRAM ARG…
//
// runs a program that must end with the given code, and with code 2 print nothing to standard output, and
//
//	repeat FILE BEFORE TEXT N AFTER
//
// writes BEFORE, N times TEXT, AFTER and a line end to FILE.
func TestScripts(t *testing.T) {
	dir, err := filepath.Abs(testdata)
	if err != nil {
		t.Fatal(err)
	}
	testscript.Run(t, testscript.Params{
		Dir:                 filepath.Join(dir, "scripts"),
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		UpdateScripts:       *update,
		Setup: func(env *testscript.Env) error {
			env.Setenv("TESTDATA", dir)
			return nil
		},
		Cmds: map[string]func(ts *testscript.TestScript, neg bool, args []string){
			"exits":  exits,
			"repeat": repeat,
		},
	})
}

func exits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits CODE PROGRAM ARG…")
	}
	err := ts.Exec(args[1], args[2:]...)
	code := 0
	var exit *exec.ExitError
	switch {
	case errors.As(err, &exit):
		code = exit.ExitCode()
	case err != nil:
		ts.Fatalf("%v", err)
	}
	if strconv.Itoa(code) != args[0] {
		ts.Fatalf("exit code %d, want %s", code, args[0])
	}
	if code == exitUnusable && ts.ReadFile("stdout") != "" {
		ts.Fatalf("unusable input, and something on standard output")
	}
}

func repeat(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 5 {
		ts.Fatalf("usage: repeat FILE BEFORE TEXT N AFTER")
	}
	n, err := strconv.Atoi(args[3])
	ts.Check(err)
	text := args[1] + strings.Repeat(args[2], n) + args[4] + "\n"
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), []byte(text), 0o644))
}
