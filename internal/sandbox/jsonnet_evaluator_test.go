package sandbox

import (
	"fmt"
	"os"
	"runtime"
	"strings"
	"testing"
	"testing/fstest"

	"lockstep.dev/lockstep/pkg/compile/jsonnet"
	"lockstep.dev/lockstep/pkg/compile/source"
	"lockstep.dev/lockstep/pkg/compile/subprocess"
)

// TestHostileJsonnet: programs that would end or occupy the process end only their own, are named, and the others are evaluated.
func TestHostileJsonnet(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("only Linux limits all resources")
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	e := jsonnet.SubprocessEvaluator{Limits: "little", Start: func() (subprocess.Process, error) {
		return startJsonnet(self, "runtime-compiler", JsonnetSeconds, newCPUTimeBudget(120, "Jsonnet"))
	}}
	cases := []struct{ reason, program, want string }{
		{"a program", `(import '../lib/x.libsonnet') { b: 1 }`, ""},
		{"a tail call without end overflows the stack", `local f(n) = if n == -1 then 0 else f(n + 1) tailstrict; f(0)`, "its calls are nested without end"},
		{"another program", `{}`, ""},
		{"a huge array", `std.makeArray(1000000000, function(i) i)`, "it needed more than 512 MiB of memory"},
		{"doubling", `local f(s, n) = if n == 0 then s else f(s + s, n - 1); f('x', 40)`, "it needed more than 512 MiB of memory"},
		{"deep brackets", strings.Repeat("(", 500_000), "its calls are nested without end"},
		{"a file outside", `import '../../x'`, "cannot import `../../x`: it is not below the root of the repository"},
		{"the last program", `[{}, {}]`, ""},
	}
	var files []*source.File
	for _, c := range cases {
		files = append(files, source.NewFile("tenants/a.jsonnet", []byte(c.program)))
	}
	for i := range files {
		files[i].Path = "tenants/" + string(rune('a'+i)) + ".jsonnet"
	}
	root := fstest.MapFS{"lib/x.libsonnet": {Data: []byte("{a: 1}")}}
	for i, r := range e.Evaluate(root, files) {
		switch c := cases[i]; {
		case c.want == "" && (r.Err != nil || len(r.Documents) == 0):
			t.Errorf("%s: %+v", c.reason, r.Err)
		case c.want != "" && (r.Err == nil || !strings.Contains(r.Err.Message, c.want)):
			t.Errorf("%s: got %+v, want %q", c.reason, r.Err, c.want)
		}
	}
}

// TestEndlessJsonnet: a program that does not end is ended.
func TestEndlessJsonnet(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	e := jsonnet.SubprocessEvaluator{Start: func() (subprocess.Process, error) {
		return startJsonnet(self, "runtime-compiler", 1, newCPUTimeBudget(60, "Jsonnet"))
	}}
	program := source.NewFile("tenants/a.jsonnet", []byte(`local f(n) = if n == 0 then 0 else f(n - 1) + f(n - 1); f(100)`))
	r := e.Evaluate(fstest.MapFS{}, []*source.File{program})[0]
	if r.Err == nil || !strings.Contains(r.Err.Message, "it took more than 1 s of processor time") {
		t.Errorf("got %+v", r.Err)
	}
}

// TestManyEndlessJsonnet: many programs that do not end cost no more than the budget of a run, and one process.
func TestManyEndlessJsonnet(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	total := newCPUTimeBudget(1, "Jsonnet")
	e := jsonnet.SubprocessEvaluator{Start: func() (subprocess.Process, error) { return startJsonnet(self, "runtime-compiler", 1, total) }}
	var files []*source.File
	for i := range 20 {
		files = append(files, source.NewFile(fmt.Sprintf("tenants/%d.jsonnet", i), []byte(`local f(n) = if n == 0 then 0 else f(n - 1) + f(n - 1); f(100)`)))
	}
	for i, r := range e.Evaluate(fstest.MapFS{}, files) {
		want := "Jsonnet may take 1s of processor time in one run, and others have taken them"
		if i == 0 {
			want = "it took more than 1 s of processor time"
		}
		if r.Err == nil || !strings.Contains(r.Err.Message, want) {
			t.Errorf("%d: got %+v, want %q", i, r.Err, want)
		}
	}
}
