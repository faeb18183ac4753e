package cli

import (
	"bytes"
	"os/exec"
	"strings"
	"testing"
)

func execute(args ...string) (code int, stdout, stderr string) {
	var out, errs bytes.Buffer
	code = Main(args, &out, &errs)
	return code, out.String(), errs.String()
}

func TestWrongUsage(t *testing.T) {
	cases := map[string]struct {
		reason string
		args   []string
		says   string
	}{
		"unknown command":   {reason: "a typing error", args: []string{"upp"}, says: "upp"},
		"unknown flag":      {reason: "a typing error", args: []string{"up", "--node", "2"}, says: "--node"},
		"extra argument":    {reason: "up takes none", args: []string{"up", "3"}, says: "--help"},
		"nothing to load":   {reason: "load needs a file", args: []string{"load"}, says: "--help"},
		"unknown program":   {reason: "the known ones are listed", args: []string{"build", "kubelt"}, says: "kubelet"},
		"unknown component": {reason: "the known ones are listed", args: []string{"stop", "kube-ruter"}, says: "kube-router"},
		"no component":      {reason: "it is not down", args: []string{"stop"}, says: "--help"},
		"unknown output":    {reason: "the known ones are listed", args: []string{"build", "-o", "xml", "pause"}, says: "json"},
		"no number":         {reason: "nodes are counted", args: []string{"up", "--nodes", "two"}, says: "two"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			code, _, stderr := execute(tc.args...)
			if code != 2 || !strings.Contains(stderr, tc.says) {
				t.Errorf("%s: exit code %d, want 2 and a hint at %q\n%s", tc.reason, code, tc.says, stderr)
			}
		})
	}
}

func TestHelpHasExamples(t *testing.T) {
	for _, cmd := range newRoot(nil, nil).Commands() {
		if !cmd.Hidden && cmd.Name() != "help" && cmd.Name() != "completion" && cmd.Example == "" {
			t.Errorf("%s has no example", cmd.Name())
		}
	}
	if code, stdout, _ := execute("--help"); code != 0 || !strings.Contains(stdout, "cluster up --wait") {
		t.Errorf("--help: exit code %d\n%s", code, stdout)
	}
}

func TestQuoteIsOneWord(t *testing.T) {
	for _, text := range []string{"/plain", "/with blank", "/it's", "/$HOME`id`\"\\"} {
		out, err := exec.Command("sh", "-c", "printf %s "+quote(text)).Output()
		if err != nil || string(out) != text {
			t.Errorf("the shell reads %q, want %q (%v)", out, text, err)
		}
	}
}
