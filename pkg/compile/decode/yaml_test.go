package decode

import (
	"fmt"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"lockstep.dev/lockstep/api/v1alpha1"
	"lockstep.dev/lockstep/pkg/compile/diag"
	"lockstep.dev/lockstep/pkg/compile/jsonnet"
	"lockstep.dev/lockstep/pkg/compile/source"
)

// found returns the findings of texts, as `code place message`.
func found(files ...*source.File) []string {
	list := &diag.List{}
	Files(files, list)
	return shown(list)
}

func shown(list *diag.List) []string {
	var all []string
	for _, d := range list.Sorted() {
		all = append(all, fmt.Sprintf("%s %s %s", d.Code, d.Span, strings.Join(append([]string{d.Message}, d.Notes...), "; ")))
	}
	return all
}

// TestYAML is what YAML means in specs: values of a chart, where everything is allowed, and what is said about them.
func TestYAML(t *testing.T) {
	head := strings.Split(cluster, "      values:")[0]
	for name, c := range map[string]struct {
		reason, text string
		want         any
		finding      string
	}{
		"words":        {"the booleans of YAML 1.1 are strings in YAML 1.2", "[yes, no, on, off, y, True, false]", []any{"yes", "no", "on", "off", "y", true, false}, ""},
		"numbers":      {"decimal numbers", "[0, -1, +2, 1.5, 1e3, 9223372036854775808]", []any{0, -1, 2, 1.5, 1000.0, 9223372036854775808.0}, ""},
		"octal":        {"of YAML 1.1", "010", nil, "LS2006 f.yaml:19:16 the number `010` means different values to different readers of YAML"},
		"octal 1.2":    {"of YAML 1.2", "0o7", nil, "LS2006 f.yaml:19:16 the number `0o7` means different values to different readers of YAML"},
		"hexadecimal":  {"of both", "0x1f", nil, "LS2006 f.yaml:19:16 the number `0x1f` means different values to different readers of YAML"},
		"underscores":  {"of YAML 1.1", "1_000", nil, "LS2006 f.yaml:19:16 the number `1_000` means different values to different readers of YAML"},
		"minutes":      {"base 60 of YAML 1.1 is a string", "1:30", "1:30", ""},
		"not a number": {"JSON has none", ".nan", nil, "LS2006 f.yaml:19:16 the number `.nan` cannot be written as JSON"},
		"date":         {"a date stays text", "2027-03-31", "2027-03-31", ""},
		"null":         {"null is a value here", "[~, null]", []any{nil, nil}, ""},
		"quotes":       {"quotes make strings", `["1", 'x', "\u00e4\n"]`, []any{"1", "x", "ä\n"}, ""},
		"anchors":      {"an alias is what it stands for", "[&a {b: 1}, *a]", []any{map[string]any{"b": 1}, map[string]any{"b": 1}}, ""},
		"literal":      {"lines stay lines", "|\n           a\n           b\n", "a\nb\n", ""},
		"duplicate":    {"no key twice, at any depth", "{b: 1, b: 2}", nil, "LS2004 f.yaml:19:23 the key `b` is there twice"},
		"tag":          {"no tags of one's own", "!x y", nil, "LS1004 f.yaml:19:16 the tag `!x` is not used in specs"},
		"merge":        {"no merge keys", "{<<: {b: 1}}", nil, "LS1004 f.yaml:19:17 merge keys are not used in specs"},
		"NUL":          {"no control characters", "\x00", nil, "LS1002 f.yaml:19:16 not valid YAML: control characters are not allowed (value: 0); the rest of this file was not read"},
	} {
		t.Run(name, func(t *testing.T) {
			text := head + "      values: {}\n"
			text = strings.Replace(text, "values: {}", "values:\n         a:    "+c.text, 1)
			file := source.NewFile("f.yaml", []byte(text))
			if c.finding != "" {
				if diff := cmp.Diff([]string{c.finding}, found(file)); diff != "" {
					t.Errorf("%s (-want +got):\n%s", c.reason, diff)
				}
				return
			}
			_, spec := decodeOne[v1alpha1.Cluster](t, text)
			if diff := cmp.Diff(c.want, spec.Spec.Components[0].Values["a"]); diff != "" {
				t.Errorf("%s (-want +got):\n%s", c.reason, diff)
			}
		})
	}
}

// TestEncodings: a byte order mark and any line end are read, with the same places.
func TestEncodings(t *testing.T) {
	for name, text := range map[string]string{
		"mark": "\ufeff" + tenant, "windows": strings.ReplaceAll(tenant, "\n", "\r\n"), "old": strings.ReplaceAll(tenant, "\n", "\r"),
		"comment": "# ä\n" + tenant, "no end": strings.TrimSuffix(tenant, "\n"),
	} {
		t.Run(name, func(t *testing.T) {
			d, spec := decodeOne[v1alpha1.Tenant](t, text)
			line := 12 + strings.Count(text, "# ä\n")
			if at := d.At(&spec.Spec.Quota.Memory); at.Line != line || at.Column != 27 || at.Length != 4 {
				t.Errorf("at %s, length %d", at, at.Length)
			}
		})
	}
}

// TestNumbers: numbers of specs are decimal.
func TestNumbers(t *testing.T) {
	for text, want := range map[string]string{
		"040":                  "LS2006 f.yaml:12:39 the number `040` means different values to different readers of YAML",
		"0x28":                 "LS2006 f.yaml:12:39 the number `0x28` means different values to different readers of YAML",
		"4_0":                  "LS2006 f.yaml:12:39 the number `4_0` means different values to different readers of YAML",
		"4.5":                  "LS2006 f.yaml:12:39 `pods` must be a whole number, not the number `4.5`",
		"\"40\"":               "LS2006 f.yaml:12:39 `pods` must be a whole number, not the string `40`",
		"99999999999999999999": "LS2008 f.yaml:12:39 `99999999999999999999` is too large for `pods`",
	} {
		file := source.NewFile("f.yaml", []byte(strings.Replace(tenant, "pods: 40", "pods: "+text, 1)))
		if diff := cmp.Diff([]string{want}, found(file)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", text, diff)
		}
	}
}

// TestBombs: a file of 1 MiB that is made to become large is an error that costs little memory.
func TestBombs(t *testing.T) {
	fill := func(begin, item, end string) []byte {
		n := (source.MaxFileSize - len(begin) - len(end)) / len(item)
		return []byte(begin + strings.Repeat(item, n) + end)
	}
	laughs := "kind: Tenant\na: &a [x, x, x, x, x, x, x, x, x]\n"
	for c := 'b'; c < 'z'; c++ {
		laughs += fmt.Sprintf("%c: &%c [%s]\n", c, c, strings.TrimSuffix(strings.Repeat(fmt.Sprintf("*%c, ", c-1), 9), ", "))
	}
	for name, data := range map[string][]byte{
		"laughs":       fill(laughs+"z: [", "*y,", "]\n"),
		"wide alias":   fill("kind: Tenant\na: &a ["+strings.Repeat("x,", 1000)+"]\nb: [", "*a,", "]\n"),
		"cycle":        []byte("kind: Tenant\na: &a [*a, *a]\n"),
		"brackets":     fill("kind: ", "[", ""),
		"braces":       fill("kind: ", "{a: ", ""),
		"dashes":       fill("", "- ", "x\n"),
		"anchors":      fill("kind: Tenant\na: [", "&a x,", "]\n"),
		"documents":    fill("", "---\na\n", ""),
		"keys":         fill("", "? ", "\n"),
		"long plain":   fill("a: ", "x", "\n"),
		"long comment": fill("#", " x", "\n"),
		"blank":        fill("a:\n", "\n", ""),
		"quotes":       fill("a: \"", "\\u0041", "\"\n"),
	} {
		t.Run(name, func(t *testing.T) {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			got := found(source.NewFile("f.yaml", data))
			runtime.ReadMemStats(&after)
			if len(got) == 0 {
				t.Error("nothing was found")
			}
			if total := (after.TotalAlloc - before.TotalAlloc) >> 20; total > 700 {
				t.Errorf("%d MiB were allocated", total)
			}
		})
	}
}

// TestWorkers: the number of workers changes nothing.
func TestWorkers(t *testing.T) {
	root := fstest.MapFS{"tenants/wrong.yaml": {Data: []byte("kind: [")}, "tenants/zz.jsonnet": {Data: []byte("{kind: 'x'}")}}
	for i := range 40 {
		root[fmt.Sprintf("tenants/t%02d.yaml", i)] = &fstest.MapFile{Data: []byte(strings.Replace(tenant, "jobs: 20", fmt.Sprintf("jobs: %d", i-20), 1))}
	}
	load := func(workers int) ([]any, []string) {
		list := &diag.List{}
		var specs []any
		for _, d := range (Loader{Root: root, Jsonnet: jsonnet.InProcessEvaluator{}, Workers: workers}).Load(source.Find(root), list) {
			if !d.Unread {
				specs = append(specs, d.Spec)
			}
		}
		return specs, shown(list)
	}
	specs, findings := load(1)
	if len(specs) != 40 || len(findings) != 23 {
		t.Errorf("%d specs, %d findings", len(specs), len(findings))
	}
	otherSpecs, otherFindings := load(8)
	if !reflect.DeepEqual(specs, otherSpecs) {
		t.Error("other specs with 8 workers")
	}
	if diff := cmp.Diff(findings, otherFindings); diff != "" {
		t.Errorf("(-1 +8 workers):\n%s", diff)
	}
}

// TestJsonnet: mistakes in what a program yields are shown in the program, at the literal or at what computes it.
func TestJsonnet(t *testing.T) {
	root := fstest.MapFS{
		"tenants/lib.libsonnet": {Data: []byte(`{ quota(n):: { cpu: n, memory: '16Gi', pods: 'many', jobs: 20 } }`)},
		"tenants/a.jsonnet": {Data: []byte(`local lib = import 'lib.libsonnet';
local tenant(name) = {
  apiVersion: 'lockstep.dev/v1alpha1', kind: 'Tenant', metadata: { name: name },
};
[
  {
    apiVersion: 'lockstep.dev/v1alpha1',
    kind: 'Tenant',
    metadata: { name: 'Ä' },
    spec: {
      people: { editors: ['e', 'e'] }, namespaces: ['n' + i for i in [1, 1]], clusters: ['c'],
      quota: lib.quota(8), 'qouta': 1,
    },
  },
  tenant('b') { spec: { people: 1 } },
]
`)},
		"catalog/p.jsonnet": {Data: []byte("error 'no'")},
		"catalog/q.jsonnet": {Data: []byte("null")},
	}
	list := &diag.List{}
	documents := slices.DeleteFunc(Loader{Root: root, Jsonnet: jsonnet.InProcessEvaluator{}}.Load(source.Find(root), list), func(d *Document) bool { return d.Unread })
	if len(documents) != 2 {
		t.Errorf("%d documents", len(documents))
	}
	if at := documents[1].At(&documents[1].Spec.(*v1alpha1.Tenant).Metadata.Name).String(); at != "tenants/a.jsonnet:3:74" {
		t.Errorf("an argument of a function is at %s", at)
	}
	want := []string{
		"LS1002 catalog/p.jsonnet:1:1 cannot be evaluated: no",
		"LS1005 catalog/q.jsonnet the file holds no spec",
		"LS2009 tenants/a.jsonnet:9:23 `Ä` in `name` must be at most 63 of a-z, 0-9 and `-`, beginning and ending with a letter or digit; character 1 is `Ä`, which is none of them",
		"LS2010 tenants/a.jsonnet:11:32 `e` is in `editors` twice",
		"LS2010 tenants/a.jsonnet:11:53 `n1` is in `namespaces` twice; the program computes `[0].spec.namespaces[1]`",
		"LS2006 tenants/a.jsonnet:12:14 `pods` must be a whole number, not the string `many`; the program computes `[0].spec.quota.pods`",
		"LS2003 tenants/a.jsonnet:12:28 unknown key `qouta`",
		"LS2005 tenants/a.jsonnet:15:17 `spec` lacks the required key `clusters`",
		"LS2005 tenants/a.jsonnet:15:17 `spec` lacks the required key `namespaces`",
		"LS2005 tenants/a.jsonnet:15:17 `spec` lacks the required key `quota`",
		"LS2006 tenants/a.jsonnet:15:33 `people` must be a mapping, not the number `1`",
	}
	if diff := cmp.Diff(want, shown(list)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestManyValues: what a file costs in memory is bounded, in whatever form its values come.
func TestManyValues(t *testing.T) {
	want := []string{"LS1003 f.yaml the file has more than 150000 lines, commas and open brackets"}
	for name, text := range map[string]string{
		"a list": "[" + strings.Repeat("a,", 200_000) + "]\n", "keys": "{" + strings.Repeat("a,", 200_000) + "}\n",
		"maps": "[" + strings.Repeat("{a},", 100_000) + "]\n", "lines": "? a\n" + strings.Repeat("\n", 200_000),
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(want, found(source.NewFile("f.yaml", []byte(text)))); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
