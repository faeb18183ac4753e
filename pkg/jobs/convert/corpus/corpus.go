// Package corpus has the MPIJobs on which conversion is tested: a plain one, and what people add to it, one change per case. It is for
// tests only.
package corpus

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/fstest"

	"golang.org/x/tools/txtar"
	"sigs.k8s.io/yaml"
)

// Base is a plain MPIJob.
const Base = `apiVersion: kubeflow.org/v2beta1
kind: MPIJob
metadata:
  name: train
  namespace: vision
spec:
  slotsPerWorker: 2
  mpiReplicaSpecs:
    Launcher:
      replicas: 1
      template:
        spec:
          containers:
          - name: launcher
            image: example.org/solver:1
            command: [mpirun, -n, "4", solve]
    Worker:
      replicas: 2
      template:
        spec:
          containers:
          - name: worker
            image: example.org/solver:1
            resources:
              limits:
                cpu: 2
                memory: 1Gi
`

// LoadRepository returns the specs in testdata/repository.txtar below a folder: a cluster that queues, with machines with and without
// accelerators, and two tenants.
func LoadRepository(tb testing.TB, folder string) fstest.MapFS {
	tb.Helper()
	archive, err := txtar.ParseFile(filepath.Join(folder, "repository.txtar"))
	if err != nil {
		tb.Fatal(err)
	}
	root := fstest.MapFS{}
	for _, f := range archive.Files {
		root[f.Name] = &fstest.MapFile{Data: f.Data}
	}
	return root
}

// LoadMutations returns the MPIJobs of all cases below a folder, by name.
func LoadMutations(tb testing.TB, folder string) map[string]string {
	tb.Helper()
	files, err := filepath.Glob(filepath.Join(folder, "mutations", "*.txtar"))
	if err != nil || len(files) == 0 {
		tb.Fatalf("no cases below %s (error: %v)", folder, err)
	}
	jobs := map[string]string{}
	for _, file := range files {
		archive, err := txtar.ParseFile(file)
		if err != nil {
			tb.Fatal(err)
		}
		change := slices.IndexFunc(archive.Files, func(f txtar.File) bool { return f.Name == "change.yaml" })
		if change < 0 {
			tb.Fatalf("%s has no change.yaml", file)
		}
		jobs[strings.TrimSuffix(filepath.Base(file), ".txtar")] = ChangedMPIJob(tb, string(archive.Files[change].Data))
	}
	return jobs
}

// The short names of the pods of a change, and of their first containers.
var short = strings.NewReplacer(
	"LC.", "spec.mpiReplicaSpecs.Launcher.template.spec.containers[0].", "WC.", "spec.mpiReplicaSpecs.Worker.template.spec.containers[0].",
	"L.", "spec.mpiReplicaSpecs.Launcher.template.spec.", "W.", "spec.mpiReplicaSpecs.Worker.template.spec.",
)

// ChangedMPIJob returns the plain MPIJob with a change: a mapping of paths to values, null for what is taken away.
func ChangedMPIJob(tb testing.TB, change string) string {
	tb.Helper()
	var job any
	var paths map[string]any
	if err := yaml.Unmarshal([]byte(Base), &job); err != nil {
		tb.Fatal(err)
	}
	if err := yaml.Unmarshal([]byte(change), &paths); err != nil {
		tb.Fatalf("%v in\n%s", err, change)
	}
	for path, value := range paths {
		for _, prefix := range []string{"LC.", "WC.", "L.", "W."} {
			if strings.HasPrefix(path, prefix) {
				path = short.Replace(prefix) + strings.TrimPrefix(path, prefix)
				break
			}
		}
		job = putAtPath(job, steps.FindAllString(path, -1), value)
	}
	text, err := yaml.Marshal(job)
	if err != nil {
		tb.Fatal(err)
	}
	return string(text)
}

var steps = regexp.MustCompile(`[^.\[\]]+`)

func putAtPath(into any, path []string, value any) any {
	if len(path) == 0 {
		return value
	}
	if i, err := strconv.Atoi(path[0]); err == nil {
		items, _ := into.([]any)
		for len(items) <= i {
			items = append(items, map[string]any{})
		}
		items[i] = putAtPath(items[i], path[1:], value)
		return items
	}
	entries, ok := into.(map[string]any)
	if !ok {
		entries = map[string]any{}
	}
	if value == nil && len(path) == 1 {
		delete(entries, path[0])
		return entries
	}
	entries[path[0]] = putAtPath(entries[path[0]], path[1:], value)
	return entries
}

// LoadExamples returns mpi-operator's own examples by path, below the folder `examples` of its module.
func LoadExamples(tb testing.TB) map[string]string {
	tb.Helper()
	dir := ModuleFolder(tb)
	files, err := filepath.Glob(filepath.Join(dir, "examples", "*", "*", "*.yaml"))
	if err != nil || len(files) == 0 {
		tb.Fatalf("no examples in %s (error: %v)", dir, err)
	}
	examples := map[string]string{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			tb.Fatal(err)
		}
		name, err := filepath.Rel(filepath.Join(dir, "examples"), file)
		if err != nil {
			tb.Fatal(err)
		}
		examples[filepath.ToSlash(name)] = string(text)
	}
	return examples
}
