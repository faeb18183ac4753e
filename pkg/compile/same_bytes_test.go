package compile_test

import (
	"io/fs"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"lockstep.dev/lockstep/pkg/compile"
	"lockstep.dev/lockstep/pkg/compile/diag"
)

// specsOf copies the specs of this repository into memory, without components: charts have tests of their own and take long.
func specsOf(t *testing.T) fstest.MapFS {
	t.Helper()
	component := regexp.MustCompile(`(?m)^  components:\n(?:    .*\n)+`)
	files := fstest.MapFS{}
	for _, folder := range []string{"catalog", "tenants", "overlays"} {
		err := fs.WalkDir(repository, folder, func(name string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() {
				return err
			}
			data, err := fs.ReadFile(repository, name)
			files[name] = &fstest.MapFile{Data: component.ReplaceAll(data, nil)}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return files
}

// outcome is what a compilation gives: files by path, and findings as people read them.
type outcome struct {
	Files    map[string]string
	Findings string
}

func everything(t *testing.T, files fs.FS) (outcome, *diag.List) {
	t.Helper()
	o := outcome{Files: map[string]string{}}
	list, err := compile.Stream(files, compile.Options{Workers: 4}, func(u compile.Unit) error {
		for _, file := range u.Files {
			o.Files[file.Path] = string(file.Data)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	o.Findings = text(t, list)
	return o, list
}

func tenantsOf(files fstest.MapFS) []string {
	specs := slices.Sorted(maps.Keys(files))
	return slices.DeleteFunc(specs, func(name string) bool { return path.Dir(name) != "tenants" })
}

// TestSameBytes: the bytes do not depend on the order in which folders are listed, nor on the language and time zone of the machine.
func TestSameBytes(t *testing.T) {
	files := specsOf(t)
	want, _ := everything(t, files)
	for _, environment := range []map[string]string{
		{"LANG": "tr_TR.UTF-8", "LC_ALL": "tr_TR.UTF-8", "TZ": "Asia/Kathmandu"}, {"LANG": "C", "LC_ALL": "C", "TZ": "America/St_Johns"},
	} {
		for name, value := range environment {
			t.Setenv(name, value)
		}
		got, _ := everything(t, backwards{files})
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%v (-want +got):\n%s", environment, diff)
		}
	}
}

// backwards lists folders from Z to A.
type backwards struct{ fs.FS }

func (b backwards) ReadDir(name string) ([]fs.DirEntry, error) {
	entries, err := fs.ReadDir(b.FS, name)
	slices.Reverse(entries)
	return entries, err
}

// TestRangesUnknownToAll: a cluster that does not say which addresses its pods have is found once, whoever may reach private ones.
func TestRangesUnknownToAll(t *testing.T) {
	files := manyFiles(t)
	for _, spec := range tenantsOf(files) {
		files[spec].Data = append(files[spec].Data, "  network: {egress: [{cidr: 10.20.0.0/16}]}\n"...)
	}
	found, list := everything(t, files)
	if list.Errors() > 0 || strings.Count(found.Findings, string(diag.RangesUnknown)) != 1 {
		t.Errorf("want one finding of %s:\n%s", diag.RangesUnknown, found.Findings)
	}
}
