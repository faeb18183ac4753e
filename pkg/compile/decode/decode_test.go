package decode

import (
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"lockstep.dev/lockstep/api/v1alpha1"
	"lockstep.dev/lockstep/pkg/compile/decode/syntax"
	"lockstep.dev/lockstep/pkg/compile/diag"
	"lockstep.dev/lockstep/pkg/compile/source"
)

const tenant = `apiVersion: lockstep.dev/v1alpha1
kind: Tenant
metadata:
  name: vision
spec:
  people:
    editors: [a, "b c"]
  namespaces:
    - one
    - two
  clusters: [local]
  quota: {cpu: 8, memory: 16Gi, pods: 40, jobs: 20}
`

// TestPlaces: every field knows where it is written, and one that is not written knows the key around it.
func TestPlaces(t *testing.T) {
	list := &diag.List{}
	documents := Files([]*source.File{source.NewFile("t.yaml", []byte(tenant))}, list)
	if len(documents) != 1 || !documents[0].Valid {
		t.Fatalf("%d documents, %d errors", len(documents), list.Errors())
	}
	d := documents[0]
	spec := &d.Spec.(*v1alpha1.Tenant).Spec
	for name, c := range map[string]struct {
		reason string
		got    source.Span
		want   string
		length int
	}{
		"scalar":      {"a value in a flow mapping", d.At(&spec.Quota.Memory), "t.yaml:12:27", 4},
		"key":         {"the key of a mapping", d.Key(&spec.Quota), "t.yaml:12:3", 5},
		"quoted item": {"quotes belong to the token", d.At(&spec.People.Editors[1]), "t.yaml:7:18", 5},
		"block item":  {"an item of a block list", d.At(&spec.Namespaces[1]), "t.yaml:10:7", 3},
		"default":     {"a default has the place of its parent", d.At(&spec.PodSecurity), "t.yaml:5:1", 4},
		"deep":        {"so has a default far below", d.At(&spec.Limits.Container.Default.CPU), "t.yaml:5:1", 4},
	} {
		t.Run(name, func(t *testing.T) {
			if got := c.got.String(); got != c.want || c.got.Length != c.length {
				t.Errorf("%s: got %s length %d, want %s length %d", c.reason, got, c.got.Length, c.want, c.length)
			}
		})
	}
}

// TestDefaults: what is not written has the value that the type's documentation says.
func TestDefaults(t *testing.T) {
	documents := Files([]*source.File{source.NewFile("t.yaml", []byte(tenant))}, &diag.List{})
	spec := documents[0].Spec.(*v1alpha1.Tenant).Spec
	if spec.PodSecurity != "restricted" || spec.Limits.Container.Default.CPU.String() != "100m" {
		t.Errorf("podSecurity %q, default cpu %s", spec.PodSecurity, spec.Limits.Container.Default.CPU.String())
	}
}

// TestUnreadable: what cannot be read is said once per file, and the other files are decoded.
func TestUnreadable(t *testing.T) {
	list := &diag.List{}
	documents := Files([]*source.File{
		{Path: "large.yaml", Err: source.ErrTooLarge},
		{Path: "broken.yaml", Err: errors.New("input/output error")},
		source.NewFile("latin1.yaml", []byte("kind: Tenant\nmetadata: {name: gr\xf6\xdfe}\n")),
		source.NewFile("many.yaml", []byte(strings.Repeat("---\nkind: x\n", syntax.MaxDocuments+1))),
		source.NewFile("t.yaml", []byte(tenant)),
	}, list)
	documents = slices.DeleteFunc(documents, func(d *Document) bool { return d.Unread })
	if len(documents) != 1 {
		t.Errorf("%d documents, want the one that can be read", len(documents))
	}
	var got []string
	for _, d := range list.Sorted() {
		if d.Code != diag.UnknownKind {
			got = append(got, string(d.Code)+" "+d.Span.String())
		}
	}
	want := []string{"LS1001 broken.yaml", "LS1001 large.yaml", "LS1001 latin1.yaml:2:20", "LS1003 many.yaml"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestRules holds the tags of the spec kinds against typing mistakes: every rule is known and every default keeps the rules.
func TestRules(t *testing.T) {
	for _, kind := range kinds {
		checkRules(t, reflect.TypeOf(kind.make()).Elem())
	}
}

func checkRules(t *testing.T, typ reflect.Type) {
	switch typ.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Map:
		checkRules(t, typ.Elem())
		return
	case reflect.Struct:
	default:
		return
	}
	if !strings.HasPrefix(typ.PkgPath(), "lockstep.dev/") {
		return
	}
	for _, f := range structFieldsOf(typ).fields {
		field := typ.FieldByIndex(f.index)
		if format := f.rule.format; format != "" && formats[format].valid == nil {
			t.Errorf("%s.%s has the unknown format %q", typ.Name(), field.Name, format)
		}
		if tag := field.Tag.Get("jsonschema"); tag != "" && withoutEffect(f.rule) {
			t.Errorf("%s.%s has a tag without effect: %s", typ.Name(), field.Name, tag)
		}
		checkDefault(t, typ, field, f)
		checkRules(t, field.Type)
	}
}

func withoutEffect(r *fieldRule) bool {
	return !r.required && !r.unique && len(r.enum) == 0 && r.def == nil && r.minimum == nil && r.maximum == nil && r.minItems == 0 && r.format == ""
}

func checkDefault(t *testing.T, typ reflect.Type, declared reflect.StructField, f structField) {
	if f.rule.def == nil {
		return
	}
	list := &diag.List{}
	d := &decoder{file: source.NewFile("default", nil), list: list}
	d.setDefaults(decodeTarget{value: reflect.New(declared.Type).Elem(), name: f.name, rule: f.rule})
	for _, problem := range list.Sorted() {
		t.Errorf("the default of %s.%s: %s", typ.Name(), declared.Name, problem.Message)
	}
}

// TestHostile: files made to be slow to read are read at once. A quadratic step anywhere would take minutes here.
func TestHostile(t *testing.T) {
	head := "apiVersion: lockstep.dev/v1alpha1\nkind: Tenant\nmetadata: {name: a}\nspec: "
	for name, body := range map[string]string{
		"one long list":  "{namespaces: [" + strings.Repeat("A,", 100_000) + "]}\n",
		"quoted":         "{namespaces: [" + strings.Repeat(`"",`, 80_000) + "]}\n",
		"unknown keys":   "{" + strings.Repeat("abcdefgh: 1, ", 20_000) + "}\n",
		"one long key":   strings.Repeat("quota", 180_000) + ": 1\n",
		"deep flow":      strings.Repeat("[", 9_000) + strings.Repeat("]", 9_000) + "\n",
		"deep block":     strings.Repeat("- ", 9_000) + "x\n",
		"long documents": strings.Repeat("x", 900_000) + "\n---\n",
	} {
		t.Run(name, func(t *testing.T) {
			list := &diag.List{}
			Files([]*source.File{source.NewFile("hostile.yaml", []byte(head+body))}, list)
			var out strings.Builder
			if err := list.WriteText(&out, diag.Palette{}); err != nil || list.Errors() == 0 {
				t.Errorf("%d errors, %v", list.Errors(), err)
			}
			if out.Len() > 4<<20 {
				t.Errorf("%d bytes of messages", out.Len())
			}
		})
	}
}
