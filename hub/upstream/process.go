// The life of a program: how it is started, and that it is gone when it should be.
//
// A program is started in a group of its own, where the system has such a thing, and ended as a group: npx and the like
// start the server as a child, and a child that is left holds ports and files.

package upstream

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
	"unicode"
)

// grace is how long a program is given at each step of its end.
type grace struct {
	input time.Duration // after its standard input was closed
	term  time.Duration // after it was asked to end
}

// lastWords is how long what is left in the pipes of a program that has ended is read.
const lastWords = 100 * time.Millisecond

var defaultGrace = grace{input: 2 * time.Second, term: 2 * time.Second}

// process is a running program. Its own ends of the pipes are stdin, stdout and stderr.
type process struct {
	cmd                   *exec.Cmd
	stdin, stdout, stderr *os.File
	grace                 grace
	exited                chan struct{} // closed when the program has ended
	state                 error         // how; valid once exited is closed
}

// start runs the program of s.
func start(s Server, g grace) (*process, error) {
	if err := s.Check(); err != nil {
		return nil, err
	}
	env := environment(s.Env, os.LookupEnv)
	cmd := exec.Command(lookup(s.Command, s.Env), s.Args...)
	cmd.Env, cmd.Dir = env, s.Dir
	ownGroup(cmd)

	var files []*os.File
	pipe := func() (r, w *os.File, err error) {
		if r, w, err = os.Pipe(); err == nil {
			files = append(files, r, w)
		}
		return r, w, err
	}
	childIn, stdin, err1 := pipe()
	stdout, childOut, err2 := pipe()
	stderr, childErr, err3 := pipe()
	err := errors.Join(err1, err2, err3)
	if err == nil {
		cmd.Stdin, cmd.Stdout, cmd.Stderr = childIn, childOut, childErr
		err = cmd.Start()
	}
	if err != nil {
		for _, f := range files {
			_ = f.Close()
		}
		return nil, fmt.Errorf("command %s cannot be started: %w", shown(s.Command), startError(err))
	}
	for _, f := range []*os.File{childIn, childOut, childErr} {
		_ = f.Close()
	}
	p := &process{cmd: cmd, stdin: stdin, stdout: stdout, stderr: stderr, grace: g, exited: make(chan struct{})}
	go func() {
		p.state = cmd.Wait()
		close(p.exited)
	}()
	return p, nil
}

// Check says what would keep a program from being started: a command that is not found or cannot be run, a folder that is
// not there. It starts nothing. Of a server with a URL, and of one that is disabled, there is nothing to check.
func (s Server) Check() error {
	if s.URL != "" || s.Disabled {
		return nil
	}
	if s.Dir != "" {
		if info, err := os.Stat(s.Dir); err != nil || !info.IsDir() {
			return fmt.Errorf("cwd %s is no folder that there is", shown(s.Dir))
		}
	}
	switch _, err := exec.LookPath(lookup(s.Command, s.Env)); {
	case err == nil || errors.Is(err, exec.ErrDot):
		return nil
	case errors.Is(err, fs.ErrPermission):
		return fmt.Errorf("command %s is no program that may be run", shown(s.Command))
	case strings.ContainsFunc(s.Command, unicode.IsSpace) && !strings.ContainsRune(s.Command, filepath.Separator):
		return fmt.Errorf("command %s is not found (arguments go into args)", shown(s.Command))
	default:
		return fmt.Errorf("command %s is not found (give its full path, or a PATH in env)", shown(s.Command))
	}
}

// startError leaves out the path, which the message has.
func startError(err error) error {
	var path *os.PathError
	if errors.As(err, &path) {
		return fmt.Errorf("%s: %w", path.Op, path.Err)
	}
	return err
}

// stop ends the program and what it started: it closes its input, then asks, then kills, and waits at each step. It
// returns when the program has ended and the other ends of its pipes are no longer read.
func (p *process) stop() {
	_ = p.stdin.Close()
	if !p.gone(p.grace.input) {
		p.terminate()
		if !p.gone(p.grace.term) {
			p.kill()
		}
	}
	<-p.exited
	// Whoever left the group, but kept the pipes, must not keep us; what the program said last is still read.
	deadline := time.Now().Add(lastWords)
	_ = p.stdout.SetReadDeadline(deadline)
	_ = p.stderr.SetReadDeadline(deadline)
}

// gone waits until the program and its group have ended, or for as long as d.
func (p *process) gone(d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-p.exited:
	case <-timer.C:
		return false
	}
	for p.groupAlive() {
		select {
		case <-timer.C:
			return false
		case <-time.After(5 * time.Millisecond):
		}
	}
	return true
}

// release closes the pipes.
func (p *process) release() {
	_ = p.stdout.Close()
	_ = p.stderr.Close()
}

// exit says how the program ended, where it has.
func (p *process) exit() error {
	select {
	case <-p.exited:
		if p.state == nil {
			return errors.New("the program ended")
		}
		return fmt.Errorf("the program ended: %w", p.state)
	default:
		return nil
	}
}
