package image_test

import (
	"os"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"lockstep.dev/lockstep/test/images/internal/image"
)

const good = `reference: lockstep.test/x:dev
go: {package: ./cmd/x, path: /bin/x}
`

// The references are what tests, the local cluster and the demo name: changing one breaks them.
func TestDefinitionsOfThisRepository(t *testing.T) {
	images, err := image.Load(os.DirFS("../.."))
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, i := range images {
		got[i.Name] = i.Reference
		if i.User == "" || i.User == "0" || i.User == "root" {
			t.Errorf("%s runs as root, which restricted namespaces refuse", i.Name)
		}
	}
	want := map[string]string{
		"openmpi4":           "lockstep.test/mpi/openmpi:4",
		"openmpi4-ssh":       "lockstep.test/mpi/openmpi-ssh:4",
		"openmpi5":           "lockstep.test/mpi/openmpi:5",
		"mpich":              "lockstep.test/mpi/mpich:4",
		"intelmpi":           "lockstep.test/mpi/intelmpi:2021",
		"torch":              "lockstep.test/mpi/torch:2.6",
		"horovod":            "lockstep.test/mpi/horovod-torch:0.28",
		"horovod-tensorflow": "lockstep.test/mpi/horovod-tensorflow:0.28",
		"stand-ins":          "lockstep.test/mpi/stand-ins:dev",
		"mpi-agent":          "lockstep.test/mpi-agent:dev",
		"mpi-controller":     "lockstep.test/mpi-controller:dev",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("images (-want +got):\n%s", diff)
	}
}

func TestLoadIsStrict(t *testing.T) {
	debian := "reference: lockstep.test/x:dev\ndebian:\n  suite: bookworm\n  packages: [bash]\n"
	wheel := debian + "  wheels: [{name: x, version: 1.0, sha256: {amd64: " + strings.Repeat("ab", 32) + "}, keep: [/usr/local/bin/*]}]\n"
	source := debian + "  sources: [{name: x, version: 1.0, sha256: " + strings.Repeat("ab", 32) + ", build: make install}]\n"
	cases := map[string]struct {
		reason string
		text   string
		want   string // "" is fine
	}{
		"Good":            {reason: "the least definition", text: good},
		"GoodDebian":      {reason: "the least definition with Debian", text: debian},
		"UnknownKey":      {reason: "a typing error must not be ignored", text: good + "entrypiont: [x]\n", want: "entrypiont"},
		"UnknownInner":    {reason: "nor one further in", text: debian + "  package: [x]\n", want: "package"},
		"DuplicateKey":    {reason: "one of them would win silently", text: good + "user: a\nuser: b\n", want: "already defined"},
		"TwoDocuments":    {reason: "the second would be ignored", text: good + "---\n" + good, want: "more than one document"},
		"Empty":           {reason: "nothing to build", text: "# nothing\n", want: "is empty"},
		"WrongType":       {reason: "env is a list", text: good + "env: {A: b}\n", want: "cannot unmarshal"},
		"NoTag":           {reason: "a reference says which version", text: strings.Replace(good, ":dev", "", 1), want: "registry/repository:tag"},
		"Neither":         {reason: "an image is made of something", text: "reference: lockstep.test/x:dev\n", want: "exactly one of debian and go"},
		"Both":            {reason: "and of one thing", text: debian + "go: {package: ./x, path: /x}\n", want: "exactly one of debian and go"},
		"Env":             {reason: "container runtimes want NAME=value", text: good + "env: [PATH]\n", want: `env "PATH": want NAME=value`},
		"GoPackage":       {reason: "only programs of this repository", text: strings.Replace(good, "./cmd/x", "example.org/x", 1), want: "want a path in the root module"},
		"GoPath":          {reason: "a place in the image", text: strings.Replace(good, "/bin/x", "x", 1), want: "want an absolute path"},
		"NoSuite":         {reason: "which Debian", text: strings.Replace(debian, "bookworm", `""`, 1), want: "debian.suite is missing"},
		"NoPackages":      {reason: "a root file system of nothing", text: strings.Replace(debian, "[bash]", "[]", 1), want: "debian.packages are missing"},
		"PackageList":     {reason: "one name per entry, as they become one argument", text: strings.Replace(debian, "[bash]", `["a,b"]`, 1), want: "want the name of one package"},
		"Exclude":         {reason: "patterns are of whole paths", text: debian + "  exclude: ['*.so']\n", want: "begins with a slash"},
		"ProgramSource":   {reason: "the file must be there", text: debian + "  programs: [{compiler: cc, source: none.c, path: /x}]\n", want: "none.c"},
		"ProgramCompiler": {reason: "which compiler", text: debian + "  programs: [{source: a/image.yaml, path: /x}]\n", want: `compiler of "/x" is missing`},
		"GoodWheel":       {reason: "a wheel beside Debian", text: wheel},
		"WheelVersion":    {reason: "a range would pin nothing", text: strings.Replace(wheel, "1.0", `">=1"`, 1), want: "want a name and one version"},
		"WheelHash":       {reason: "a hash that is cut off pins nothing", text: strings.Replace(wheel, "abab", "", 1), want: "want 64 hexadecimal digits"},
		"WheelHashes":     {reason: "nor does none", text: strings.Replace(wheel, "amd64: "+strings.Repeat("ab", 32), "", 1), want: "sha256 is missing"},
		"WheelKeep":       {reason: "patterns are of paths in the image", text: strings.Replace(wheel, "/usr/local", "x", 1), want: "begins with a slash"},
		"GoodSource":      {reason: "a source distribution beside Debian", text: source},
		"SourceVersion":   {reason: "a range would pin nothing", text: strings.Replace(source, "1.0", `">=1"`, 1), want: "want a name and one version"},
		"SourceHash":      {reason: "a hash that is cut off pins nothing", text: strings.Replace(source, "abab", "", 1), want: "want 64 hexadecimal digits"},
		"SourceBuild":     {reason: "nothing would come of it", text: strings.Replace(source, "make install", `""`, 1), want: "build is missing"},
		"ScriptSource":    {reason: "the script must be there", text: debian + "scripts: {/x: none}\n", want: "none"},
		"ScriptPath":      {reason: "a place in the image", text: debian + "scripts: {x: a/image.yaml}\n", want: `path "x": want an absolute path`},
		"ProgramPath":     {reason: "a place in the image", text: debian + "  programs: [{compiler: cc, source: a/image.yaml, path: x}]\n", want: `path "x": want an absolute path`},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			_, err := image.Load(fstest.MapFS{"a/image.yaml": {Data: []byte(tc.text)}})
			if (err != nil) != (tc.want != "") || err != nil && !strings.Contains(err.Error(), tc.want) {
				t.Errorf("%s: error %v, want %q", tc.reason, err, tc.want)
			}
			if err != nil && !strings.Contains(err.Error(), "a/image.yaml") {
				t.Errorf("%s: error does not name the file: %v", tc.reason, err)
			}
		})
	}
}

func TestLoadReportsEveryMistake(t *testing.T) {
	_, err := image.Load(fstest.MapFS{
		"a/image.yaml": {Data: []byte("reference: x\nenv: [A]\n")},
		"b/image.yaml": {Data: []byte("nonsense: 1\n")},
	})
	for _, want := range []string{"registry/repository:tag", "exactly one", "NAME=value", "nonsense"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error does not mention %q: %v", want, err)
		}
	}
}

func TestLoadOfNothing(t *testing.T) {
	if _, err := image.Load(fstest.MapFS{}); err == nil {
		t.Error("a folder without definitions is no error")
	}
}

func TestChoose(t *testing.T) {
	foreign := &image.Debian{Wheels: []image.Wheel{{Name: "x", SHA256: map[string]string{"arm64": "ab"}}}}
	all := []image.Image{{Name: "a"}, {Name: "b"}, {Name: "c"}, {Name: "d", Debian: foreign}, {Name: "large", OnDemand: true}}
	cases := map[string]struct {
		reason string
		names  []string
		want   []string
		err    string
	}{
		"All":     {reason: "no names mean all that can be made here", want: []string{"a", "b", "c"}},
		"Foreign": {reason: "by its name it is asked for, and fails with a reason", names: []string{"d"}, want: []string{"d"}},
		"Large":   {reason: "what is large is made where it is asked for", names: []string{"large"}, want: []string{"large"}},
		"Some":    {reason: "in the order of definitions, once each", names: []string{"c", "a", "c"}, want: []string{"a", "c"}},
		"Unknown": {reason: "says what there is", names: []string{"e"}, err: `no image is called "e": choose from a, b, c, d, large`},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			chosen, err := image.Choose(all, tc.names, "amd64")
			var got []string
			for _, i := range chosen {
				got = append(got, i.Name)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
			if tc.err != "" && (err == nil || err.Error() != tc.err) {
				t.Errorf("%s: error %v, want %s", tc.reason, err, tc.err)
			}
		})
	}
}
