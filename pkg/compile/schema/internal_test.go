package schema

import (
	"io"
	"testing"
	"testing/fstest"

	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/validation"
)

func TestWithoutArchive(t *testing.T) {
	if a := openArchive(fstest.MapFS{"embedded/README.md": {}}); a != nil {
		t.Errorf("an archive was found where none is: %v", a)
	}
}

// TestEveryRuleCompiles notices a rule that uses a function of Kubernetes that our environment lacks.
func TestEveryRuleCompiles(t *testing.T) {
	if !Available() {
		t.Skip("SKIPPED: this build has no schemas: run `make schemas`")
	}
	count := 0
	for _, k := range opened().kinds() {
		table := opened().table(36, k)
		for i := range table.Shapes {
			if rules := table.Shapes[i].rules; rules != nil {
				rules.once.Do(rules.compile)
				count += len(rules.programs)
			}
			if accepted := table.Shapes[i].accepted; accepted != nil {
				accepted.right("")
			}
		}
	}
	if count < 40 {
		t.Errorf("found %d rules, the CRDs have more", count)
	}
}

func (a *schemaArchive) kinds() []objectKind {
	var all []objectKind
	for name := range a.files {
		for i := len(name) - 1; i > 0; i-- {
			if name[i] == '/' {
				folder := len("crd/")
				if name[0] == '1' {
					folder = len("1.36/")
				}
				all = append(all, objectKind{name[folder:i], name[i+1:]})
				break
			}
		}
	}
	return all
}

// FuzzPlainAmount compares the fast way with the slow one: what is plain is valid and not negative.
func FuzzPlainAmount(f *testing.F) {
	for _, seed := range []string{"1", "64", "10Gi", "5k", "5ki", "5K", "5Ki", "100m", "1.5", "-1", "", "Gi", "i", "1E", "1Ei", "1e3", "999999999999999E"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if !isPlainAmount(text) {
			return
		}
		quantity, err := resource.ParseQuantity(text)
		if err != nil || quantity.Sign() < 0 {
			t.Errorf("%q is not plain: %v, %v", text, quantity, err)
		}
	})
}

// FuzzPlainNames compares the fast ways to see that a name is valid with those of Kubernetes.
func FuzzPlainNames(f *testing.F) {
	for _, seed := range []string{"a", "a.b", "A", "-a", "a-", "a_b", "example.com/a", "Example.com/a", "/a", "a/", "a/b/c", "ä"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if isLabel(text) && len(validation.IsDNS1123Label(text)) > 0 {
			t.Errorf("%q is no DNS label", text)
		}
		if isLabelWord(text) && len(validation.IsValidLabelValue(text)) > 0 {
			t.Errorf("%q is no label value", text)
		}
		if isPlainKey(text) && len(validation.IsQualifiedName(text)) > 0 {
			t.Errorf("%q is no label key", text)
		}
	})
}

// TestFingerprints: files that look the same are the same.
func TestFingerprints(t *testing.T) {
	a := opened()
	if a == nil {
		t.Skip("SKIPPED: this build has no schemas: run `make schemas`")
	}
	first := map[fileFingerprint]string{}
	shared := 0
	for name, file := range a.files {
		reader, err := file.Open()
		if err != nil {
			t.Fatal(err)
		}
		data, err := io.ReadAll(reader)
		if err != nil {
			t.Fatal(err)
		}
		key := fileFingerprint{sum: file.CRC32, size: file.UncompressedSize64}
		if other, found := first[key]; found {
			shared++
			if other != string(data) {
				t.Errorf("%s looks like another file", name)
			}
		}
		first[key] = string(data)
	}
	if shared == 0 {
		t.Error("no version shares a schema with another")
	}
	t.Logf("%d of %d files are copies", shared, len(a.files))
}
