package main

import (
	"bytes"
	"compress/gzip"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
)

// auditLine is an event of an audit log: somebody deletes a TrainJob.
func auditLine(namespace, job, by string, at time.Time) string {
	return `{"stage":"ResponseComplete","verb":"delete","user":{"username":"` + by + `"},"requestReceivedTimestamp":"` + at.UTC().Format(time.RFC3339Nano) +
		`","objectRef":{"apiGroup":"trainer.kubeflow.org","resource":"trainjobs","namespace":"` + namespace + `","name":"` + job + `"},"responseStatus":{"code":200}}` + "\n"
}

// TestAudit: steps of several files, of which some are wanted, and what is not a log.
func TestAudit(t *testing.T) {
	dir, now := t.TempDir(), time.Now()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		if strings.HasSuffix(name, ".gz") {
			var packed bytes.Buffer
			w := gzip.NewWriter(&packed)
			_, _ = w.Write([]byte(text))
			_ = w.Close()
			text = packed.String()
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	old := write("audit-1.log.gz", auditLine("team", "old", "jane", now.Add(-48*time.Hour)))
	current := write("audit.log", auditLine("team", "new", "jane", now)+auditLine("team", "other", "joe", now)+auditLine("elsewhere", "new", "jane", now)+`{"half`)
	c := clientOf(t, nil, interceptor.Funcs{})
	for args, want := range map[string]string{
		"":                  "trainjob/old\ntrainjob/new\ntrainjob/other\n",
		"--user jane":       "trainjob/old\ntrainjob/new\n",
		"--since 24h":       "trainjob/new\ntrainjob/other\n",
		"--job o*":          "trainjob/old\ntrainjob/other\n",
		"--user mallory":    "",
		"--job n* --user x": "",
	} {
		got := runFor(t, t.Context(), c, append([]string{"audit", old, current, "-o", "name"}, strings.Fields(args)...)...)
		if got.code != 0 || got.out != want || !strings.Contains(got.errOut, "audit.log: line 4 is not an audit event: the last line is not complete") {
			t.Errorf("%s: %d: %s%s", args, got.code, got.out, got.errOut)
		}
	}
	if got := runFor(t, t.Context(), c, "audit", old, "--user", "nobody"); !strings.Contains(got.out, "docs/audit-policy.yaml") {
		t.Errorf("%s", got.out)
	}
	for _, wrong := range []struct {
		args []string
		code int
		want string
	}{
		{[]string{"audit"}, 2, "takes at least one file"},
		{[]string{"audit", "--since", "-1h", old}, 2, "cannot be negative"},
		{[]string{"audit", "--job", "[", old}, 2, "is not a pattern"},
		{[]string{"audit", filepath.Join(dir, "none")}, 1, "no such file"},
		{[]string{"audit", dir}, 1, "is a directory"},
		{[]string{"audit", write("notes.log", "hello\n")}, 1, "notes.log: line 1 is not an audit event"},
		{[]string{"audit", write("broken.gz", "")[:len(dir)] + "/audit.log.gz"}, 1, "no such file"},
	} {
		if got := runFor(t, t.Context(), c, wrong.args...); got.code != wrong.code || !strings.Contains(got.errOut, wrong.want) {
			t.Errorf("%v: %d, %s", wrong.args, got.code, got.errOut)
		}
	}
}
