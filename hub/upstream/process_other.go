//go:build !unix

// Where there are no groups of processes, the program itself is ended, and nothing else. There is no asking, either.

package upstream

import "os/exec"

func ownGroup(*exec.Cmd) {}

func (p *process) terminate()       { p.kill() }
func (p *process) kill()            { _ = p.cmd.Process.Kill() }
func (p *process) groupAlive() bool { return false }
