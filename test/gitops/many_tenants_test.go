package gitops

import (
	"bufio"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// manyTenants is how many tenants the measurement has: `make bench-gitops TENANTS=1000` says it, other runs leave the measurement out.
var manyTenants, _ = strconv.Atoi(os.Getenv("LOCKSTEP_GITOPS_TENANTS"))

// patience is how long the measurement waits for all stages.
const patience = 25 * time.Minute

// groupSize is how many tenants share a stage in the layout that is compared with the compiled one.
const groupSize = 50

// How an engine fares with many tenants: from nothing, and after a commit that changes one of them. Each tenth tenant has a volume, and so a
// second stage.
var _ = Describe("Many tenants", func() {
	var auditLog string

	BeforeEach(func() {
		if manyTenants == 0 {
			Skip("SKIPPED: a measurement: run `make bench-gitops TENANTS=1000`")
		}
		standInsPause = 2 * time.Second // a thousand queues are not looked at ten times a second
		dir := GinkgoT().TempDir()
		auditLog = filepath.Join(dir, "log")
		Expect(os.WriteFile(filepath.Join(dir, "policy"), []byte("apiVersion: audit.k8s.io/v1\nkind: Policy\nomitStages: [RequestReceived]\nrules: [{level: Metadata}]\n"), 0o600)).To(Succeed())
		startCluster("audit-policy-file="+filepath.Join(dir, "policy"), "audit-log-path="+auditLog, "audit-log-maxsize=100000")
	})

	perTenant, perGroup := "a stage per tenant", fmt.Sprintf("a stage per %d tenants", groupSize)
	for _, c := range []struct {
		engine, layout string
		// As in a crowd; tuned is with what Flux advises for hundreds of stages.
		group, parts, tuned bool
	}{
		{engine: "Flux", layout: perTenant},
		{engine: "Flux", layout: perGroup, group: true},
		{engine: "Flux", layout: perTenant + ", tuned", tuned: true},
		{engine: "Flux", layout: perTenant + " with an artifact of its own, tuned", parts: true, tuned: true},
		{engine: "Argo CD", layout: perTenant},
		{engine: "Argo CD", layout: perGroup, group: true},
	} {
		It("of "+c.engine+", "+c.layout, func(ctx SpecContext) {
			var m *crowd
			if c.engine == "Flux" {
				m = fluxCrowd(ctx, c.tuned)
			} else {
				m = argoCrowd(ctx)
			}
			m.engine, m.layout, m.group, m.parts, m.auditLog = c.engine, c.layout, c.group, c.parts, auditLog
			m.measure(ctx)
		})
	}
})

// fluxCrowd starts Flux with its defaults, or with what it advises for hundreds of stages.
func fluxCrowd(ctx context.Context, tuned bool) *crowd {
	GinkgoHelper()
	environment := []string{"RUNTIME_NAMESPACE=flux-system"}
	flags := []string{"--feature-gates=ExternalArtifact=true", "--metrics-addr=127.0.0.1:0", "--health-addr=127.0.0.1:0"}
	if tuned { // https://fluxcd.io/flux/installation/configuration/vertical-scaling/
		dir, err := os.MkdirTemp("/dev/shm", "lockstep-")
		Expect(err).NotTo(HaveOccurred())
		DeferCleanup(os.RemoveAll, dir)
		environment = append(environment, "TMPDIR="+dir)
		flags = append(flags, "--concurrent=10", "--requeue-dependency=5s")
	}
	start("KUSTOMIZE_CONTROLLER", environment, flags...)
	Expect(admin.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "flux-system"}})).To(Succeed())
	r := newFluxSource(newRepository())
	m := &crowd{
		repository: r.repository, program: "kustomize-controller",
		list: &unstructured.UnstructuredList{Object: map[string]any{"apiVersion": "kustomize.toolkit.fluxcd.io/v1", "kind": "KustomizationList"}},
		has: func(stage map[string]any, revision string) bool {
			return text(stage, "status", "lastAppliedRevision") == revision && isReady(stage)
		},
	}
	m.deliver = func(ctx context.Context) string {
		revision, _ := r.commit(ctx)
		if m.parts {
			m.revisions = r.commitParts(ctx)
		}
		return revision
	}
	m.begin = func(ctx context.Context) string {
		applyWiring(r.repository)
		return m.deliver(ctx)
	}
	return m
}

// commitParts brings the folders of tenants to Flux as source-watcher would, each as an artifact whose revision changes with its content. It returns
// the revisions of the tenants' stages.
func (f *fluxSource) commitParts(ctx context.Context) map[string]string {
	GinkgoHelper()
	revisions := map[string]string{}
	for i := range manyTenants {
		archive := f.archive("dist/onprem/tenants/" + tenantName(i))
		revision := fmt.Sprintf("latest@sha256:%x", sha256.Sum256(archive))
		revisions["lockstep-boundary-"+tenantName(i)], revisions["lockstep-tenant-"+tenantName(i)] = revision, revision
		part := &unstructured.Unstructured{Object: map[string]any{"apiVersion": fluxSourceAPI, "kind": "ExternalArtifact"}}
		part.SetNamespace("flux-system")
		part.SetName(tenantName(i))
		if err := admin.Create(ctx, part); apierrors.IsAlreadyExists(err) {
			Expect(admin.Get(ctx, client.ObjectKeyFromObject(part), part)).To(Succeed())
		} else {
			Expect(err).NotTo(HaveOccurred())
		}
		if text(part.Object, "status", "artifact", "revision") != revision {
			f.publish(ctx, part, archive, revision)
		}
	}
	return revisions
}

func argoCrowd(ctx context.Context) *crowd {
	GinkgoHelper()
	g := newGitServer(newRepository())
	g.replace("overlays/onprem/cluster.yaml", "engine: Flux", "engine: ArgoCD")
	g.replace("overlays/onprem/cluster.yaml", "https://git.example.com/platform/mpi.git", g.url)
	startArgoCD(ctx, g.url)
	return &crowd{
		repository: g.repository, program: "argocd",
		begin:   func(context.Context) string { revision := g.push(); applyWiring(g.repository); return revision },
		deliver: func(ctx context.Context) string { revision := g.push(); refresh(ctx); return revision },
		list:    &unstructured.UnstructuredList{Object: map[string]any{"apiVersion": argoVersion, "kind": "ApplicationList"}},
		has: func(stage map[string]any, revision string) bool {
			return text(stage, "status", "sync", "revision") == revision && text(stage, "status", "sync", "status") == "Synced" && text(stage, "status", "health", "status") == "Healthy"
		},
	}
}

// crowd is an engine and its many tenants.
type crowd struct {
	engine, layout string
	*repository
	// group lets tenants share stages, parts gives each an artifact of its own.
	group, parts bool
	// program is what the engine's processes run, and begins what they call themselves to the API server.
	program, auditLog string
	// begin gives the engine its wiring and the first commit, deliver a later one; both return the revision.
	begin, deliver func(context.Context) string
	// list is of the engine's stages, and has reports whether a stage has applied a revision and works.
	list *unstructured.UnstructuredList
	// revisions are those of stages that have another one than the commit.
	revisions map[string]string
	has       func(stage map[string]any, revision string) bool
}

// Measured is what the measurement writes.
type Measured struct {
	Engine  string `json:"engine"`
	Layout  string `json:"layout"`
	Tenants int    `json:"tenants"`
	Cores   int    `json:"cores"`
	// Stages are Kustomizations or Applications.
	Stages int `json:"stages"`
	// FromNothing is from `kubectl apply` of the wiring to all stages Ready, OneTenant from a commit that changes one.
	FromNothing Spent `json:"fromNothing"`
	OneTenant   Spent `json:"oneTenant"`
	// MemoryPeak is the sum of the peaks of the engine's processes, without those that they start for a moment.
	MemoryPeak float64 `json:"memoryPeakMB"`
}

// Spent is what the engine took until every stage had a revision.
type Spent struct {
	// Tenant is until the changed tenant had it, Half until half of all stages did.
	Tenant float64 `json:"tenantSeconds,omitempty"`
	Half   float64 `json:"halfSeconds,omitempty"`
	All    float64 `json:"allSeconds"`
	// Waiting are the stages that did not have it when nobody waited any longer.
	Waiting int     `json:"waiting,omitempty"`
	CPU     float64 `json:"cpuSeconds"`
	// APIServer is the processor time of the API server and etcd, for all that is asked of them meanwhile.
	APIServer float64        `json:"apiServerCPUSeconds"`
	Requests  map[string]int `json:"requests"`
}

func (m *crowd) measure(ctx context.Context) {
	GinkgoHelper()
	m.writeTenants()
	m.compile()
	result := Measured{Engine: m.engine, Layout: m.layout, Tenants: manyTenants, Cores: runtime.NumCPU()}
	result.FromNothing = m.spend(ctx, m.begin)
	result.Stages = len(m.list.Items)
	tell("%s, %s, %d tenants, %d stages, from nothing: %+v", m.engine, m.layout, manyTenants, result.Stages, result.FromNothing)

	time.Sleep(20 * time.Second) // what it still does of its own
	m.replace("tenants/"+tenantName(manyTenants/2)+".yaml", "pods: 40", "pods: 41")
	m.compile()
	result.OneTenant = m.spend(ctx, m.deliver)
	result.MemoryPeak = memoryPeak(m.program)
	tell("one tenant changed: %+v, at most %.0f MB", result.OneTenant, result.MemoryPeak)
	record(result)
}

// spend brings a revision to the engine and waits until all stages have it.
func (m *crowd) spend(ctx context.Context, bring func(context.Context) string) Spent {
	GinkgoHelper()
	cpu, served, requests, begin := cpuSeconds(m.program), cpuSeconds(apiServer...), m.requests(), time.Now()
	revision := bring(ctx)
	tell("brought after %.1f s", time.Since(begin).Seconds())
	changed := "lockstep-boundary-" + tenantName(manyTenants/2)
	if m.group {
		changed = groupName(manyTenants / 2 / groupSize)
	}
	var spent Spent
	for spent.Waiting = m.stages(); spent.Waiting > 0 && time.Since(begin) < patience && ctx.Err() == nil; time.Sleep(time.Second) {
		if admin.List(ctx, m.list) != nil {
			continue // the API server is busy
		}
		spent.All = time.Since(begin).Seconds()
		spent.Waiting = m.stages()
		for _, stage := range m.list.Items {
			if !m.has(stage.Object, cmp.Or(m.revisions[stage.GetName()], revision)) {
				continue
			}
			spent.Waiting--
			if stage.GetName() == changed && spent.Tenant == 0 {
				spent.Tenant = spent.All
			}
		}
		if spent.Waiting*2 <= m.stages() && spent.Half == 0 {
			spent.Half = spent.All
		}
	}
	spent.CPU, spent.APIServer = cpuSeconds(m.program)-cpu, cpuSeconds(apiServer...)-served
	spent.Requests = m.requests()
	for verb, before := range requests {
		spent.Requests[verb] -= before
	}
	return spent
}

// stages is how many there are: the engine's own, the platform, the runtimes, climate's two, and those of the tenants.
func (m *crowd) stages() int {
	boundaries := manyTenants
	if m.group {
		boundaries = (manyTenants + groupSize - 1) / groupSize
	}
	return 5 + boundaries + manyTenants/10
}

func tenantName(i int) string { return fmt.Sprintf("team-%04d", i) }

func groupName(i int) string { return fmt.Sprintf("lockstep-group-%02d", i) }

// writeTenants writes tenants that each have a machine.
func (m *crowd) writeTenants() {
	GinkgoHelper()
	m.replace("overlays/onprem/cluster.yaml", "cpu-ethernet\n      nodes: 8", fmt.Sprintf("cpu-ethernet\n      nodes: %d", manyTenants+8))
	for i := range manyTenants {
		spec := strings.ReplaceAll(geology, "geology", tenantName(i))
		if i%10 == 9 {
			spec += "  storage:\n    - {name: data, size: 1Ti, storageClass: shared}\n"
		}
		m.write("tenants/"+tenantName(i)+".yaml", spec)
	}
}

// compile compiles the specs and changes the engine's objects to the layout.
func (m *crowd) compile() {
	GinkgoHelper()
	m.build()
	switch {
	case m.group:
		m.groupBoundaries()
	case m.parts:
		for i := range manyTenants {
			m.write(wiringOf(i), strings.ReplaceAll(m.read(wiringOf(i)), "kind: GitRepository\n    name: lockstep\n", "kind: ExternalArtifact\n    name: "+tenantName(i)+"\n"))
		}
	}
}

// wiringOf is the file with the engine's objects of a tenant.
func wiringOf(tenant int) string { return "dist/onprem/gitops/tenant-" + tenantName(tenant) + ".yaml" }

// groupBoundaries lets one stage apply the boundaries of many tenants, instead of one each. The stages of what tenants may write themselves stay
// apart, for the sake of their accounts.
func (m *crowd) groupBoundaries() {
	GinkgoHelper()
	wiring := "resources:\n- platform.yaml\n- tenant-climate.yaml\n"
	for first := 0; first < manyTenants; first += groupSize {
		name := groupName(first / groupSize)
		folders := "resources:\n"
		var stages []string
		for i := first; i < min(first+groupSize, manyTenants); i++ {
			folders += "- ../../tenants/" + tenantName(i) + "/boundary\n"
			boundary := "lockstep-boundary-" + tenantName(i)
			for stage := range strings.SplitSeq(m.read(wiringOf(i)), "\n---\n") {
				switch {
				case strings.HasPrefix(stage, "#"): // who wrote the file
				case !strings.Contains(stage, "\n  name: "+boundary+"\n"):
					stages = append(stages, strings.ReplaceAll(stage, boundary, name))
				case i == first:
					stage = strings.ReplaceAll(stage, boundary, name)
					stages = append(stages, strings.ReplaceAll(stage, "tenants/"+tenantName(i)+"/boundary", "groups/"+name))
				}
			}
			m.remove(wiringOf(i))
		}
		m.write("dist/onprem/groups/"+name+"/kustomization.yaml", folders)
		m.write("dist/onprem/gitops/"+name+".yaml", strings.Join(stages, "\n---\n"))
		wiring += "- " + name + ".yaml\n"
	}
	m.write("dist/onprem/gitops/kustomization.yaml", wiring)
}

func applyWiring(r *repository) {
	GinkgoHelper()
	run(filepath.Join(programs["KUBEBUILDER_ASSETS"], "kubectl"), "apply", "-k", filepath.Join(r.root, "dist/onprem/gitops"))
}

func text(o map[string]any, path ...string) string {
	value, _, _ := unstructured.NestedString(o, path...)
	return value
}

func isReady(stage map[string]any) bool {
	conditions, _, _ := unstructured.NestedSlice(stage, "status", "conditions")
	return slices.ContainsFunc(conditions, func(c any) bool {
		is, ok := c.(map[string]any)
		return ok && is["type"] == "Ready" && is["status"] == "True"
	})
}

// requests counts what the engine has asked of the API server, by verb.
func (m *crowd) requests() map[string]int {
	GinkgoHelper()
	file, err := os.Open(m.auditLog)
	Expect(err).NotTo(HaveOccurred())
	defer file.Close()
	counts := map[string]int{}
	lines := bufio.NewScanner(file)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		line := lines.Text()
		if !strings.Contains(line, `"userAgent":"`+m.program) {
			continue
		}
		_, rest, _ := strings.Cut(line, `"verb":"`)
		verb, _, _ := strings.Cut(rest, `"`)
		counts[verb]++
	}
	Expect(lines.Err()).NotTo(HaveOccurred())
	return counts
}

// apiServer are the programs of the API server.
var apiServer = []string{"kube-apiserver", "etcd"}

// processes are the files in /proc of the suite's processes that run one of some programs.
func processes(programs ...string) []fs.FS {
	GinkgoHelper()
	var found []fs.FS
	children, err := filepath.Glob("/proc/self/task/*/children")
	Expect(err).NotTo(HaveOccurred())
	for _, file := range children {
		data, err := os.ReadFile(file) //nolint:gosec // a file of the kernel
		if err != nil {
			continue // the thread has ended
		}
		for pid := range strings.FieldsSeq(string(data)) {
			program, _ := os.Readlink("/proc/" + pid + "/exe")
			if slices.Contains(programs, filepath.Base(program)) {
				found = append(found, os.DirFS("/proc/"+pid))
			}
		}
	}
	Expect(found).NotTo(BeEmpty())
	return found
}

// cpuSeconds is what processes took, with those that they started and that have ended (proc_pid_stat).
func cpuSeconds(programs ...string) float64 {
	GinkgoHelper()
	var hundredths int
	for _, process := range processes(programs...) {
		data, err := fs.ReadFile(process, "stat")
		Expect(err).NotTo(HaveOccurred())
		_, rest, _ := strings.Cut(string(data), ") ")
		for _, field := range strings.Fields(rest)[11:15] {
			n, _ := strconv.Atoi(field)
			hundredths += n
		}
	}
	return float64(hundredths) / 100
}

// memoryPeak is the sum of the most that each process had, in MB.
func memoryPeak(program string) float64 {
	GinkgoHelper()
	var sum float64
	for _, process := range processes(program) {
		data, err := fs.ReadFile(process, "status")
		Expect(err).NotTo(HaveOccurred())
		_, rest, _ := strings.Cut(string(data), "VmHWM:")
		kib, _ := strconv.ParseFloat(strings.Fields(rest)[0], 64)
		sum += kib / 1024
	}
	return sum
}

var measured []Measured

// record writes what was measured so far into the file that OUT names.
func record(result Measured) {
	GinkgoHelper()
	measured = append(measured, result)
	if out := os.Getenv("OUT"); out != "" {
		data, err := json.MarshalIndent(measured, "", "  ")
		Expect(err).NotTo(HaveOccurred())
		Expect(os.WriteFile(out, append(data, '\n'), 0o600)).To(Succeed())
	}
}
