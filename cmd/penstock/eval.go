package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/penstock-mcp/penstock/cmd/penstock/internal/text"
	"github.com/penstock-mcp/penstock/engine"
	"github.com/penstock-mcp/penstock/policyfile"
)

// maxRequest bounds the memory that one request takes: it is four times the largest document that a policy may be.
const maxRequest = 64 << 20

func newEval() *cobra.Command {
	var path string
	cmd := &cobra.Command{
		Use:   "eval -p POLICY",
		Short: "Answer requests from standard input, one JSON object a line",
		Long: `Answer requests from standard input, one JSON object a line, in order.

A request:

  {"tool": {"server": "fs", "name": "write", "annotations": {"readOnlyHint": false}, "fingerprint": "…", "raw": {}},
   "args": {"path": "/data/x"}, "has_approver": true,
   "approved": [{"server": "fs", "name": "write", "fingerprint": "…"}], "taint": ["web"], "attributes": {}}

on one line. {"resource": {"server", "uri"}} or {"prompt": {"server", "name"}} may stand in place of tool. Only
the server and the name are required. Without approved every tool is new. Unknown and duplicate keys are errors.

Its answer:

  {"visible": true, "action": "allow", "source": "allow", "reason": "matched", "rule": "allow[2]", "new": false}

rule is null where no rule decided; resources and prompts have no visible. The decision is the policy's, also where
visible is false.

A line that is no request is answered by {"line": N, "error": "…"}, and the rest goes on; the exit code is then 1. White
space at the end of the input is no line. A line may have up to 64 MiB.

Each answer is written before penstock waits for more input, so a program may ask and wait.`,
		Example: `  echo '{"tool": {"server": "fs", "name": "write"}, "has_approver": true}' | penstock eval -p policy.yaml`,
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			loaded, err := loadRules(path)
			if err != nil {
				return err
			}
			return runEval(loaded, cmd.InOrStdin(), cmd.OutOrStdout())
		},
		ValidArgsFunction: cobra.NoFileCompletions,
	}
	policyFlag(cmd, &path)
	return cmd
}

// runEval answers every line of in. Its memory does not grow with their number.
func runEval(rs rules, in io.Reader, out io.Writer) error {
	w := bufio.NewWriterSize(out, 64<<10)
	lines := newLineReader(flushBefore{in, w})
	var answer []byte
	bad := 0
	for {
		line, err := lines.next()
		if err == io.EOF {
			break
		}
		if err != nil && !errors.Is(err, errLongLine) {
			return errors.Join(written(w.Flush()), fmt.Errorf("reading standard input: %w", err))
		}
		answer = answer[:0]
		if err == nil {
			answer, err = rs.answer(answer, line)
		}
		if err != nil {
			bad++
			answer = appendLineError(answer[:0], lines.number, err)
		}
		if _, err := w.Write(append(answer, '\n')); err != nil {
			return written(err)
		}
	}
	if err := w.Flush(); err != nil {
		return written(err)
	}
	if bad > 0 {
		return &failure{exitFindings, fmt.Errorf("%s of %s could not be answered", text.Count(bad), text.Of(lines.number, "line"))}
	}
	return nil
}

// answer appends the decision on the request in line.
func (rs rules) answer(dst, line []byte) ([]byte, error) {
	r, err := policyfile.DecodeRequest(line)
	if err != nil {
		return dst, err
	}
	ctx := context.Background()
	d, err := r.Evaluate(ctx, rs.policy)
	if err != nil {
		return dst, err
	}
	seen := notFiltered
	if r.Kind == engine.Tools {
		seen = visibilityOf(rs.filter.Visible(ctx, &r.Tool, &r.Request))
	}
	dst = append(dst, '{')
	dst = appendAnswer(dst, seen, d)
	return append(dst, '}'), nil
}

func appendLineError(dst []byte, line int, err error) []byte {
	dst = append(dst, `{"line": `...)
	dst = strconv.AppendInt(dst, int64(line), 10)
	dst = append(dst, `, "error": `...)
	dst = appendString(dst, err.Error())
	return append(dst, '}')
}

// flushBefore is a reader that writes out what is buffered before it waits for input.
type flushBefore struct {
	io.Reader
	w *bufio.Writer
}

func (f flushBefore) Read(p []byte) (int, error) {
	if err := f.w.Flush(); err != nil {
		return 0, io.EOF // nobody reads the answers: the writer keeps its error, and reports it
	}
	return f.Reader.Read(p)
}

var errLongLine = fmt.Errorf("the line has more than %d MiB", maxRequest>>20)

// lineReader reads lines of up to maxRequest bytes into one buffer.
type lineReader struct {
	r      *bufio.Reader
	buf    []byte
	number int // of the line that next returned last, from 1

	blank   int // lines of nothing but white space that have been read and not been returned
	pending bool
	line    []byte
	err     error
}

func newLineReader(r io.Reader) *lineReader {
	return &lineReader{r: bufio.NewReaderSize(r, 64<<10)}
}

// next returns the next line without its end, valid until the next call. Lines of white space are returned only once
// another line follows. It returns errLongLine for a line that is too long, and goes on after it.
func (l *lineReader) next() ([]byte, error) {
	for !l.pending {
		line, err := l.read()
		if err == nil && len(bytes.TrimSpace(line)) == 0 {
			l.blank++
			continue
		}
		l.line, l.err, l.pending = line, err, true
	}
	if l.err != nil && !errors.Is(l.err, errLongLine) {
		return nil, l.err
	}
	l.number++
	if l.blank > 0 {
		l.blank--
		return nil, nil
	}
	l.pending = false
	return l.line, l.err
}

// read returns one line without its end, blank or not.
func (l *lineReader) read() ([]byte, error) {
	l.buf = l.buf[:0]
	long := false
	for {
		part, err := l.r.ReadSlice('\n')
		if !long && len(l.buf)+len(part) > maxRequest+1 {
			long = true
			l.buf = nil
		}
		ended := err == nil
		switch {
		case long:
		case ended && len(l.buf) == 0:
			return part, nil // the usual case: no copy
		default:
			l.buf = append(l.buf, part...)
		}
		switch {
		case ended && long, err == io.EOF && long:
			return nil, errLongLine
		case ended:
			return l.buf, nil
		case err == bufio.ErrBufferFull:
		case err == io.EOF && len(l.buf) > 0:
			return l.buf, nil
		default:
			return nil, err
		}
	}
}
