package docs

import (
	"strings"
	"testing"
)

func TestPage(t *testing.T) {
	for name, title := range map[string]string{
		"failures/OOMKilled": "# OOMKilled", "alerts/MPIControllerDown": "# MPIControllerDown",
		"guide/dashboard": "# The dashboard", "diagnostics/LS1002": "# LS1002", "changes/access": "# What people",
		"waivers": "# ",
	} {
		if text, found := Page(name); !found || !strings.Contains(text, title) {
			t.Errorf("%s: found %v: %.100s", name, found, text)
		}
	}
	for _, name := range []string{"", "failures", "failures/Unknown", "failures/../waivers", "/waivers"} {
		if _, found := Page(name); found {
			t.Errorf("%q has a page", name)
		}
	}
}
