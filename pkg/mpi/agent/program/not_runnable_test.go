package program

import (
	"encoding/binary"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// binary64 is a program of 64 bits for a machine, with the loader that it wants, or none.
func binary64(machine uint16, loader string) string {
	text := make([]byte, 64+56, 64+56+len(loader)+1)
	copy(text, "\x7fELF\x02\x01\x01")
	little := binary.LittleEndian
	little.PutUint16(text[16:], 2) // ET_EXEC
	little.PutUint16(text[18:], machine)
	little.PutUint32(text[20:], 1)
	little.PutUint64(text[32:], 64) // where the program headers are
	little.PutUint16(text[52:], 64)
	little.PutUint16(text[54:], 56)
	little.PutUint16(text[58:], 64)
	if loader != "" {
		little.PutUint16(text[56:], 1)
		little.PutUint32(text[64:], 3) // PT_INTERP
		little.PutUint64(text[72:], 120)
		little.PutUint64(text[96:], uint64(len(loader)+1))
		text = append(text, loader+"\x00"...)
	}
	return string(text)
}

func TestNotRunnable(t *testing.T) {
	own, other := uint16(62), uint16(183) // EM_X86_64, EM_AARCH64
	if runtime.GOARCH == "arm64" {
		own, other = other, own
	}
	cases := map[string]struct {
		reason, text string
		mode         os.FileMode
		says         string // empty for a file that can be run
	}{
		"Script":        {"", "#!/bin/sh\necho\n", 0o755, ""},
		"Spaces":        {"the kernel takes them", "#! /bin/sh -e\necho\n", 0o755, ""},
		"NoNewline":     {"", "#!/bin/sh", 0o755, ""},
		"Env":           {"", "#!/usr/bin/env sh\n", 0o755, ""},
		"EnvOption":     {"its words are env's to read", "#!/usr/bin/env -S nothing -u\n", 0o755, ""},
		"NoShebang":     {"", "echo hello\n", 0o755, "names no interpreter"},
		"ByteOrderMark": {"editors put it there", "\ufeff#!/bin/sh\n", 0o755, "names no interpreter"},
		"OnlyShebang":   {"", "#!\n", 0o755, "names no interpreter"},
		"Empty":         {"", "", 0o755, "names no interpreter"},
		"Data":          {"", "\x00\x01\x02", 0o755, "no program of this system"},
		"Windows":       {"", "#!/bin/bash\r\necho\r\n", 0o755, "(`dos2unix` corrects them): there is no interpreter `/bin/bash\\r`"},
		"WindowsEnv":    {"", "#!/usr/bin/env python3\r\n", 0o755, "end as on Windows"},
		"Missing":       {"", "#!/opt/none/bin/python\n", 0o755, "its interpreter `/opt/none/bin/python` is not in the image"},
		"MissingEnv":    {"", "#!/usr/bin/env no-such-interpreter\n", 0o755, "its interpreter `no-such-interpreter` is not in the image"},
		"NotExecutable": {"", "#!/bin/sh\n", 0o644, "not executable (`chmod +x`"},
		"Binary":        {"", binary64(own, ""), 0o755, ""},
		"OtherMachine":  {"", binary64(other, ""), 0o755, "another architecture, EM_"},
		"MissingLoader": {"musl, or another library", binary64(own, "/lib/ld-none.so.1"), 0o755, "its interpreter `/lib/ld-none.so.1` is not in the image"},
		"DamagedBinary": {"", binary64(own, "")[:40], 0o755, "no program of this system"},
		"LongFirstLine": {"what the kernel does not read counts for nothing", "#!/bin/sh " + strings.Repeat("x", 400) + "\r\n", 0o755, ""},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "run")
			if err := os.WriteFile(path, []byte(tc.text), tc.mode); err != nil {
				t.Fatal(err)
			}
			if got := NotRunnable(path); (got == "") != (tc.says == "") || !strings.Contains(got, tc.says) {
				t.Errorf("%s: want %q, got %q", tc.reason, tc.says, got)
			}
		})
	}
	if got := NotRunnable(t.TempDir()); got != "it is a folder" {
		t.Errorf("got %q", got)
	}
	for _, fine := range []string{"/bin/sh", "/no/such/file"} {
		if got := NotRunnable(fine); got != "" {
			t.Errorf("%s: %s", fine, got)
		}
	}
}

// Only the file in the place of a program is looked at.
func TestNotRunnableIn(t *testing.T) {
	folder := t.TempDir()
	files := map[string]struct {
		text string
		mode os.FileMode
	}{
		"run.sh": {"echo\n", 0o755}, "windows.sh": {"#!/bin/sh\r\n", 0o755}, "ok.sh": {"#!/bin/sh\n", 0o755}, "plain.sh": {"#!/bin/sh\n", 0o644}, "data.csv": {"1,2\n", 0o644},
	}
	for name, file := range files {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(file.text), file.mode); err != nil {
			t.Fatal(err)
		}
	}
	path := t.TempDir()
	for _, name := range []string{"mpirun", "mpiexec", "numactl", "python3", "bash"} {
		if err := os.WriteFile(filepath.Join(path, name), []byte("#!/bin/sh\n"), 0o700); err != nil { //nolint:gosec // it is to be executable
			t.Fatal(err)
		}
	}
	t.Setenv("PATH", path+":/usr/bin:/bin")
	cases := map[string]struct {
		words  []string
		execvp bool
		says   string
	}{
		"Launched":      {[]string{"mpirun", "./run.sh"}, false, "`./run.sh` cannot be run: its first line names no interpreter"},
		"Options":       {[]string{"mpirun", "-n", "4", "--oversubscribe", "-x", "A=./data.csv", "--hostfile", "./data.csv", "./run.sh", "./data.csv"}, false, "`./run.sh`"},
		"Runner":        {[]string{"mpirun", "-np", "4", "numactl", "--localalloc", "./windows.sh"}, false, "`./windows.sh` cannot be run: its lines end as on Windows"},
		"Mode":          {[]string{"mpiexec", "./plain.sh"}, true, "`./plain.sh` cannot be run: it is not executable"},
		"Shell":         {[]string{"bash", "-c", "set -e; cd /tmp && mpirun -n 2 " + folder + "/run.sh > log 2>&1"}, false, "run.sh` cannot be run"},
		"Direct":        {[]string{"./windows.sh"}, false, "`./windows.sh`"},
		"Good":          {[]string{"mpirun", "./ok.sh", "./data.csv"}, false, ""},
		"Hydra":         {[]string{"mpiexec", "./run.sh"}, true, ""}, // execvp runs it by /bin/sh
		"RunnersShell":  {[]string{"mpirun", "nice", "./run.sh"}, false, ""},
		"GivenToPython": {[]string{"mpirun", "python3", "./data.csv"}, false, ""},
		"GivenToShell":  {[]string{"bash", "./run.sh"}, false, ""},
		"ByShell":       {[]string{"bash", "-c", "./run.sh; ./plain.sh"}, false, ""}, // which says so itself
		"Unknown":       {[]string{"mpirun", "./none.sh", "./data.csv"}, false, ""},
		"Quoted":        {[]string{"bash", "-c", `mpirun "$PROGRAM" ./ok.sh`}, false, ""},
		"Nothing":       {nil, false, ""},
	}
	for name, tc := range cases {
		if got := NotRunnableIn(tc.words, folder, tc.execvp); (got == "") != (tc.says == "") || !strings.Contains(got, tc.says) {
			t.Errorf("%s: want %q, got %q", name, tc.says, got)
		}
	}
}
