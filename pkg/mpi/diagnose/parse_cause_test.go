package diagnose

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// TestParse: what Text has put together comes apart again, and the same text comes of the parts.
func TestParse(t *testing.T) {
	for name, want := range map[string]Cause{
		"a message":                 {Reason: OOMKilled, Message: "pod `a` ended"},
		"a remedy":                  {Reason: OOMKilled, Message: "pod `a` ended", Remedy: "raise the limit"},
		"lines":                     {Reason: PythonException, Message: "it failed", Remedy: "read them", Lines: []string{"Traceback", "  x", "KeyError: 1"}},
		"lines without a remedy":    {Reason: PythonException, Message: "it failed", Lines: []string{"KeyError: 1"}},
		"the prefix in other words": {Reason: CreationFailed, Message: "a webhook said: no. What to do: pray", Remedy: "ask the admin"},
		"nothing":                   {Reason: Hang},
	} {
		got := ParseCause(want.Reason, want.Text())
		if diff := cmp.Diff(want, got, cmpopts.IgnoreUnexported(Cause{})); diff != "" {
			t.Errorf("%s: -want, +got:\n%s", name, diff)
		}
		if got.Text() != want.Text() {
			t.Errorf("%s: `%s` became `%s`", name, want.Text(), got.Text())
		}
	}
}

// TestPage: reasons that are documented have a page, others have none.
func TestPage(t *testing.T) {
	if got := PageURL(OOMKilled); !strings.HasSuffix(got, "/failures/OOMKilled") {
		t.Errorf("the page of OOMKilled is `%s`", got)
	}
	if got := PageURL("PodsPending"); got != "" {
		t.Errorf("PodsPending has the page `%s`", got)
	}
}
