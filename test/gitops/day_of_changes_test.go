package gitops

import (
	"context"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing/fstest"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"lockstep.dev/lockstep/pkg/compile"
	"lockstep.dev/lockstep/pkg/compile/patch/chart/helm"
	"lockstep.dev/lockstep/pkg/compile/review"
	"lockstep.dev/lockstep/test/gitops/claims"
)

// engine is what the day of changes asks of a GitOps engine.
type engine struct {
	name string
	*repository
	// deliver brings what is compiled to the engine and returns the revision.
	deliver func(context.Context) string
	// applies waits until a stage has applied a revision, refuses until it says why it did not.
	applies func(ctx context.Context, stage, revision string)
	refuses func(ctx context.Context, stage, revision, words string)
	// pause holds up a stage until the function that it returns is called.
	pause func(ctx context.Context, stage string) func()
}

// changeOfDay is a change of the specs. A stage may refuse it, with some words.
type changeOfDay struct {
	what          string
	edit          func(*repository)
	stage, refuse string
	// job is a namespace in which somebody starts a job afterwards.
	job string
}

var changesOfDay = []changeOfDay{
	{what: "a quota changed", edit: func(r *repository) { r.replace("tenants/geology.yaml", "pods: 34", "pods: 33") }},
	{what: "a tenant added", edit: func(r *repository) { r.write("tenants/botany.yaml", strings.ReplaceAll(geology, "geology", "botany")) }, job: "botany"},
	{what: "a namespace renamed", edit: func(r *repository) {
		r.replace("tenants/botany.yaml", "namespaces: [botany]", "namespaces: [herbarium]")
	}, job: "herbarium"},
	{what: "a runtime retired while a job uses it", edit: func(r *repository) {
		r.remove("catalog/runtimes/mpich-cpu.yaml")
		r.replace("tenants/climate.yaml", ", mpich-cpu]", "]")
	}},
	{what: "the bundle upgraded", edit: func(r *repository) {
		r.replace("overlays/onprem/cluster.yaml", "mpi-agent:v0.1.0", "mpi-agent:v0.2.0")
		r.replace("overlays/onprem/cluster.yaml", "tag: v0.1.0", "tag: v0.2.0")
	}},
	{what: "a volume of another class, which the API server refuses", edit: func(r *repository) {
		r.replace("tenants/climate.yaml", "storageClass: shared", "storageClass: fast")
	}, stage: "lockstep-tenant-climate", refuse: "immutable"},
	{what: "that taken back", edit: func(r *repository) {
		r.replace("tenants/climate.yaml", "storageClass: fast", "storageClass: shared")
	}},
	{what: "a namespace with a volume renamed", edit: func(r *repository) {
		r.replace("tenants/climate.yaml", "namespaces: [climate]", "namespaces: [weather]")
	}, job: "weather"},
	{what: "a tenant removed", edit: func(r *repository) { r.remove("tenants/botany.yaml") }},
	{what: "a tenant renamed, whose namespace stays", edit: func(r *repository) {
		r.remove("tenants/geology.yaml")
		r.write("tenants/geophysics.yaml", strings.Replace(geology, "name: geology", "name: geophysics", 1))
	}},
	{what: "a tenant with a volume removed", edit: func(r *repository) { r.remove("tenants/climate.yaml") }},
}

// dayOfChanges declares the specs that hold what `diff` says of changes against what an engine makes of them.
func dayOfChanges(of func() *engine) {
	Describe("a day of changes", Ordered, func() {
		var d *day

		BeforeAll(func(ctx SpecContext) {
			d = &day{engine: of(), compiled: map[string]bool{}, kinds: map[schema.GroupVersionKind]bool{jobKind: true}}
			d.remove("tenants/other.yaml") // of the spec before
			d.write("tenants/geology.yaml", geology)
			climate, err := os.ReadFile("../../tenants/climate.yaml")
			Expect(err).NotTo(HaveOccurred())
			d.write("tenants/climate.yaml", string(climate))
			d.build()
			d.arrives(ctx, "", "")
			d.startJob(ctx, "geology", "openmpi5-cpu")
			d.startJob(ctx, "climate", "mpich-cpu")
			d.specs = d.readSpecs()
		})

		It("does what diff says: a quota changed beside a broken runtime", func(ctx SpecContext) {
			d.replace("tenants/geology.yaml", "pods: 40", "pods: 34")
			d.build()
			d.replace("dist/onprem/runtimes/runtimes.yaml", "kind: ClusterTrainingRuntime", "kind: ClusterTrainingRuntime\nunknown: field")
			d.holds(ctx, "a quota changed beside a broken runtime", d.diff, func() { d.arrives(ctx, "lockstep-runtimes", "unknown") })
		})

		It("reverts a policy deleted and a quota changed by hand", func(ctx SpecContext) {
			d.build()
			d.arrives(ctx, "", "")
			goOn := d.pause(ctx, "lockstep-boundary-geology")
			Expect(admin.Delete(ctx, get(ctx, "networking.k8s.io/v1", "NetworkPolicy", "geology", "lockstep-default-deny"))).To(Succeed())
			quota := get(ctx, "v1", "ResourceQuota", "geology", "lockstep-quota")
			compiled, _, _ := unstructured.NestedString(quota.Object, "spec", "hard", "pods")
			Expect(unstructured.SetNestedField(quota.Object, "77", "spec", "hard", "pods")).To(Succeed())
			Expect(admin.Update(ctx, quota)).To(Succeed())
			goOn()
			Eventually(found).WithContext(ctx).WithArguments("networking.k8s.io/v1", "NetworkPolicy", "geology", "lockstep-default-deny").Should(BeTrue())
			d.rests(ctx)
			pods, _, _ := unstructured.NestedString(get(ctx, "v1", "ResourceQuota", "geology", "lockstep-quota").Object, "spec", "hard", "pods")
			Expect(pods).To(Equal(compiled))
		})

		for _, c := range changesOfDay {
			It("does what diff says: "+c.what, func(ctx SpecContext) {
				c.edit(d.repository)
				d.build()
				d.holds(ctx, c.what, d.diff, func() { d.arrives(ctx, c.stage, c.refuse) })
				if c.job != "" {
					d.startJob(ctx, c.job, "openmpi5-cpu")
				}
			})
		}
	})
}

// day is a cluster, an engine and its repository during a day.
type day struct {
	*engine
	// specs are those that the cluster has.
	specs fs.FS
	// compiled are the objects that were compiled on this day, kinds those of them.
	compiled map[string]bool
	kinds    map[schema.GroupVersionKind]bool
}

var jobKind = schema.GroupVersionKind{Group: "trainer.kubeflow.org", Version: "v1alpha1", Kind: "TrainJob"}

// claimed are the rows of the proof.
var claimed []string

var _ = AfterSuite(func() {
	if len(claimed) > 0 {
		table := "| change | engine | said of objects | happened to objects | said of jobs | happened to jobs | wrong |\n|---|---|---|---|---|---|---|\n" + strings.Join(claimed, "\n") + "\n"
		Expect(os.WriteFile("../../build/test/gitops-claims.md", []byte(table), 0o600)).To(Succeed())
	}
})

// holds holds what is said of a change against what happens.
func (d *day) holds(ctx context.Context, what string, say func(claims.Objects) claims.Fates, happen func()) {
	GinkgoHelper()
	d.noteCompiled()
	before := d.seen(ctx)
	said := say(before)
	happen()
	facts := claims.Facts(before, d.seen(ctx))
	wrong := claims.Wrong(said, facts)
	saidOfJobs, jobs := jobsOf(said), jobsOf(facts)
	row := fmt.Sprintf("| %s | %s | %s | %s | %s | %s | %d |", what, d.name, said, facts, saidOfJobs, jobs, len(wrong))
	tell("%s", row)
	claimed = append(claimed, row)
	d.specs = d.readSpecs()
	Expect(wrong).To(BeEmpty())
}

// jobsOf takes the jobs out of fates.
func jobsOf(all claims.Fates) claims.Fates {
	jobs := maps.Clone(all)
	isJob := func(id string, _ claims.Fate) bool { return strings.HasPrefix(id, jobKind.Kind+".") }
	maps.DeleteFunc(jobs, func(id string, fate claims.Fate) bool { return !isJob(id, fate) })
	maps.DeleteFunc(all, isJob)
	return jobs
}

// diff is what `runtime-compiler diff` says of the specs in the folder, of each object.
func (d *day) diff(before claims.Objects) claims.Fates {
	GinkgoHelper()
	options := review.Options{Compile: compile.Options{Today: time.Now().UTC().Format(time.DateOnly), Charts: helm.Renderer{}}, KeepAll: true}
	result, err := review.Compare(d.specs, d.readSpecs(), options)
	Expect(err).NotTo(HaveOccurred())
	Expect(result.Compared()).To(BeTrue())
	return claims.Said(&result.Report, before)
}

// arrives brings what is compiled to the engine and waits until it rests. One stage may refuse it.
func (d *day) arrives(ctx context.Context, refusing, words string) {
	GinkgoHelper()
	stages := d.noteCompiled()
	revision := d.deliver(ctx)
	for _, stage := range stages {
		if stage == refusing {
			d.refuses(ctx, stage, revision, words)
		} else {
			d.applies(ctx, stage, revision)
		}
	}
	d.rests(ctx)
}

// noteCompiled notes which objects are compiled, and returns the names of the stages among them.
func (d *day) noteCompiled() []string {
	GinkgoHelper()
	var stages []string
	Expect(filepath.WalkDir(filepath.Join(d.root, "dist/onprem"), func(path string, entry fs.DirEntry, err error) error {
		if err != nil || filepath.Ext(path) != ".yaml" || entry.Name() == "kustomization.yaml" {
			return err
		}
		data, err := os.ReadFile(path) //nolint:gosec // a folder of the test
		if err != nil {
			return err
		}
		for document := range strings.SplitSeq("\n"+string(data), "\n---\n") {
			o := &unstructured.Unstructured{}
			if err := yaml.Unmarshal([]byte(document), &o.Object); err != nil {
				return fmt.Errorf("read %s: %w", path, err)
			}
			if o.GetKind() == "" {
				continue
			}
			id, _ := claims.Seen(o)
			d.compiled[id], d.kinds[o.GroupVersionKind()] = true, true
			if kind := o.GetKind(); kind == "Kustomization" || kind == "Application" {
				stages = append(stages, o.GetName())
			}
		}
		return nil
	})).To(Succeed())
	return stages
}

// seen are the jobs and the objects that were compiled on this day, as they are on the cluster.
func (d *day) seen(ctx context.Context) claims.Objects {
	GinkgoHelper()
	objects := claims.Objects{}
	d.each(ctx, func(o *unstructured.Unstructured) {
		id, own := claims.Seen(o)
		objects[id] = own
	})
	return objects
}

func (d *day) each(ctx context.Context, visit func(*unstructured.Unstructured)) {
	GinkgoHelper()
	for kind := range d.kinds {
		list := &unstructured.UnstructuredList{}
		list.SetGroupVersionKind(kind)
		Expect(admin.List(ctx, list)).To(Succeed())
		for i := range list.Items {
			if id, own := claims.Seen(&list.Items[i]); own.Job || d.compiled[id] {
				visit(&list.Items[i])
			}
		}
	}
}

// quiet is for how long nothing changes on a cluster whose engine rests: longer than the pauses between what an engine does.
const quiet = 4 * time.Second

// rests waits until nothing changes any more, and nothing is being deleted.
func (d *day) rests(ctx context.Context) {
	GinkgoHelper()
	var before claims.Objects
	since := time.Now()
	Eventually(func() []string {
		var going []string
		d.each(ctx, func(o *unstructured.Unstructured) {
			if o.GetDeletionTimestamp() != nil {
				id, _ := claims.Seen(o)
				going = append(going, id+" is being deleted")
			}
		})
		now := d.seen(ctx)
		if !maps.Equal(now, before) {
			before, since = now, time.Now()
		}
		if time.Since(since) < quiet {
			going = append(going, "objects change")
		}
		return going
	}).WithContext(ctx).WithPolling(500 * time.Millisecond).Should(BeEmpty())
}

// readSpecs are the specs of the folder as they are now.
func (d *day) readSpecs() fs.FS {
	GinkgoHelper()
	specs := fstest.MapFS{}
	for _, part := range []string{"catalog", "charts", "overlays", "tenants"} {
		Expect(fs.WalkDir(os.DirFS(d.root), part, func(path string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() {
				return err
			}
			data, err := os.ReadFile(filepath.Join(d.root, path))
			specs[path] = &fstest.MapFile{Data: data, Mode: 0o644}
			return err
		})).To(Succeed())
	}
	return specs
}

// startJob starts a job that nobody runs: what becomes of it is what becomes of the object.
func (d *day) startJob(ctx context.Context, namespace, runtime string) {
	GinkgoHelper()
	job := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{
		"runtimeRef": map[string]any{"name": runtime}, "trainer": map[string]any{"numNodes": int64(1), "command": []any{"mpirun", "true"}},
	}}}
	job.SetGroupVersionKind(jobKind)
	job.SetNamespace(namespace)
	job.SetName("running")
	job.SetLabels(map[string]string{"kueue.x-k8s.io/queue-name": "lockstep"})
	Expect(client.IgnoreAlreadyExists(admin.Create(ctx, job))).To(Succeed())
}
