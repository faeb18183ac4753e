package sarif

import (
	"strings"
	"testing"

	"lockstep.dev/lockstep/internal/sariftest"
	"lockstep.dev/lockstep/pkg/compile/diag"
	"lockstep.dev/lockstep/pkg/compile/source"
)

// TestWaived: a waiver is a suppression, valid against the official schema.
func TestWaived(t *testing.T) {
	file := source.NewFile("tenants/a.yaml", []byte("a: b\n"))
	list := &diag.List{}
	list.Errorf(diag.OpensMore, file.Token(1, 1, 1), "more is open").Waived = &diag.Waiver{Reason: "the recorder", Until: "2027-03-31"}
	var b strings.Builder
	if err := Write(&b, list, Options{Locate: locate}); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`"suppressions": [`, `"kind": "inSource"`, `"status": "accepted"`, `"justification": "the recorder (until 2027-03-31)"`} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("no %s in %s", want, b.String())
		}
	}
	sariftest.CheckValid(t, b.String())
}
