package program

import (
	"encoding/binary"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// binary64 is a program of 64 bits for a machine.
func binary64(machine uint16) string {
	text := make([]byte, 64)
	copy(text, "\x7fELF\x02\x01\x01")
	little := binary.LittleEndian
	little.PutUint16(text[16:], 2) // ET_EXEC
	little.PutUint16(text[18:], machine)
	little.PutUint32(text[20:], 1)
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
		"Binary":        {"", binary64(own), 0o755, ""},
		"OtherMachine":  {"", binary64(other), 0o755, "another architecture, EM_"},
		"DamagedBinary": {"", binary64(own)[:40], 0o755, "no program of this system"},
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
	for _, fine := range []string{"/bin/sh", "/no/such/file", t.TempDir()} {
		if got := NotRunnable(fine); got != "" {
			t.Errorf("%s: %s", fine, got)
		}
	}
}
