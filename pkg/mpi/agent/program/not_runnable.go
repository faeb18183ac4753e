package program

import (
	"debug/elf"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// NotRunnable explains why the system cannot run a file that exists, or returns nothing.
func NotRunnable(path string) string {
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return ""
	case info.IsDir():
		return "it is a folder"
	case unix.Access(path, unix.X_OK) != nil:
		return "it is not executable (`chmod +x` makes it so)"
	}
	if parsed, err := elf.Open(path); err == nil {
		defer parsed.Close()
		return wrongBinary(parsed)
	}
	file, err := os.Open(path)
	if err != nil {
		return ""
	}
	defer file.Close()
	head, _ := io.ReadAll(io.LimitReader(file, 256)) // what the kernel reads (BINPRM_BUF_SIZE)
	return wrongScript(string(head))
}

// machines are the programs that the kernel of an architecture may run.
var machines = map[string][]elf.Machine{"amd64": {elf.EM_X86_64, elf.EM_386}, "arm64": {elf.EM_AARCH64, elf.EM_ARM}}

func wrongBinary(parsed *elf.File) string {
	if known := machines[runtime.GOARCH]; known != nil && !slices.Contains(known, parsed.Machine) {
		return fmt.Sprintf("it is built for another architecture, %s, and this machine is %s (exec format error)",
			parsed.Machine, runtime.GOARCH)
	}
	for _, part := range parsed.Progs {
		if part.Type == elf.PT_INTERP {
			name, _ := io.ReadAll(io.LimitReader(part.Open(), unix.PathMax))
			return missingInterpreter(strings.TrimRight(string(name), "\x00"))
		}
	}
	return ""
}

// NoInterpreter is why a script does not run. Shells and execvp run it in spite of that, as a script of /bin/sh.
const NoInterpreter = "its first line names no interpreter, such as `#!/bin/sh`, and it is no program of this system " +
	"(exec format error)"

func wrongScript(head string) string {
	line, _, _ := strings.Cut(head, "\n")
	behind, is := strings.CutPrefix(line, "#!")
	words := strings.Fields(behind)
	switch {
	case !is, len(words) == 0:
		return NoInterpreter
	case strings.HasSuffix(line, "\r"):
		return "its lines end as on Windows (`dos2unix` corrects them): there is no interpreter `" +
			strings.TrimSpace(behind) + "\\r`"
	case filepath.Base(words[0]) == "env" && len(words) == 2:
		return missingInterpreter(words[1])
	}
	return missingInterpreter(words[0])
}

// missingInterpreter looks for a path, or for a name in the folders of PATH.
func missingInterpreter(name string) string {
	if _, err := exec.LookPath(name); err != nil {
		return "its interpreter `" + name + "` is not in the image, or cannot be run"
	}
	return ""
}
