package scaffold_test

import (
	"io/fs"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"lockstep.dev/lockstep/pkg/compile"
	"lockstep.dev/lockstep/pkg/compile/patch/chart/helm"
	"lockstep.dev/lockstep/pkg/compile/scaffold"
)

// step is what somebody asks `new` for: a kind, a name, and flags as `cpu=2 memory=4Gi`.
type step struct{ word, name, flags string }

// The steps from which those of the tests differ in one.
var (
	profileStep = step{"profile", "cpu", "cpu=16 memory=60Gi"}
	clusterStep = step{"cluster", "local", "platform=Kubernetes version=1.36 agent-image=example.org/mpi-agent:1 capacity=cpu=4"}
	runtimeStep = step{"runtime", "mpi", "profile=cpu implementation=OpenMPI version=5.0.7 image=example.org/mpi:5"}
	tenantStep  = step{"tenant", "vision", "clusters=local editors=vision-editors"}
	steps       = []step{profileStep, clusterStep, runtimeStep, tenantStep}
)

// instead returns the steps with another one of the same kind.
func instead(others ...step) []step {
	result := slices.Clone(steps)
	for _, s := range others {
		result[slices.IndexFunc(result, func(own step) bool { return own.word == s.word })] = s
	}
	return result
}

// take makes a step in a repository and returns what is said about it.
func take(t *testing.T, root fstest.MapFS, s step) (said []string) {
	t.Helper()
	written := scaffold.Written{}
	for _, flag := range strings.Fields(s.flags) {
		name, value, _ := strings.Cut(flag, "=")
		written[name] = append(written[name], value)
	}
	d, err := draft(t, root, s.word, s.name, written)
	if err != nil {
		return []string{err.Error()}
	}
	for _, found := range scaffold.FindingsWith(root, d.Files(), compile.Options{Charts: helm.Renderer{}}).Sorted() {
		said = append(said, string(found.Code)+" "+found.Span.String()+" "+found.Message)
	}
	for _, f := range d.Files() {
		root[f.Path] = &fstest.MapFile{Data: f.Data}
	}
	return said
}

// TestFirstSteps: from an empty folder, with nothing but `new`, each step compiles without a finding, and at the end somebody runs a job of the
// runtime for the tenant.
func TestFirstSteps(t *testing.T) {
	for name, taken := range map[string][]step{
		"Plain":     steps,
		"OpenShift": instead(step{"cluster", "local", "platform=OpenShift version=1.34 agent-image=example.org/mpi-agent:1 capacity=cpu=4"}),
		"Oldest":    instead(step{"cluster", "local", "platform=Kubernetes version=1.34 agent-image=example.org/mpi-agent:1 capacity=cpu=4"}),
		"OneMachine": instead(step{"cluster", "local", "platform=Kubernetes version=1.36 agent-image=example.org/mpi-agent:1 capacity=cpu=1"},
			step{"runtime", "mpi", "profile=cpu implementation=OpenMPI version=5.0.7 image=example.org/mpi:5 max-nodes=1 cpu=8 memory=30Gi"}),
		"NoCapacity": instead(step{"cluster", "local", "platform=Kubernetes version=1.36 agent-image=example.org/mpi-agent:1"}),
		"Small":      instead(step{"profile", "cpu", "cpu=2 memory=4Gi"}),
		"Accelerators": instead(step{"profile", "cpu", "cpu=90500m memory=1500Gi accelerator=nvidia.com/gpu accelerators=8"},
			step{"runtime", "mpi", "profile=cpu implementation=OpenMPI version=5.0.7 image=example.org/mpi:5 nodes=4"}),
		"RoCE":      instead(step{"profile", "cpu", "cpu=16 memory=60Gi fabric=RoCE fabric-resource=rdma/roce gid-index=3"}),
		"IntelMPI":  instead(step{"runtime", "mpi", "profile=cpu implementation=IntelMPI version=2021.18 image=example.org/impi:2021"}),
		"ManyRanks": instead(step{"runtime", "mpi", "profile=cpu implementation=MPICH version=4.3 image=example.org/mpich:4 slots=16 nodes=4 min-nodes=2 max-nodes=4"}),
		"Teams":     append(instead(), step{"tenant", "speech", "clusters=local editors=speech-editors namespaces=speech namespaces=speech-dev"}),
	} {
		t.Run(name, func(t *testing.T) {
			root := fstest.MapFS{}
			for _, s := range taken {
				if said := take(t, root, s); len(said) > 0 {
					t.Errorf("new %s %s %s:\n%s", s.word, s.name, s.flags, strings.Join(said, "\n"))
				}
			}
			runsJobs(t, root)
		})
	}
}

// runsJobs asks for what a TrainJob needs: a controller, its runtime, a namespace with a quota.
func runsJobs(t *testing.T, root fs.FS) {
	t.Helper()
	clusters, list := compile.Compile(root, compile.Options{Charts: helm.Renderer{}})
	if list.Errors()+list.Warnings() > 0 || len(clusters) != 1 {
		t.Fatalf("%d clusters, %d findings", len(clusters), list.Len())
	}
	there := map[string]bool{}
	for _, o := range clusters[0].Objects.Sorted() {
		there[strings.TrimLeft(o.ID.Namespace+"/"+o.ID.Kind+"/"+o.ID.Name, "/")] = true
	}
	for _, want := range []string{"lockstep-system/Deployment/mpi-controller", "ClusterTrainingRuntime/mpi", "Namespace/vision", "vision/ResourceQuota/lockstep-quota"} {
		if !there[want] {
			t.Errorf("no %s among %q", want, slices.Sorted(maps.Keys(there)))
		}
	}
}

// TestFalseSteps: a step that would make a bundle that runs nothing says so at once, with what is allowed.
func TestFalseSteps(t *testing.T) {
	for name, tc := range map[string]struct {
		steps []step
		want  string
	}{
		"MoreNodesThanMachines": {instead(step{"runtime", "mpi", "profile=cpu implementation=OpenMPI version=5.0.7 image=example.org/mpi:5 nodes=5"}), "LS4138 catalog/runtimes/mpi.yaml:"},
		"LargerThanTheMachine":  {instead(step{"runtime", "mpi", "profile=cpu implementation=OpenMPI version=5.0.7 image=example.org/mpi:5 cpu=17"}), "LS4003 catalog/runtimes/mpi.yaml:"},
		"MoreRanksThanCores":    {instead(step{"runtime", "mpi", "profile=cpu implementation=OpenMPI version=5.0.7 image=example.org/mpi:5 slots=32"}), "LS4145 catalog/runtimes/mpi.yaml:"},
		"NoAccelerators":        {instead(step{"runtime", "mpi", "profile=cpu implementation=OpenMPI version=5.0.7 image=example.org/mpi:5 slots=auto"}), "LS4002 catalog/runtimes/mpi.yaml:"},
		"VersionOfAnother":      {instead(step{"runtime", "mpi", "profile=cpu implementation=OpenMPI version=2021.18 image=example.org/mpi:5"}), "LS4027 catalog/runtimes/mpi.yaml:"},
		"ImageThatMoves":        {instead(step{"runtime", "mpi", "profile=cpu implementation=OpenMPI version=5.0.7 image=example.org/mpi:latest"}), "LS4028 catalog/runtimes/mpi.yaml:"},
		"NoProfile":             {instead(step{"runtime", "mpi", "profile=cpus implementation=OpenMPI version=5.0.7 image=example.org/mpi:5"}), "there is no HardwareProfile `cpus`"},
		"QuotaBelowAJob":        {instead(step{"tenant", "vision", "clusters=local editors=vision-editors cpu=8"}), "LS4004 tenants/vision.yaml:"},
		"OnePod":                {instead(step{"tenant", "vision", "clusters=local editors=vision-editors pods=1"}), "LS4004 tenants/vision.yaml:"},
		"NoCluster":             {instead(step{"tenant", "vision", "clusters=locl editors=vision-editors"}), "there is no Cluster `locl`"},
		"Everybody":             {instead(step{"tenant", "vision", "clusters=local editors=system:authenticated"}), "system:authenticated"},
		"NamespaceOfKubernetes": {instead(step{"tenant", "vision", "clusters=local editors=vision-editors namespaces=kube-system"}), "LS4005 tenants/vision.yaml:"},
		"RuntimeOfNobody":       {instead(step{"tenant", "vision", "clusters=local editors=vision-editors runtimes=mpich"}), "there is no MPIRuntime `mpich`"},
		"FabricWithoutDevice":   {instead(step{"profile", "cpu", "cpu=16 memory=60Gi fabric=InfiniBand"}), "LS4050 catalog/profiles/cpu.yaml:"},
		"VersionOfOpenShift":    {instead(step{"cluster", "local", "platform=OpenShift version=4.20 agent-image=example.org/mpi-agent:1 capacity=cpu=4"}), "4.20"},
	} {
		t.Run(name, func(t *testing.T) {
			root := fstest.MapFS{}
			var said []string
			for _, s := range tc.steps {
				if said = take(t, root, s); len(said) > 0 {
					break
				}
			}
			if len(said) != 1 || !strings.Contains(said[0], tc.want) {
				t.Errorf("said %q, want one finding with %q", said, tc.want)
			}
		})
	}
}
