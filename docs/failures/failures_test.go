package failures

import (
	"strings"
	"testing"
)

func TestPage(t *testing.T) {
	if text, found := Page("OOMKilled"); !found || !strings.Contains(text, "# OOMKilled") {
		t.Errorf("found %v: %s", found, text)
	}
	for _, reason := range []string{"", "README", "../limits", "Unknown"} {
		if _, found := Page(reason); found {
			t.Errorf("%q has a page", reason)
		}
	}
}
