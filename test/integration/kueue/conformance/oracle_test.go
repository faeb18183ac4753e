// Package conformance asks Kubeflow Trainer's own code what it makes of the TrainJobs in pkg/mpi/job/testdata/conformance. Its
// answers lie beside them, and pkg/mpi/job holds our objects against the answers. The package is in Kueue's module because
// the plugins of Trainer are there already. After an update of Trainer:
//
//	go test -tags exclude_scheduler_library ./conformance -update
package conformance

import (
	"context"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"
	runtimecore "github.com/kubeflow/trainer/v2/pkg/runtime/core"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	jobset "sigs.k8s.io/jobset/api/jobset/v1alpha2"
	scheduling "sigs.k8s.io/scheduler-plugins/apis/scheduling/v1alpha1"
	"sigs.k8s.io/yaml"
	volcano "volcano.sh/apis/pkg/apis/scheduling/v1beta1"
)

var update = flag.Bool("update", false, "write the answers anew")

const cases = "../../../../pkg/mpi/job/testdata/conformance"

// The answers that pkg/mpi/job is held against are those of the pinned Kubeflow Trainer.
func TestAnswersAreUpstreams(t *testing.T) {
	asked, err := filepath.Glob(filepath.Join(cases, "*.yaml"))
	if err != nil || len(asked) == 0 {
		t.Fatalf("no cases in %s: %v", cases, err)
	}
	for _, path := range asked {
		name := strings.TrimSuffix(filepath.Base(path), ".yaml")
		t.Run(name, func(t *testing.T) {
			got := answer(t, path)
			file := filepath.Join(cases, "upstream", name+".yaml")
			if *update {
				if err := os.WriteFile(file, got, 0o600); err != nil {
					t.Fatal(err)
				}
				return
			}
			want, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), string(got)); diff != "" {
				t.Errorf("Kubeflow Trainer makes something else of this TrainJob than pkg/mpi/job is held against: -file, +Trainer:\n%s", diff)
			}
		})
	}
}

// answer returns the objects that Trainer makes of a TrainJob, as YAML documents in the order of their kinds.
func answer(t *testing.T, path string) []byte {
	t.Helper()
	trainingRuntime, trainJob := read(t, path)
	cluster := clusterOf(t, trainingRuntime, trainJob)
	runtimes, err := runtimecore.New(t.Context(), cluster, indexer{}, nil)
	if err != nil {
		t.Fatalf("set up the plugins of Kubeflow Trainer: %v", err)
	}
	objects, err := runtimes[runtimecore.ClusterTrainingRuntimeGroupKind].NewObjects(t.Context(), trainJob)
	if err != nil {
		t.Fatal(err)
	}
	documents := make([]string, 0, len(objects))
	for _, object := range objects {
		documents = append(documents, document(t, object))
	}
	slices.Sort(documents)
	return []byte(strings.Join(documents, "---\n"))
}

// document returns an object without the values of a key, which are new each time.
func document(t *testing.T, object runtime.ApplyConfiguration) string {
	t.Helper()
	text, err := json.Marshal(object)
	if err != nil {
		t.Fatal(err)
	}
	var fields map[string]any
	if err := json.Unmarshal(text, &fields); err != nil {
		t.Fatal(err)
	}
	if data, ok := fields["data"].(map[string]any); ok && fields["kind"] == "Secret" {
		for key := range data {
			data[key] = ""
		}
	}
	result, err := yaml.Marshal(fields)
	if err != nil {
		t.Fatal(err)
	}
	return string(result)
}

func read(t *testing.T, path string) (*trainer.ClusterTrainingRuntime, *trainer.TrainJob) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	documents := strings.Split(string(text), "\n---\n")
	trainingRuntime, trainJob := &trainer.ClusterTrainingRuntime{}, &trainer.TrainJob{}
	for i, into := range []any{trainingRuntime, trainJob} {
		if err := yaml.UnmarshalStrict([]byte(documents[i]), into); err != nil {
			t.Fatal(err)
		}
	}
	return trainingRuntime, trainJob
}

// clusterOf is an API server that knows the kinds.
func clusterOf(t *testing.T, objects ...client.Object) client.Client {
	t.Helper()
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{
		clientgoscheme.AddToScheme, corev1.AddToScheme, trainer.AddToScheme, jobset.AddToScheme, scheduling.AddToScheme, volcano.AddToScheme,
	} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	return fake.NewClientBuilder().WithScheme(scheme).WithObjects(objects...).Build()
}

// indexer takes every index: nothing is looked up by one here.
type indexer struct{}

// IndexField takes an index.
func (indexer) IndexField(context.Context, client.Object, string, client.IndexerFunc) error {
	return nil
}
