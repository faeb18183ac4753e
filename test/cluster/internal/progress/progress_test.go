package progress

import (
	"bytes"
	"errors"
	"strings"
	"testing"
)

func TestStepsThatEndAreTold(t *testing.T) {
	var out bytes.Buffer
	r := New(&out)
	if err := r.Begin("build %s", "etcd").End(nil); err != nil {
		t.Fatal(err)
	}
	failure := errors.New("no")
	if err := r.Begin("start").End(failure); !errors.Is(err, failure) {
		t.Errorf("End returned %v, want the error of the step", err)
	}
	r.Close()
	if got := out.String(); !strings.Contains(got, "build etcd (") || strings.Contains(got, "start") {
		t.Errorf("want a line for the step that ended well and none for the other:\n%s", got)
	}
	if strings.ContainsAny(out.String(), "\r\x1b") {
		t.Error("terminal control characters in something that is no terminal")
	}
}

func TestNilReporterIsSilent(t *testing.T) {
	var r *Reporter
	r.Say("x")
	s := r.Begin("x")
	s.Note("y")
	if err := s.End(nil); err != nil {
		t.Error(err)
	}
	r.Close()
}
