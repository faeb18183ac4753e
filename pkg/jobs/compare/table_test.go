package compare

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"lockstep.dev/lockstep/pkg/jobs/submit"
)

func TestSeveralRunsAreComparedWithTheFirst(t *testing.T) {
	run := func(name string, nodes int32, lr, token, file string) Run {
		o := submit.Options{
			Name: name, Runtime: submit.Runtime{Name: "r"}, Nodes: nodes,
			Command: []string{"mpirun", strings.Repeat("x", 300) + lr},
			Env:     []corev1.EnvVar{{Name: "LR", Value: lr}, {Name: "API_TOKEN", Value: token}},
			Files:   submit.Files{"a.py": "same\n" + file + "\n"},
		}
		job, err := submit.TrainJob(o)
		if err != nil {
			t.Fatal(err)
		}
		return Run{TrainJob: job, Now: time.Unix(100, 0)}
	}
	table := TableOf([]Run{
		run("a", 2, "1", "secret-1", "one"), run("b", 2, "2", "secret-2", "two"), run("c", 4, "1", "secret-1", "one"),
	})
	got, end := map[string][]string{}, "…"+strings.Repeat("x", 20)
	for _, row := range table.Rows {
		got[row.What] = row.Values
	}
	want := map[string][]string{
		"nodes": {"2", "2", "4"}, "env LR": {"1", "2", "1"}, "env API_TOKEN": {"***", "***", "***"},
		"file a.py": {"9 bytes; line 2: one", "9 bytes; line 2: two", "9 bytes; line 2: one"},
		"command":   {end + "1", end + "2", end + "1"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]bool{false, true, false}, table.Rows[len(table.Rows)-1].Differs); diff != "" {
		t.Error(diff)
	}
	if !strings.Contains(strings.Join(table.Equal, " "), "runtime queue slots") || len(table.Unknown) != 3 {
		t.Errorf("equal are %v, unknown %v", table.Equal, table.Unknown)
	}
	if empty := TableOf(nil); len(empty.Rows)+len(empty.Equal) > 0 {
		t.Error(empty)
	}
}
