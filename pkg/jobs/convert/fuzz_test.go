package convert_test

import (
	"strings"
	"testing"

	"lockstep.dev/lockstep/pkg/compile/source"
	"lockstep.dev/lockstep/pkg/jobs/convert"
	"lockstep.dev/lockstep/pkg/jobs/convert/corpus"
)

// FuzzRead feeds anything to the reader and the conversion. Neither may panic or hang; every place must be in the file, and what comes out
// must name each value that went in, which TestNothingIsDropped looks at in detail.
func FuzzRead(f *testing.F) {
	for _, text := range corpus.LoadMutations(f, "testdata") {
		f.Add([]byte(text))
	}
	f.Add([]byte("a: &a [*a]\n"))
	f.Add([]byte("apiVersion: kubeflow.org/v2beta1\nkind: MPIJob\n<<: &x {<<: *x}\n"))
	f.Add([]byte("\xff\xfe"))
	// Characters that YAML does not take as they are.
	f.Add([]byte("apiVersion: kubeflow.org/v1\nkind: MPIJob\nmetadata:\n  name: A\nspec:\n mpiReplicaSpecs:\n    Launcher: \n      template:\n       spec:\n        containers:\n        - image: \x7f\n          env: [{name: A, value: \"\\x7f\\x85\\ufeff\\uffff\"}]\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		file := source.NewFile("f.yaml", data)
		in := convert.ReadInput(file)
		last := strings.Count(file.Text(), "\n") + strings.Count(file.Text(), "\r") + 1
		for _, problem := range in.Problems {
			if problem.At.Line > last+1 { // the library counts the end as a line
				t.Errorf("a problem in line %d of %d", problem.At.Line, last)
			}
		}
		catalog := &convert.Catalog{}
		for _, job := range in.Jobs {
			r := convert.Convert(job, catalog, convert.Options{})
			for _, e := range r.Entries {
				if e.At.Line < 1 || e.At.Line > last {
					t.Errorf("%s is in line %d of %d", e.From, e.At.Line, last)
				}
			}
			_ = r.YAML()
		}
	})
}
