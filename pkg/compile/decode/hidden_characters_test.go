package decode

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"lockstep.dev/lockstep/pkg/compile/source"
)

// TestHidden: a file must not show its reviewer something else than is read.
func TestHidden(t *testing.T) {
	for name, c := range map[string]struct {
		reason, file, text string
		want               []string
	}{
		"key in a comment": {
			"a carriage return ends a comment for YAML, and for nothing that shows a pull request", "f.yaml",
			strings.Replace(tenant, "spec:\n", "spec:\n  # fine\r  podSecurity: baseline\n", 1),
			[]string{"LS1001 f.yaml:6:9 the file holds a carriage return without line feed; a line ends here, which a reviewer does not see"},
		},
		"order": {
			"an override shows what follows from right to left", "f.yaml", "# \u202e }\n" + tenant,
			[]string{"LS1001 f.yaml:1:3 the file holds a character that changes the order of text; it shows a reviewer another text than is read"},
		},
		"isolate in Jsonnet": {
			"programs are reviewed too", "f.jsonnet", "{\n} // \u2066\n",
			[]string{"LS1001 f.jsonnet:2:6 the file holds a character that changes the order of text; it shows a reviewer another text than is read"},
		},
		"return at the end": {
			"the last line ends so as well", "f.yaml", tenant + "\r",
			[]string{"LS1001 f.yaml:13:1 the file holds a carriage return without line feed; a line ends here, which a reviewer does not see"},
		},
		"the first of both": {
			"one finding is enough", "f.yaml", "# a\rb \u202e\n" + tenant,
			[]string{"LS1001 f.yaml:1:4 the file holds a carriage return without line feed; a line ends here, which a reviewer does not see"},
		},
		"dashes and arrows": {"they begin with the same byte", "f.yaml", "# \u2013 \u2192 \u2026\n" + tenant, nil},
		"Windows":           {"", "f.yaml", strings.ReplaceAll(tenant, "\n", "\r\n"), nil},
		"old":               {"all lines end so, and everybody sees that", "f.yaml", strings.ReplaceAll(tenant, "\n", "\r"), nil},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, found(source.NewFile(c.file, []byte(c.text)))); diff != "" {
				t.Errorf("%s (-want +got):\n%s", c.reason, diff)
			}
		})
	}
}
