//go:build unix

// Groups of processes.

package upstream

import (
	"os/exec"
	"syscall"
)

func ownGroup(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

func (p *process) terminate() { _ = syscall.Kill(-p.cmd.Process.Pid, syscall.SIGTERM) }

func (p *process) kill() {
	_ = syscall.Kill(-p.cmd.Process.Pid, syscall.SIGKILL)
	_ = p.cmd.Process.Kill() // it may have left its group
}

// groupAlive reports whether anybody is left in the group. A group keeps its number as long as it has members.
func (p *process) groupAlive() bool { return syscall.Kill(-p.cmd.Process.Pid, 0) == nil }
