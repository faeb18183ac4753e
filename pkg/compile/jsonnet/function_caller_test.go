package jsonnet

import (
	"io"
	"strings"
	"testing"
	"testing/fstest"

	"lockstep.dev/lockstep/pkg/compile/source"
	"lockstep.dev/lockstep/pkg/compile/subprocess"
)

// TestCall calls functions in this process and through Serve: both say the same.
func TestCall(t *testing.T) {
	root := fstest.MapFS{"overlays/a/lib.libsonnet": {Data: []byte("{ two: 2,\n  bad: error 'no' }")}}
	for name, c := range map[string]struct{ reason, program, argument, want string }{
		"changes":    {"the argument, changed", "function(object) object { b: object.a + 1 }", `{"a":1}`, `{"a":1,"b":2}`},
		"any name":   {"the parameter's name is free", "function(o) o + { b: 2 }", `{}`, `{"b":2}`},
		"import":     {"imports are relative to the file", "local lib = import 'lib.libsonnet'; function(o) { a: lib.two }", `{}`, `{"a":2}`},
		"nothing":    {"null takes the object away", "function(o) null", `{}`, ""},
		"no number":  {"numbers stay whole", "function(o) o", `{"a":1500,"b":0.1}`, `{"a":1500,"b":0.10000000000000001}`},
		"no closing": {"an argument is data", "function(o) o", `{"a":"') + error 'x"}`, `{"a":"')+error'x"}`},
		"a value":    {"a program that is no function", "{ a: 1 }", `{}`, "overlays/a/f.jsonnet cannot be evaluated: the file must hold a function of one argument, as `function(object) object { … }`"},
		"of two":     {"a function of two", "function(a, b) a", `{}`, "overlays/a/f.jsonnet cannot be evaluated: the file must hold a function of one argument, as `function(object) object { … }`"},
		"error":      {"an error is where it is", "function(o)\n  o.missing", `{}`, "overlays/a/f.jsonnet:2:3 cannot be evaluated: Field does not exist: missing"},
		"syntax":     {"as are mistakes of syntax", "function(o) {", `{}`, "overlays/a/f.jsonnet:1:13 not valid Jsonnet: Unexpected: end of file"},
		"in a lib":   {"or that of an import", "function(o) (import 'lib.libsonnet').bad", `{}`, "overlays/a/lib.libsonnet:2:8 cannot be evaluated: no"},
	} {
		t.Run(name, func(t *testing.T) {
			file := source.NewFile("overlays/a/f.jsonnet", []byte(c.program))
			for where, evaluator := range map[string]Evaluator{"here": InProcessEvaluator{}, "apart": SubprocessEvaluator{Start: servePipe}} {
				functions := evaluator.Open(root)
				for range 2 { // the second call uses what the first has left
					if got := called(file, functions.Call(file, c.argument)); !strings.HasPrefix(got, c.want) || c.want == "" && got != "" {
						t.Errorf("%s, %s: got %s, want %s", c.reason, where, got, c.want)
					}
				}
				functions.End()
			}
		})
	}
}

func called(file *source.File, r Result) string {
	if r.Err != nil {
		return r.Err.Span(file).String() + " " + r.Err.Message + strings.Join(r.Err.Trace, " ")
	}
	var all []string
	for _, d := range r.Documents {
		all = append(all, d.Path+strings.Join(strings.Fields(d.JSON), ""))
	}
	return strings.Join(all, " ")
}

// TestPlaceInFunction finds where a function writes a value.
func TestPlaceInFunction(t *testing.T) {
	file := source.NewFile("f.jsonnet", []byte(`function(object) object {
  spec+: {
    replicas: 3,
    containers: [
      c { image: 'x' }
      for c in super.containers
    ],
  },
}
`))
	r := InProcessEvaluator{}.Open(fstest.MapFS{}).Call(file, `{"spec":{"containers":[{"name":"a"}]}}`)
	if r.Err != nil {
		t.Fatal(r.Err)
	}
	for path, want := range map[string]string{
		"spec replicas":           "f.jsonnet:3:15",
		"spec containers 0 image": "f.jsonnet:5:18",
		"spec containers 0 name":  "f.jsonnet:5:7",
		"spec":                    "f.jsonnet:2:10",
		"metadata name":           "f.jsonnet:1:18",
	} {
		at, found := r.Place(strings.Fields(path))
		if got := at.Span(file).String(); !found || got != want {
			t.Errorf("%s is at %s, want %s", path, got, want)
		}
	}
}

// pipes is a process that is none: Serve in this one.
type pipes struct {
	io.Reader
	io.WriteCloser
}

func (p pipes) End() string {
	_ = p.Close()
	return ""
}

func servePipe() (subprocess.Process, error) {
	in, toServe := io.Pipe()
	fromServe, out := io.Pipe()
	go func() { _ = out.CloseWithError(Serve(in, out)) }()
	return pipes{fromServe, toServe}, nil
}

// TestCallInFreshProcess: a process that ended after some calls is replaced; one that ends at once is the mistake of the function.
func TestCallInFreshProcess(t *testing.T) {
	file := source.NewFile("f.jsonnet", []byte("function(o) o"))
	var last subprocess.Process
	started := 0
	functions := SubprocessEvaluator{Limits: "a moment", Start: func() (subprocess.Process, error) {
		started++
		process, err := servePipe()
		last = process
		return process, err
	}}.Open(fstest.MapFS{})
	for range 2 {
		if r := functions.Call(file, "{}"); r.Err != nil {
			t.Fatal(r.Err)
		}
		last.End()
	}
	if started != 2 {
		t.Errorf("%d processes, want 2", started)
	}
	broken := SubprocessEvaluator{Limits: "a moment", Start: func() (subprocess.Process, error) {
		process, err := servePipe()
		process.End()
		return process, err
	}}.Open(fstest.MapFS{})
	if r := broken.Call(file, "{}"); r.Err == nil || !strings.Contains(r.Err.Message, "the evaluation was ended") || !strings.Contains(r.Err.Help, "a moment") {
		t.Errorf("got %+v", r.Err)
	}
}
