package decode_test

import (
	"strings"
	"testing"

	"lockstep.dev/lockstep/pkg/compile/decode"
	"lockstep.dev/lockstep/pkg/compile/diag"
	"lockstep.dev/lockstep/pkg/compile/source"
)

// TestHelp: the parser's own words do not say what is wrong with text that was copied from somewhere.
func TestHelp(t *testing.T) {
	const tenant = "kind: Tenant\nspec:\n  "
	for name, c := range map[string]struct{ text, want string }{
		"no-break space behind a key":  {"kind: Tenant\nspec:\n  people:\u00a0{editors: [a]}\n  clusters: [b]\n", "line 3 has the character U+00A0 at column 10"},
		"no-break space as indent":     {"kind: Tenant\nspec:\n\u00a0 people: {editors: [a]}\n  clusters: [b]\n", "line 3 has the character U+00A0 at column 1"},
		"zero-width space in a key":    {"kind: Tenant\nspec:\u200b\n  people: x\n", "line 2 has the character U+200B at column 6"},
		"alias of another document":    {"a: &x 1\n---\nb: *x\n", "an anchor is known behind its `&`"},
		"tab as indent":                {"kind: Tenant\nspec:\n\tpeople: x\n", "indent with spaces"},
		"unit of a byte":               {"16GB", "did you mean `16G`?"},
		"unit of a byte, binary":       {"16 GiB", "did you mean `16Gi`?"},
		"thousands of something small": {"16KB", "did you mean `16k`?"},
		"a comma":                      {"1,5Ti", "did you mean `1.5Ti`?"},
		"a thousand":                   {"1,024Gi", ""},
		"no unit at all":               {"sixteen", ""},
		"a mapping in a list of names": {tenant + "pullSecrets: [{name: a}]\n", "write `a` alone, without the key `name`"},
		"two keys for one name":        {tenant + "pullSecrets: [{name: a, key: b}]\n", "has no keys such as `name`"},
		"a key of another kind":        {tenant + "executor: a\n", "a key of `spec` of the kind `Cluster`"},
		"a missing mapping":            {tenant + "namespaces: [a]\n", "write `people: {editors: […]}`"},
		"a missing list":               {tenant + "people: {editors: [a]}\n", "write `namespaces: […]`"},
		"a missing image":              {"kind: MPIRuntime\nspec:\n  profile: a\n", "write an image reference such as"},
		"a ServiceAccount":             {tenant + "people: {editors: ['system:serviceaccount:ci:a']}\n", "`ci:a` is a Serv"},
		"a blank before the tag":       {"kind: MPIRuntime\nspec:\n  image: A/mpi 5\n", "did you mean `a/mpi:5`?"},
		"a blank in an image":          {"kind: MPIRuntime\nspec:\n  image: a/m pi:5\n", "did you mean `a/mpi:5`?"},
	} {
		t.Run(name, func(t *testing.T) {
			text := c.text
			if !strings.Contains(text, "\n") {
				text = "apiVersion: lockstep.dev/v1alpha1\nkind: HardwareProfile\nmetadata: {name: a}\nspec: {fabric: {type: Ethernet}, node: {cpu: 1, memory: \"" + text + "\"}}\n"
			}
			list := &diag.List{}
			decode.Files([]*source.File{source.NewFile("catalog/a.yaml", []byte(text))}, list)
			var helps []string
			for _, d := range list.Sorted() {
				helps = append(helps, d.Help...)
			}
			if all := strings.Join(helps, "\n"); !strings.Contains(all, c.want) || c.want == "" && all != "" {
				t.Errorf("help is %q, want %q", all, c.want)
			}
		})
	}
}

// TestNoHelpFromElsewhere: a key of an address range has nothing to do with a key deep in another kind.
func TestNoHelpFromElsewhere(t *testing.T) {
	list := &diag.List{}
	text := "kind: Tenant\nspec:\n  network: {egress: [{namespace: a}]}\n"
	decode.Files([]*source.File{source.NewFile("tenants/a.yaml", []byte(text))}, list)
	for _, d := range list.Sorted() {
		if strings.Contains(strings.Join(d.Help, "\n"), "Cluster") {
			t.Errorf("%s: %q", d.Message, d.Help)
		}
	}
}
