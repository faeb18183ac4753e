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
