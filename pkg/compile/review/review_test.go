package review_test

import (
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"lockstep.dev/lockstep/pkg/compile"
	"lockstep.dev/lockstep/pkg/compile/diag"
	"lockstep.dev/lockstep/pkg/compile/proof/isolation"
	"lockstep.dev/lockstep/pkg/compile/review"
	"lockstep.dev/lockstep/pkg/compile/schema"
	"lockstep.dev/lockstep/pkg/compile/semdiff/group"
	"lockstep.dev/lockstep/pkg/compile/semdiff/rule"
	"lockstep.dev/lockstep/pkg/mpi"
)

var repository = fstest.MapFS{
	"overlays/lab/cluster.yaml": file(`apiVersion: lockstep.dev/v1alpha1
kind: Cluster
metadata:
  name: lab
spec:
  platform: Kubernetes
  version: "1.36"
  network:
    ranges: [10.128.0.0/14, 172.30.0.0/16]
  agent:
    image: example.org/agent:1
`),
	"catalog/all.yaml": file(`apiVersion: lockstep.dev/v1alpha1
kind: HardwareProfile
metadata:
  name: cpu
spec:
  fabric:
    type: Ethernet
  node:
    cpu: 32
    memory: 128Gi
---
apiVersion: lockstep.dev/v1alpha1
kind: MPIRuntime
metadata:
  name: small
spec:
  description: Open MPI without accelerators.
  mpi:
    implementation: OpenMPI
    version: "5.0.7"
  image: example.org/mpi/small:5
  profile: cpu
  slotsPerNode: 2
  nodes:
    default: 1
    min: 1
    max: 8
  resourcesPerNode:
    cpu: 2
    memory: 4Gi
`),
	"tenants/vision.yaml": file(`apiVersion: lockstep.dev/v1alpha1
kind: Tenant
metadata:
  name: vision
spec:
  displayName: Computer vision
  people:
    editors: [vision-editors]
  namespaces: [vision]
  clusters: [lab]
  runtimes: [small]
  quota:
    cpu: 400
    memory: 3Ti
    pods: 20
    jobs: 10
`),
}

// hole is a patch that opens more than the specs declare, which the proofs refuse.
var hole = fstest.MapFS{
	"overlays/lab/kustomization.yaml": file(`apiVersion: kustomize.config.k8s.io/v1beta1
kind: Kustomization
patches:
  - target: {kind: NetworkPolicy, name: lockstep-default-deny, namespace: vision}
    patch: |
      - {op: add, path: /spec/egress, value: [{}]}
`),
}

func file(text string) *fstest.MapFile { return &fstest.MapFile{Data: []byte(text)} }

func with(base, change fstest.MapFS) fstest.MapFS {
	all := maps.Clone(base)
	maps.Copy(all, change)
	return all
}

func reviewed(t *testing.T, after fstest.MapFS) review.Result {
	t.Helper()
	if !schema.Available() {
		t.Skip("SKIPPED: this build has no schemas: run `make schemas`")
	}
	result, err := review.Compare(repository, after, review.Options{Compile: compile.Options{Today: "2026-11-21"}})
	if err != nil {
		t.Fatal(err)
	}
	return result
}

// TestProven: a report has the facts and findings of proofs, and a state that the proofs refuse is compared.
func TestProven(t *testing.T) {
	r := reviewed(t, with(repository, hole))
	if !r.Compared() || len(r.Entries) == 0 {
		t.Fatalf("compared %t, %d entries", r.Compared(), len(r.Entries))
	}
	facts := r.Clusters[0].After
	if facts == nil || len(facts.Reach.Of) != 1 || facts.Reach.Of[0].Tenant != "vision" ||
		strings.Join(facts.Ranges, " ") != "10.128.0.0/14 172.30.0.0/16" {
		t.Errorf("facts: %+v", facts)
	}
	if r.After.Errors() == 0 || !strings.HasPrefix(r.Verdict, "check refuses it with ") ||
		!strings.Contains(r.Verdict, "reach the internet and all namespaces") {
		t.Errorf("%d errors: %s", r.After.Errors(), r.Verdict)
	}
}

// TestTenantLeft: where nobody deletes what a tenant had, its traffic and its quota are drawn as they stay.
func TestTenantLeft(t *testing.T) {
	before := with(repository, fstest.MapFS{"tenants/speech.yaml": file(strings.ReplaceAll(string(repository["tenants/vision.yaml"].Data), "vision", "speech"))})
	after := maps.Clone(before)
	delete(after, "tenants/vision.yaml")
	r, err := review.Compare(before, after, review.Options{Compile: compile.Options{Today: "2026-11-21"}})
	if err != nil || !r.Compared() {
		t.Fatal(err)
	}
	facts := r.Clusters[0].After
	if !slices.ContainsFunc(facts.Reach.Of, func(own isolation.Reach) bool { return own.Namespace == "vision" && len(own.Egress) > 0 }) {
		t.Errorf("the traffic of the namespace that stays is not drawn: %+v", facts.Reach.Of)
	}
	for _, q := range r.Clusters[0].Quotas {
		if q.Holder == "namespace vision" && q.Before != q.After {
			t.Errorf("a quota that stays is drawn as %+v", q)
		}
	}
}

// TestBorrowers: who can no longer borrow is named though nothing of it differs.
func TestBorrowers(t *testing.T) {
	before := with(repository, fstest.MapFS{"overlays/lab/cluster.yaml": file(string(repository["overlays/lab/cluster.yaml"].Data) + `  capacity: [{profile: cpu, nodes: 12}]
  queueing: {apiVersion: v1beta2, cohorts: [{name: research, shares: [{profile: cpu, nodes: 1}]}]}
  priorities: [{name: research, value: 1000, default: true}]
`)})
	for _, name := range []string{"vision", "speech", "audio"} {
		before["tenants/"+name+".yaml"] = file(strings.ReplaceAll(string(repository["tenants/vision.yaml"].Data), "vision", name) +
			"  queue: {cohort: research, shares: [{profile: cpu, nodes: 2}]}\n")
	}
	after := with(before, fstest.MapFS{"tenants/speech.yaml": file(strings.Replace(string(before["tenants/speech.yaml"].Data), "cohort: research, ", "", 1))})
	r, err := review.Compare(before, after, review.Options{Compile: compile.Options{Today: "2026-11-21"}})
	if err != nil || !r.Compared() {
		t.Fatal(err, r.Before.Sorted())
	}
	for _, e := range r.Entries {
		if strings.Contains(e.Samples[0].Detail, "which audio, vision can no longer borrow") {
			return
		}
	}
	t.Errorf("no entry names those who can no longer borrow: %s", r.Verdict)
}

// waiving is a waiver of the tenant: nothing that is compiled depends on it.
const waiving = `  waivers:
    - code: LS7008
      reason: The quota is raised in spring.
      expires: "2027-03-31"
`

// denied is a patch that takes away the policy that closes the namespace of a tenant, as check refuses it.
var denied = fstest.MapFS{
	"overlays/lab/kustomization.yaml": file(`apiVersion: kustomize.config.k8s.io/v1beta1
kind: Kustomization
patches:
  - target: {kind: NetworkPolicy, name: lockstep-default-deny, namespace: vision}
    patch: |-
      $patch: delete
      apiVersion: networking.k8s.io/v1
      kind: NetworkPolicy
      metadata: {name: lockstep-default-deny, namespace: vision}
`),
}

// TestPatchTakesDenial: nothing deletes the policy on the cluster, and nobody compiles it any more: it is critical, at the line of the patch.
func TestPatchTakesDenial(t *testing.T) {
	r := reviewed(t, with(repository, denied))
	if len(r.Entries) == 0 || r.Worst() != rule.Critical {
		t.Fatalf("the policy goes, and nothing of it is critical: %s", r.Verdict)
	}
	e := &r.Entries[0]
	if e.Consequence != rule.OpensNetwork || e.After.Path() != "overlays/lab/kustomization.yaml" || e.After.Line == 0 {
		t.Errorf("%s %s at %s, want %s at the patch", e.Severity, e.Consequence, e.After, rule.OpensNetwork)
	}
	if !strings.Contains(r.Verdict, "vision has no compiled policy against") {
		t.Errorf("the verdict does not name what goes: %s", r.Verdict)
	}
}

// TestRanges: that a tenant reaches the pods of the cluster by address is known from its spec.
func TestRanges(t *testing.T) {
	open := func(cidr string) fstest.MapFS {
		vision := string(repository["tenants/vision.yaml"].Data) + "  network:\n    egress:\n      - cidr: " + cidr + "\n"
		return with(repository, fstest.MapFS{"tenants/vision.yaml": file(vision)})
	}
	for cidr, want := range map[string]rule.Severity{"10.129.0.0/16": rule.Critical, "10.40.0.0/16": rule.Warning} {
		if r := reviewed(t, open(cidr)); r.Worst() != want {
			t.Errorf("egress to %s is %s, want %s: %s", cidr, r.Worst(), want, r.Verdict)
		}
	}
}

// TestWaivers: a report has what specs accept, also if nothing else changes.
func TestWaivers(t *testing.T) {
	tenant := string(repository["tenants/vision.yaml"].Data)
	with1 := with(repository, fstest.MapFS{"tenants/vision.yaml": file(tenant + waiving)})
	part := reviewed(t, with1)
	if len(part.Findings.Waivers) != 1 || part.Findings.Waivers[0].How != group.WaiverAdded || part.Findings.Waivers[0].Owner != "tenant vision" || part.Findings.Waivers[0].At.Line == 0 {
		t.Fatalf("waivers: %+v", part.Findings.Waivers)
	}
	if !part.Compared() || len(part.Entries) != 0 || !strings.HasSuffix(part.Verdict, " Waivers: 1 added.") {
		t.Errorf("compared %t, %d entries: %s", part.Compared(), len(part.Entries), part.Verdict)
	}
	expired := with(repository, fstest.MapFS{"tenants/vision.yaml": file(tenant + strings.Replace(waiving, "2027", "2026", 1))})
	if r := reviewed(t, expired); r.After.Errors() != 1 || len(r.Findings.Waivers) != 1 || r.Findings.Waivers[0].How != group.WaiverExpired {
		t.Errorf("%d errors, waivers: %+v", r.After.Errors(), r.Findings.Waivers)
	}
}

// TestRunOut: a state before whose waiver has expired since can be compared, so that the change which renews it can be reviewed.
func TestRunOut(t *testing.T) {
	if !schema.Available() {
		t.Skip("SKIPPED: this build has no schemas: run `make schemas`")
	}
	tenant := string(repository["tenants/vision.yaml"].Data)
	expired := with(repository, fstest.MapFS{"tenants/vision.yaml": file(tenant + strings.Replace(waiving, "2027", "2026", 1))})
	renewed := with(repository, fstest.MapFS{"tenants/vision.yaml": file(tenant + waiving)})
	r, err := review.Compare(expired, renewed, review.Options{Compile: compile.Options{Today: "2026-11-21"}})
	if err != nil || !r.Compared() || len(r.Findings.Waivers) != 1 || r.Findings.Waivers[0].How != group.WaiverExtended {
		t.Errorf("%v, compared %t, waivers: %+v", err, r.Compared(), r.Findings.Waivers)
	}
}

// TestBroken: where a side does not compile nothing is compared.
func TestBroken(t *testing.T) {
	r := reviewed(t, with(repository, fstest.MapFS{"tenants/vision.yaml": file("kind: Tenant\n")}))
	if r.Compared() || len(r.Entries) > 0 || r.Findings.Errors == 0 || !strings.HasPrefix(r.Verdict, "The specs do not compile: ") {
		t.Errorf("compared %t, %d entries, %d errors: %s", r.Compared(), len(r.Entries), r.Findings.Errors, r.Verdict)
	}
	if len(r.Findings.New) == 0 || r.Findings.New[0].Severity != diag.Error {
		t.Errorf("findings: %v", r.Findings.New)
	}
}

// TestFirstSpecs: the pull request that brings the first specs, or the first cluster of a name, is compared with nothing. One that is asked
// about a cluster that neither side has is not.
func TestFirstSpecs(t *testing.T) {
	if !schema.Available() {
		t.Skip("SKIPPED: this build has no schemas: run `make schemas`")
	}
	catalog := fstest.MapFS{"catalog/all.yaml": repository["catalog/all.yaml"]}
	for name, c := range map[string]struct {
		before  fstest.MapFS
		cluster string
		want    bool
	}{
		"An empty repository":            {fstest.MapFS{"README.md": file("hello")}, "", true},
		"A catalogue without a cluster":  {catalog, "", true},
		"The first cluster of this name": {catalog, "lab", true},
		"A name that nobody has":         {repository, "labb", false},
	} {
		r, err := review.Compare(c.before, repository, review.Options{Compile: compile.Options{Today: "2026-11-21", Cluster: c.cluster}})
		if err != nil || r.Compared() != c.want {
			t.Fatalf("%s: compared %t, %v: %s", name, r.Compared(), err, r.Verdict)
		}
		isNew := slices.ContainsFunc(r.Entries, func(e group.Entry) bool { return strings.Contains(e.Title, "a cluster is new") })
		if isNew != c.want {
			t.Errorf("%s: that the cluster is new is told: %t; %s", name, isNew, r.Verdict)
		}
	}
}

// TestSecret: a state with a secret in a spec is not compared, because a report shows what differs.
func TestSecret(t *testing.T) {
	runtime := strings.Replace(string(repository["catalog/all.yaml"].Data), "  profile: cpu\n", "  profile: cpu\n  env: [{name: AWS_SECRET_ACCESS_KEY, value: not-really-one}]\n", 1)
	if r := reviewed(t, with(repository, fstest.MapFS{"catalog/all.yaml": file(runtime)})); r.Compared() || r.After.Errors() == 0 || len(r.Entries) > 0 {
		t.Errorf("compared %t, %d errors, entries: %+v", r.Compared(), r.After.Errors(), r.Entries)
	}
}

// weakened is a patch that takes from what the cluster enforces, which takes a waiver of the cluster.
var weakened = fstest.MapFS{
	"overlays/lab/kustomization.yaml": file(`apiVersion: kustomize.config.k8s.io/v1beta1
kind: Kustomization
patches:
  - target: {kind: ValidatingAdmissionPolicyBinding, name: lockstep-trainjob}
    patch: |
      - {op: replace, path: /spec/validationActions, value: [Warn]}
`),
}

const accepting = `  waivers:
    - code: LS7013
      about: lockstep-trainjob
      reason: The lab tries it first.
      expires: "2027-03-31"
`

// TestAcceptedEnforcement: what check accepts by a waiver of the cluster is compared, on both sides, and is critical; without the waiver
// it is compared, too, and told to be refused.
func TestAcceptedEnforcement(t *testing.T) {
	cluster := string(repository["overlays/lab/cluster.yaml"].Data)
	accepted := with(with(repository, weakened), fstest.MapFS{"overlays/lab/cluster.yaml": file(cluster + accepting)})
	r := reviewed(t, accepted)
	if !r.Compared() || len(r.Entries) == 0 || r.Entries[0].Severity != rule.Critical || len(r.Entries[0].Waived) != 1 || r.Entries[0].Waived[0].Code != string(diag.EnforcementWeakened) {
		t.Errorf("compared %t, entries: %+v", r.Compared(), r.Entries)
	}
	r = reviewed(t, with(repository, weakened))
	if !r.Compared() || r.After.Errors() == 0 || len(r.Entries) == 0 || r.Entries[0].Severity != rule.Critical || !strings.HasPrefix(r.Verdict, "check refuses it with 1 error; ") {
		t.Errorf("without a waiver: compared %t, %d errors, entries: %+v: %s", r.Compared(), r.After.Errors(), r.Entries, r.Verdict)
	}
	later := with(accepted, fstest.MapFS{"tenants/vision.yaml": file(strings.Replace(string(repository["tenants/vision.yaml"].Data), "pods: 20", "pods: 21", 1))})
	r, err := review.Compare(accepted, later, review.Options{Compile: compile.Options{Today: "2026-11-21"}})
	if err != nil || !r.Compared() || len(r.Entries) != 1 {
		t.Errorf("both sides accept it: %v, compared %t, entries: %+v", err, r.Compared(), r.Entries)
	}
}

// TestSpecsOnly: a line that becomes no object is told, with its place; a comment is not.
func TestSpecsOnly(t *testing.T) {
	cluster := string(repository["overlays/lab/cluster.yaml"].Data)
	wider := with(repository, fstest.MapFS{"overlays/lab/cluster.yaml": file(strings.Replace(cluster, ", 172.30.0.0/16", ", 172.30.0.0/16, 172.31.0.0/16", 1))})
	r := reviewed(t, wider)
	if len(r.Entries) != 1 || r.Entries[0].Consequence != rule.SpecsOnly || r.Entries[0].After.Line != 9 || !strings.Contains(r.Entries[0].Samples[0].Detail, "172.31.0.0/16") {
		t.Errorf("entries: %+v", r.Entries)
	}
	commented := with(repository, fstest.MapFS{"overlays/lab/cluster.yaml": file(strings.Replace(cluster, "spec:\n", "spec:\n  # a remark\n", 1))})
	if r := reviewed(t, commented); len(r.Entries) != 0 || !strings.HasPrefix(r.Verdict, "Nothing changes: ") {
		t.Errorf("a comment: %s, entries: %+v", r.Verdict, r.Entries)
	}
}

// TestSpecsOfOneCluster: who compares one cluster is not told what specs say about others.
func TestSpecsOfOneCluster(t *testing.T) {
	if !schema.Available() {
		t.Skip("SKIPPED: this build has no schemas: run `make schemas`")
	}
	cluster := strings.Replace(string(repository["overlays/lab/cluster.yaml"].Data), "name: lab", "name: edge", 1)
	both := with(repository, fstest.MapFS{"overlays/edge/cluster.yaml": file(cluster)})
	other := with(both, fstest.MapFS{"overlays/edge/cluster.yaml": file(strings.Replace(cluster, ", 172.30.0.0/16", "", 1))})
	for name, want := range map[string]int{"lab": 0, "edge": 1, "": 1} {
		r, err := review.Compare(both, other, review.Options{Compile: compile.Options{Today: "2026-11-21", Cluster: name}})
		if err != nil || len(r.Entries) != want {
			t.Errorf("cluster %q: %v, %d entries, want %d", name, err, len(r.Entries), want)
		}
	}
}

// TestRefused: where nothing else is to be told, a state that only check refuses has no report that nothing changes, whatever was proven.
func TestRefused(t *testing.T) {
	forNothing := fstest.MapFS{"overlays/lab/kustomization.yaml": file(`apiVersion: kustomize.config.k8s.io/v1beta1
kind: Kustomization
patches:
  - target: {kind: Tenant}
    patch: |
      - {op: add, path: /spec/network, value: {egress: [{cidr: 0.0.0.0/0}]}}
`)}
	r := reviewed(t, with(repository, forNothing))
	if !r.Compared() || r.After.Errors() != 1 || !strings.HasPrefix(r.Verdict, "check refuses it with 1 error") {
		t.Errorf("compared %t, %d errors: %s", r.Compared(), r.After.Errors(), r.Verdict)
	}
}

// TestDeciding: files that decide about reviews are told, those beside them and those that are the same are not.
func TestDeciding(t *testing.T) {
	if !schema.Available() {
		t.Skip("SKIPPED: this build has no schemas: run `make schemas`")
	}
	before := with(repository, fstest.MapFS{
		".gitlab-ci.yml": file("a"), "docs/CODEOWNERS": file("a"), ".github/workflows/same.yaml": file("a"), ".github/ISSUE_TEMPLATE/a.md": file("a"),
	})
	after := with(repository, fstest.MapFS{
		".gitlab-ci.yml": file("b"), ".tekton/deep/run.yaml": file("b"), ".github/workflows/same.yaml": file("a"), ".github/ISSUE_TEMPLATE/a.md": file("b"), "README.md": file("b"), ".gitlab/issue_templates/a.md": file("b"),
	})
	for side, text := range map[*fstest.MapFS]string{&before: "exit 1", &after: "exit 0"} {
		// The pipeline runs one script, and make, which reads another one; nobody runs the third, and owners are asked about a page.
		*side = with(*side, fstest.MapFS{
			".github/workflows/same.yaml": file("- run: ./hack/check.sh && make review\n- run: runtime-compiler diff --root tenants/vision.yaml > review.html\n"), ".github/CODEOWNERS": file("GUIDE.sh @all"),
			"hack/check.sh": file(text), "Makefile": file("review:\n\t@bash tools/review.bash README.md\n"), "tools/review.bash": file(text), "tools/other.sh": file(text), "GUIDE.sh": file(text),
			"review.html": file(text),
		})
	}
	r, err := review.Compare(before, after, review.Options{Compile: compile.Options{Today: "2026-11-21"}})
	want := []group.DecidingFile{{Path: ".gitlab-ci.yml", How: "changed"}, {Path: ".tekton/deep/run.yaml", How: "added"}, {Path: "docs/CODEOWNERS", How: "removed"}, {Path: "hack/check.sh", How: "changed"}, {Path: "tools/review.bash", How: "changed"}}
	if err != nil || !slices.Equal(r.Findings.Deciding, want) || strings.HasPrefix(r.Verdict, "Nothing changes") {
		t.Errorf("%v, %+v: %s", err, r.Findings.Deciding, r.Verdict)
	}
}

// TestNamedByPipelines: a file that a pipeline runs or includes decides about reviews, however the pipeline names it.
// Files beside it do not.
func TestNamedByPipelines(t *testing.T) {
	if !schema.Available() {
		t.Skip("SKIPPED: this build has no schemas: run `make schemas`")
	}
	const github, gitlab = ".github/workflows/ci.yaml", ".gitlab-ci.yml"
	step := func(text string) map[string]string {
		return map[string]string{github: "jobs: {a: {steps: [\n" + text + "\n]}}\n"}
	}
	run := func(script string) map[string]string {
		return map[string]string{gitlab: "gate:\n  script: |\n    " + script + "\n"}
	}
	ci := func(text string) map[string]string { return map[string]string{gitlab: text} }
	for name, c := range map[string]struct {
		files            map[string]string
		deciding, beside string
	}{
		"action":            {step("uses: ./tools/ci"), "tools/ci/action.yml", "tools/action.yml"},
		"action, long name": {step("uses: './tools/ci/'"), "tools/ci/action.yaml", "tools/action.yaml"},
		"action at the top": {step("{uses: ./}"), "action.yml", "other.yml"},
		"action of GitHub": {step("uses: ./.github/actions/x"), ".github/actions/x/run.sh",
			".github/ISSUE_TEMPLATE/x.sh"},
		"script of an action": {withFile(step("uses: ./tools/ci"), "tools/ci/action.yml",
			"runs: {main: dist/index.js}"), "tools/ci/dist/index.js", "tools/dist/index.js"},
		"code of an action": {withFile(step("uses: ./tools/ci"), "tools/ci/action.yml",
			"runs: {main: index.js}"), "tools/ci/lib/gate.js", "tools/ci/README.md"},
		"script by action_path": {withFile(step("uses: ./tools/ci"), "tools/ci/action.yml",
			"runs: {steps: [{run: '${{ github.action_path }}/../run.sh'}]}"), "tools/run.sh", "run.sh"},
		"nested action": {withFile(withFile(step("uses: ./tools/ci"), "tools/ci/action.yml",
			"runs: {steps: [{uses: ./tools/more}]}"), "tools/more/action.yaml",
			"runs: {steps: [{run: hack/gate.sh}]}"), "hack/gate.sh", "hack/other.sh"},
		"action of an action of GitHub": {withFile(step("uses: ./.github/actions/x"), ".github/actions/x/action.yml",
			"runs: {steps: [{uses: ./tools/more}]}"), "tools/more/action.yml", "tools/action.yml"},
		"reusable workflow": {withFile(step("uses: ./.github/workflows/y.yml"), ".github/workflows/y.yml",
			"jobs: {a: {steps: [{uses: \"./tools/ci\"}]}}"), "tools/ci/action.yml", "tools/action.yml"},
		"after cd, without an ending": {run("cd tools &&\n      bash -e gate"), "tools/gate", "other/gate"},
		"after cd":                    {run("cd tools && ./inner.sh"), "tools/inner.sh", "tools/other.sh"},
		"after two":                   {run("cd tools; cd 'ci'; sh inner.sh"), "tools/ci/inner.sh", "other/inner.sh"},
		"after cd to the top": {run("cd \"$CI_PROJECT_DIR/tools\" && ./inner.sh"), "tools/inner.sh",
			"other/inner.sh"},
		"after cd of git": {run("cd $(git rev-parse --show-toplevel)/tools && ./inner.sh"),
			"tools/inner.sh", "other/inner.sh"},
		"after pushd":  {run("pushd ./tools/\n    bash inner.sh"), "tools/inner.sh", "other/inner.sh"},
		"npm after cd": {run("cd tools && npm run gate"), "tools/package.json", "tools/other.json"},
		"make -C":      {run("make -C tools check"), "tools/Makefile", "other/Makefile"},
		"working-directory": {step("{run: ./inner.sh, working-directory: tools}"), "tools/inner.sh",
			"other/inner.sh"},
		"defaults": {step("{run: ./inner.sh}]}, b: {defaults: {run: {\"working-directory\": ./tools}}, steps: ["), "tools/inner.sh", "other/inner.sh"},
		"workspace": {step("{run: $GITHUB_WORKSPACE/tools/inner.sh}"), "tools/inner.sh",
			"other/inner.sh"},
		"beside the script": {withFile(run("tools/a.sh"), "tools/a.sh", `. "$(dirname "$0")/lib.sh"`),
			"tools/lib.sh", "other/lib.sh"},
		"below a folder": {withFile(run("cd tools && ci/a.sh"), "tools/ci/a.sh", "./lib/b.sh"),
			"tools/lib/b.sh", "other/lib/b.sh"},
		"dots in a name":       {run("python3 check.v2.py"), "check.v2.py", "check.py"},
		"include":              {ci("include: ci/a.yml"), "ci/a.yml", "ci/b.yml"},
		"include from the top": {ci("include: '/ci/a b.yml'"), "ci/a b.yml", "ci/b.yml"},
		"include, local": {ci("include:\n  local: ./ci/a.yaml\n  rules: [{exists: [ci/b.yml]}]\n"),
			"ci/a.yaml", "ci/c.yml"},
		"include by pattern": {ci("include: {local: 'ci/*.yml'}"), "ci/a.yml", "ci/deep/a.yml"},
		"include of all": {ci("include:\n- local: /ci/**.yml\n  rules: [{if: $X}]\n"),
			"ci/deep/er/a.yml", "ci/deep/a.txt"},
		"include of folders": {ci("include: ['other.yml', \"ci/**/*.yml\"]"), "ci/deep/a.yml",
			"oci/deep/a.yml"},
		"include at the top":  {ci("include: '*.gitlab.yml'"), "a.gitlab.yml", "ci/a.gitlab.yml"},
		"include of hidden":   {ci("include: '.ci/*.yml'"), ".ci/a.yml", "ci/a.yml"},
		"include by variable": {ci("include: 'ci/$KIND/a.yml'"), "ci/x/a.yml", "ci/x/b.yml"},
		"include among specs": {ci("include: 'charts/ci/*.yml'"), "charts/ci/a.yml", "charts/a.yml"},
		"nested include": {withFile(ci("include: 'ci/*.yml'"), "ci/a.yml",
			"include: [{local: '/more/**.yml'}]"), "more/x/b.yml", "x/b.yml"},
		"script of an include": {withFile(ci("include: 'ci/*.yml'"), "ci/a.yml",
			"gate: {script: [hack/gate.sh]}"), "hack/gate.sh", "hack/other.sh"},
		"include by an anchor": {ci(".a: &a\n- local: 'ci/*.yml'\ninclude: *a\n"), "ci/a.yml",
			"ci/deep/a.yml"},
		"include of itself": {ci(".a: &a ['ci/*.yml', *a]\ninclude: *a\n"), "ci/a.yml", "ci/deep/a.yml"},
		"child": {ci("child:\n  trigger:\n    include: 'ci/*.yml'\n    strategy: depend\n"),
			"ci/a.yml", "ci/deep/a.yml"},
		"children":       {ci("child: {trigger: {include: [{local: ci/*.yml}, {artifact: x.yml, job: x}]}}"), "ci/a.yml", "ci/deep/a.yml"},
		"after a header": {ci("spec: {inputs: {}}\n---\ninclude: 'ci/*.yml'\ngate: {script: !reference [.x, script]}\n"), "ci/a.yml", "ci/deep/a.yml"},
		"an old script":  {step("{run: hack/gate.sh}"), "hack/gate.sh", "hack/other.sh"},
		"matrix":         {step("{run: ./x.sh}]}, b: {strategy: {matrix: {include: '${{ fromJSON(x) }}'}}, steps: ["), "x.sh", "mkdocs.yml"},
	} {
		t.Run(name, func(t *testing.T) {
			states := map[string]fstest.MapFS{}
			for _, text := range []string{"exit 1", "exit 0"} {
				states[text] = with(repository, fstest.MapFS{c.deciding: file(text), c.beside: file(text)})
				for name, content := range c.files {
					states[text][name] = file(content)
				}
			}
			r, err := review.Compare(states["exit 1"], states["exit 0"],
				review.Options{Compile: compile.Options{Today: "2026-11-21"}})
			want := []group.DecidingFile{{Path: c.deciding, How: "changed"}}
			if err != nil || !slices.Equal(r.Findings.Deciding, want) {
				t.Errorf("%v, %+v, want %+v", err, r.Findings.Deciding, want)
			}
		})
	}
}

func withFile(files map[string]string, name, content string) map[string]string {
	all := maps.Clone(files)
	all[name] = content
	return all
}

// TestStaleCertification: whoever reviews a change of a tested runtime is told that nobody has tested what comes.
func TestStaleCertification(t *testing.T) {
	clusters, list := compile.Compile(repository, compile.Options{})
	if list.Errors() > 0 {
		t.Fatal(list.Sorted()[0].Message)
	}
	fingerprint := ""
	for _, o := range clusters[0].Objects.Sorted() {
		if o.ID.Kind == "ClusterTrainingRuntime" {
			fingerprint = o.Root.StringAt("metadata", "annotations", mpi.FingerprintAnnotation)
		}
	}
	const cluster, catalog = "overlays/lab/cluster.yaml", "catalog/all.yaml"
	digest := "sha256:" + strings.Repeat("1", 64)
	before := with(repository, fstest.MapFS{cluster: file(string(repository[cluster].Data) + "  certified:\n    - {runtime: small, fingerprint: " + fingerprint +
		", date: 2026-11-20, by: jane, image: " + digest + ", nodes: 2, ranks: 4, pairs: 4, roundTripMicroseconds: 67, bandwidthMbps: 5668, slowestMbps: 4608}\n")})
	after := with(before, fstest.MapFS{catalog: file(strings.Replace(string(before[catalog].Data), "small:5", "small:6", 1))})
	result, err := review.Compare(before, after, review.Options{Compile: compile.Options{Today: "2026-11-21"}})
	if err != nil {
		t.Fatal(err)
	}
	if found := result.Findings.New; len(found) != 1 || found[0].Code != diag.CertificationStale {
		t.Errorf("new findings: %v", found)
	}
	if !slices.ContainsFunc(result.Entries, func(e group.Entry) bool {
		return e.Rule == "certification" && e.Title == "what was tested is not what jobs get"
	}) {
		t.Errorf("entries: %+v", result.Entries)
	}
}
