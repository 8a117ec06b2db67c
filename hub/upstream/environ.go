// What a program finds in its environment: the few variables that programs need to run at all, and its own.
//
// The hub's whole environment would hand every server the secrets of all others.

package upstream

import (
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
)

// inherited are the variables that a program gets from the hub: those that the SDKs pass on, and where to put temporary
// files and how to write text.
var inherited = func() []string {
	if runtime.GOOS == "windows" {
		return []string{"APPDATA", "COMSPEC", "HOMEDRIVE", "HOMEPATH", "LOCALAPPDATA", "PATH", "PATHEXT", "PROCESSOR_ARCHITECTURE",
			"PROGRAMDATA", "PROGRAMFILES", "SYSTEMDRIVE", "SYSTEMROOT", "TEMP", "TMP", "USERNAME", "USERPROFILE", "WINDIR"}
	}
	return []string{"HOME", "LANG", "LC_ALL", "LC_CTYPE", "LOGNAME", "PATH", "SHELL", "TERM", "TMPDIR", "TZ", "USER"}
}()

// environment returns the environment of a program as exec takes it.
func environment(own map[string]string, lookup func(string) (string, bool)) []string {
	env := make([]string, 0, len(inherited)+len(own))
	for _, key := range inherited {
		v, ok := lookup(key)
		if ok && !strings.HasPrefix(v, "()") { // functions of a shell are code
			env = append(env, key+"="+v)
		}
	}
	for _, key := range slices.Sorted(maps.Keys(own)) {
		env = append(env, key+"="+own[key]) // of two equal keys exec takes the last
	}
	return env
}

// lookup finds a command by the PATH that the program itself will have, as a shell would.
func lookup(command string, own map[string]string) string {
	path, ok := own["PATH"]
	if !ok || runtime.GOOS == "windows" || strings.ContainsRune(command, filepath.Separator) {
		return command
	}
	for _, dir := range filepath.SplitList(path) {
		if !filepath.IsAbs(dir) {
			continue
		}
		file := filepath.Join(dir, command)
		if info, err := os.Stat(file); err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0 {
			return file
		}
	}
	if found, err := exec.LookPath(command); err == nil {
		return found
	}
	return command
}
