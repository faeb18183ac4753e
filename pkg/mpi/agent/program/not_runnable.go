package program

import (
	"debug/elf"
	"fmt"
	"io"
	"os"
	"runtime"
	"strings"
)

// machines are the architectures of Go under the names of the ELF format.
var machines = map[string]elf.Machine{"amd64": elf.EM_X86_64, "arm64": elf.EM_AARCH64}

// NoInterpreter is why a script does not run. Shells and execvp run it in spite of that, as a script of /bin/sh.
const NoInterpreter = "its first line names no interpreter, such as `#!/bin/sh`, and it is no program of this system " +
	"(exec format error)"

// NotRunnable explains why the system cannot run an executable file, or returns nothing.
func NotRunnable(path string) string {
	if info, err := os.Stat(path); err != nil || !info.Mode().IsRegular() {
		return ""
	}
	file, err := os.Open(path)
	if err != nil {
		return ""
	}
	defer file.Close()
	if parsed, err := elf.NewFile(file); err == nil {
		own := machines[runtime.GOARCH]
		if own != 0 && own != parsed.Machine && parsed.Class == elf.ELFCLASS64 { // 32 bits of this machine may run
			return fmt.Sprintf("it is built for another architecture, %s, and this machine is %s (exec format error)",
				parsed.Machine, runtime.GOARCH)
		}
		return ""
	}
	head, err := io.ReadAll(io.NewSectionReader(file, 0, 256)) // what the kernel reads (BINPRM_BUF_SIZE)
	line, _, _ := strings.Cut(string(head), "\n")
	behind, is := strings.CutPrefix(line, "#!")
	switch {
	case err != nil: // a folder
		return ""
	case !is, strings.TrimSpace(behind) == "":
		return NoInterpreter
	case strings.HasSuffix(line, "\r"):
		return "its lines end as on Windows (`dos2unix` corrects them): there is no interpreter `" +
			strings.TrimSpace(behind) + "\\r`"
	}
	return ""
}
