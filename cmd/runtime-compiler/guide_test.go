package main

import (
	"bytes"
	"os"
	"regexp"
	"strings"
	"testing"
)

// TestFirstSteps runs the guide: each command as it stands there, in one empty folder, prints what the guide says that it prints. Of a
// diagnostic the guide shows the first line.
func TestFirstSteps(t *testing.T) {
	guide, err := os.ReadFile("../../docs/guide/first-steps.md")
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(t.TempDir())
	commands := 0
	for _, block := range regexp.MustCompile("(?s)```console\n(.*?)```").FindAllSubmatch(guide, -1) {
		for _, step := range strings.Split("\n"+string(block[1]), "\n$ runtime-compiler ")[1:] {
			line, want, _ := strings.Cut(strings.TrimSuffix(step, "\n")+"\n", "\n")
			var printed bytes.Buffer
			run(strings.Fields(line), &printed, &printed)
			got := printed.String()
			if strings.HasPrefix(want, "error[") {
				got, _, _ = strings.Cut(got, "\n")
				got += "\n"
			}
			if got != want {
				t.Errorf("%s\nprinted:\n%s\nthe guide says:\n%s", line, got, want)
			}
			commands++
		}
	}
	if commands < 7 {
		t.Errorf("%d commands were run", commands)
	}
}
