package build

import (
	"os"
	"path/filepath"
	"reflect"
	"testing"
	"testing/fstest"

	"lockstep.dev/lockstep/test/images/archive"
	"lockstep.dev/lockstep/test/images/internal/image"
)

func sample() image.Image {
	return image.Image{
		Name: "x", Reference: "lockstep.test/x:dev", Env: []string{"A=b"}, User: "65532",
		Debian: &image.Debian{
			Suite: "bookworm", Packages: []string{"bash"}, BuildPackages: []string{"gcc"},
			Programs: []image.Program{{Compiler: "mpicc", Source: "hello.c", Path: "/hello"}},
		},
	}
}

func TestKeyChangesWithEveryInput(t *testing.T) {
	code := func(text string) fstest.MapFS { return fstest.MapFS{"hello.c": {Data: []byte(text)}} }
	program := func(text string) string {
		path := filepath.Join(t.TempDir(), "program")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	key := func(change func(*image.Image), source, program string) string {
		t.Helper()
		img := sample()
		change(&img)
		var programs []archive.File
		if program != "" {
			programs = []archive.File{{Path: "/bin/program", Source: program}}
		}
		k, err := keyOf(img, code(source), programs...)
		if err != nil {
			t.Fatal(err)
		}
		if len(k) != keyLength {
			t.Errorf("key %q has %d digits", k, len(k))
		}
		return k
	}
	same := func(*image.Image) {}
	keys := map[string]string{
		"Base":          key(same, "int main", ""),
		"Name":          key(func(i *image.Image) { i.Name = "y" }, "int main", ""),
		"Reference":     key(func(i *image.Image) { i.Reference = "lockstep.test/x:2" }, "int main", ""),
		"Suite":         key(func(i *image.Image) { i.Debian.Suite = "trixie" }, "int main", ""),
		"Packages":      key(func(i *image.Image) { i.Debian.Packages = []string{"bash", "sed"} }, "int main", ""),
		"BuildPackages": key(func(i *image.Image) { i.Debian.BuildPackages = nil }, "int main", ""),
		"Exclude":       key(func(i *image.Image) { i.Debian.Exclude = []string{"/x"} }, "int main", ""),
		"Wheels":        key(func(i *image.Image) { i.Debian.Wheels = []image.Wheel{{Name: "x"}} }, "int main", ""),
		"BuildWheels":   key(func(i *image.Image) { i.Debian.BuildWheels = []image.Wheel{{Name: "x"}} }, "int main", ""),
		"OtherVersion":  key(func(i *image.Image) { i.Debian.Wheels = []image.Wheel{{Name: "x", Version: "2"}} }, "int main", ""),
		"Flags":         key(func(i *image.Image) { i.Debian.Programs[0].Flags = []string{"-lm"} }, "int main", ""),
		"Compiler":      key(func(i *image.Image) { i.Debian.Programs[0].Compiler = "cc" }, "int main", ""),
		"ProgramPath":   key(func(i *image.Image) { i.Debian.Programs[0].Path = "/h" }, "int main", ""),
		"Scripts":       key(func(i *image.Image) { i.Scripts = map[string]string{"/a": "hello.c"} }, "int main", ""),
		"ScriptText":    key(func(i *image.Image) { i.Debian.Programs, i.Scripts = nil, map[string]string{"/a": "hello.c"} }, "echo 1", ""),
		"OtherText":     key(func(i *image.Image) { i.Debian.Programs, i.Scripts = nil, map[string]string{"/a": "hello.c"} }, "echo 2", ""),
		"Links":         key(func(i *image.Image) { i.Links = map[string]string{"/a": "b"} }, "int main", ""),
		"Entrypoint":    key(func(i *image.Image) { i.Entrypoint = []string{"a"} }, "int main", ""),
		"Cmd":           key(func(i *image.Image) { i.Cmd = []string{"a"} }, "int main", ""),
		"Env":           key(func(i *image.Image) { i.Env = nil }, "int main", ""),
		"User":          key(func(i *image.Image) { i.User = "1" }, "int main", ""),
		"WorkingDir":    key(func(i *image.Image) { i.WorkingDir = "/a" }, "int main", ""),
		"Source":        key(same, "int main2", ""),
		"Program":       key(same, "int main", program("one")),
		"OtherProgram":  key(same, "int main", program("two")),
	}
	seen := map[string]string{}
	for name, k := range keys {
		if other, found := seen[k]; found {
			t.Errorf("%s and %s have the same key", name, other)
		}
		seen[k] = name
	}
	if again := key(same, "int main", ""); again != keys["Base"] {
		t.Error("equal inputs have different keys")
	}
}

// The version of the tool and the architecture count too, and so does whatever is added to inputs later.
func TestKeyCoversEveryField(t *testing.T) {
	base, err := inputs{}.key()
	if err != nil {
		t.Fatal(err)
	}
	fields := reflect.TypeFor[inputs]()
	for n := range fields.NumField() {
		var in inputs
		field := reflect.ValueOf(&in).Elem().Field(n)
		switch field.Kind() {
		case reflect.Int:
			field.SetInt(7)
		case reflect.String:
			field.SetString("7")
		case reflect.Slice:
			field.Set(reflect.MakeSlice(field.Type(), 1, 1))
		case reflect.Map:
			field.Set(reflect.ValueOf(map[string]string{"7": ""}))
		default:
			field.Set(reflect.ValueOf(sample()))
		}
		if k, err := in.key(); err != nil || k == base {
			t.Errorf("field %s does not change the key (%v)", fields.Field(n).Name, err)
		}
	}
}
