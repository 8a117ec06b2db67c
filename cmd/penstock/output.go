package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"syscall"
	"time"

	"golang.org/x/term"
)

// written turns the error of writing the output into the command's. A reader that went away has had enough: that is
// no error.
func written(err error) error {
	if err == nil || errors.Is(err, syscall.EPIPE) {
		return nil
	}
	return &failure{exitFindings, fmt.Errorf("writing the output: %w", err)}
}

// terminal reports whether w is a terminal, and how many columns it has.
func terminal(w io.Writer) (columns int, ok bool) {
	f, ok := w.(*os.File)
	if !ok || !term.IsTerminal(int(f.Fd())) {
		return 0, false
	}
	columns, _, err := term.GetSize(int(f.Fd()))
	if err != nil || columns <= 0 {
		columns = 80
	}
	return columns, true
}

// coloured reports whether to colour what goes to a terminal; see no-color.org.
func coloured() bool {
	return os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"
}

// patience is how long a command works before it says how far it is.
const patience = 300 * time.Millisecond

// progress is a line on a terminal that says how far a long command is. On anything else it is silent.
type progress struct {
	w     io.Writer
	on    bool
	start time.Time
	last  time.Time
	shown bool
}

func newProgress(w io.Writer) *progress {
	_, on := terminal(w)
	return &progress{w: w, on: on, start: time.Now()}
}

// say shows how far the command is, unless it has only just begun or said so.
func (p *progress) say(what string, done, all int) {
	if !p.on {
		return
	}
	now := time.Now()
	if now.Sub(p.start) < patience || now.Sub(p.last) < patience/3 {
		return
	}
	p.last, p.shown = now, true
	fmt.Fprintf(p.w, "\r%s %d of %d\x1b[K", what, done, all)
}

// clear takes the line away again.
func (p *progress) clear() {
	if p.shown {
		fmt.Fprint(p.w, "\r\x1b[K")
		p.shown = false
	}
}
