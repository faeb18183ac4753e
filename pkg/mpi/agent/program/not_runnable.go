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

// noInterpreter is why a script does not run. Shells and execvp run it in spite of that, as a script of /bin/sh.
const noInterpreter = "its first line names no interpreter, such as `#!/bin/sh`, and it is no program of this system " +
	"(exec format error)"

func wrongScript(head string) string {
	line, _, _ := strings.Cut(head, "\n")
	behind, is := strings.CutPrefix(line, "#!")
	words := strings.Fields(behind)
	switch {
	case !is, len(words) == 0:
		return noInterpreter
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

// runners run the program that their arguments name. They and Hydra use execvp, which runs a text by /bin/sh.
var runners = []string{"env", "nice", "nohup", "time", "timeout", "stdbuf", "numactl"}

// valueOptions of launchers have a value that may be the name of a file or folder, and not a program.
var valueOptions = strings.Fields("hostfile machinefile default-hostfile f rankfile rf app configfile tune am wdir " +
	"wd path prefix output-filename x env H host hosts")

// NotRunnableIn names the program that a command launches if the system cannot run it, and why: the first file among
// its words that is no value of an option. Paths are relative to a folder. Hydra reports whether launchers are Hydra's.
func NotRunnableIn(words []string, folder string, hydra bool) string {
	byOpenMPI := false
	for i, word := range words {
		name, path := filepath.Base(word), locate(word, folder)
		why := NotRunnable(path)
		switch {
		case i > 0 && (strings.HasPrefix(word, "-") || slices.Contains(valueOptions, strings.TrimLeft(words[i-1], "-"))):
		case IsMPILauncherName(name) || slices.Contains(runners, name):
			byOpenMPI = IsMPILauncherName(name) && !hydra
		case path == "" && (strings.Contains(word, "=") || !strings.Contains(word, "/")): // such as a number
		case path == "", why == noInterpreter && !byOpenMPI:
			return ""
		case why != "":
			return "`" + QuoteCommand(word) + "` cannot be run: " + why
		case IsShellName(name) && i+2 < len(words) && slices.Contains([]string{"-c", "-lc", "-ec"}, words[i+1]):
			return notRunnableInScript(words[i+2], folder, hydra)
		default:
			return ""
		}
	}
	return ""
}

// locate returns the path of a file, or nothing.
func locate(word, folder string) string {
	if !strings.Contains(word, "/") {
		path, _ := exec.LookPath(word)
		return path
	}
	if !filepath.IsAbs(word) {
		word = filepath.Join(folder, word)
	}
	if _, err := os.Stat(word); err != nil {
		return ""
	}
	return word
}

// notRunnableInScript looks at the launches in a command line of a shell, which itself reports its other commands.
func notRunnableInScript(script, folder string, hydra bool) string {
	for command := range strings.FieldsFuncSeq(script, func(r rune) bool { return strings.ContainsRune(";&|\n", r) }) {
		words := strings.Fields(command)
		if len(words) > 0 && IsMPILauncherName(filepath.Base(words[0])) {
			if why := NotRunnableIn(words, folder, hydra); why != "" {
				return why
			}
		}
	}
	return ""
}
