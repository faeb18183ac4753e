package submit

import (
	"encoding/json"
	"strings"
	"testing"
	"testing/fstest"
)

// A manifest that is printed can be applied: the copy that `kubectl apply` keeps of it fits beside other annotations,
// and leaves room for the record.
func TestAManifestForKubectlApplyFitsAnAnnotation(t *testing.T) {
	for name, tc := range map[string]struct {
		text string
		fits bool
	}{
		"Small":   {strings.Repeat("1", 40<<10), true},
		"Large":   {strings.Repeat("1", 60<<10), false},
		"Escaped": {strings.Repeat("<", 10<<10), false},
		"Lines":   {strings.Repeat("\n", 30<<10), false},
	} {
		files, err := TakeFiles(fstest.MapFS{"a.py": &fstest.MapFile{Data: []byte(tc.text)}})
		if err != nil {
			t.Fatal(err)
		}
		job, err := TrainJob(Options{Runtime: Runtime{Name: "mpi"}, Name: "demo", Files: files, Command: []string{"a.py"}})
		if err != nil {
			t.Fatal(err)
		}
		text, err := json.Marshal(job)
		if err != nil {
			t.Fatal(err)
		}
		err = CheckApplied(job)
		if (err == nil) != tc.fits || err == nil && len(text) > 100<<10 {
			t.Errorf("%s: a manifest of %d KiB: %v", name, len(text)>>10, err)
		}
		if err != nil && !strings.Contains(err.Error(), "room for 96 KiB") {
			t.Errorf("%s: the limit is not named: %v", name, err)
		}
	}
}
