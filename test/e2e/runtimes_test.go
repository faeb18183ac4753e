package e2e

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing/fstest"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/controller-runtime/pkg/client"

	trainer "lockstep.dev/lockstep/api/trainer/v1alpha1"
	"lockstep.dev/lockstep/pkg/compile"
)

// ownNamespace is that of jobs whose runtimes no tenant has.
const ownNamespace = "lockstep-own"

// addRuntimes compiles runtimes from specs, for the cluster of this repository, and installs them until the container is over.
// No tenant has them: their jobs run in ownNamespace.
func addRuntimes(ctx SpecContext, specs ...string) {
	GinkgoHelper()
	cluster, _, _ := strings.Cut(source("overlays/local/cluster.yaml"), "  components:\n")
	files := fstest.MapFS{
		"overlays/local/cluster.yaml":        {Data: []byte(cluster)},
		"catalog/profiles/cpu-ethernet.yaml": {Data: []byte(source("catalog/profiles/cpu-ethernet.yaml"))},
		"catalog/runtimes/own.yaml":          {Data: []byte(strings.Join(specs, "---\n"))},
	}
	compiled, list := compile.Compile(files, compile.Options{})
	Expect(list.Errors()).To(BeZero(), "%+v", list.Sorted())
	Expect(compiled).To(HaveLen(1))
	for _, file := range compiled[0].Files {
		if strings.HasSuffix(file.Path, "/runtimes.yaml") {
			for _, runtime := range runtimesOf(string(file.Data)) {
				Expect(client.IgnoreAlreadyExists(admin.Client.Create(ctx, runtime))).To(Succeed())
				DeferCleanup(func(ctx SpecContext) { Expect(admin.Client.Delete(ctx, runtime)).To(Succeed()) })
				expectUsable(ctx, runtime.Name)
			}
		}
	}
}

// expectUsable waits until jobs may name a new runtime. Where Kueue runs beside a spec, its webhook refuses TrainJobs of runtimes that it does
// not know, and its cache does a moment after they are there.
func expectUsable(ctx context.Context, runtime string) {
	GinkgoHelper()
	probe := job("probe-"+runtime, runtime).TrainJob()
	probe.Namespace = lifeNamespace
	Eventually(func() error { return admin.Client.Create(ctx, probe.DeepCopy(), client.DryRunAll) }).Should(Succeed())
}

func runtimesOf(text string) []*trainer.ClusterTrainingRuntime {
	GinkgoHelper()
	var runtimes []*trainer.ClusterTrainingRuntime
	for documents := yaml.NewYAMLOrJSONDecoder(strings.NewReader(text), 4096); ; {
		runtime := &trainer.ClusterTrainingRuntime{}
		err := documents.Decode(runtime)
		if errors.Is(err, io.EOF) {
			break
		}
		Expect(err).NotTo(HaveOccurred())
		if runtime.Kind == trainer.ClusterTrainingRuntimeKind {
			runtimes = append(runtimes, runtime)
		}
	}
	Expect(runtimes).NotTo(BeEmpty())
	return runtimes
}

// source is a file of this repository.
func source(path string) string {
	GinkgoHelper()
	text, err := os.ReadFile(filepath.Join("..", "..", path))
	Expect(err).NotTo(HaveOccurred())
	return string(text)
}
