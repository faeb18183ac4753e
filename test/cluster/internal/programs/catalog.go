// Package programs builds every program of a cluster from pinned Go modules
// and keeps the results.
//
// Each family of programs is a nested module of its own in the folder
// test/cluster/programs: its go.mod and go.sum pin every dependency, so that
// families do not drag each other's versions along. One `go build` per family
// builds all its missing programs, which shares the packages between them.
//
// Flow: Open reads the pins → Ensure builds what the cache lacks → Link makes
// one folder with links to all programs.
//
// Invariants: a finished program lies in a folder whose name is a hash of
// everything that goes into it (pins, flags, sources of our own, Go version),
// so that a changed pin can never meet an old binary; the folder appears whole
// or not at all; two commands never build the same family at once.
package programs

import (
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"
)

// family is one nested module and what is built from it.
type family struct {
	// folder below test/cluster/programs.
	folder string
	// module whose version names the programs; empty for our own sources.
	module string
	// packages are the main packages by the name of the program.
	packages map[string]string
	cgo      bool
	tags     []string
	// ldflags may depend on the module's version.
	ldflags func(version string) []string
	// extra families belong to add-ons that few clusters have: they are built
	// when they are asked for.
	extra bool
	// seconds of one processor that a build takes when nothing is in Go's cache
	// but what the families before it have left there. It is told to people and
	// decides nothing.
	seconds int
}

const apiServerPackage = "k8s.io/kubernetes/cmd/kube-apiserver"

// catalog is ordered by the time that a build takes, longest first: that
// keeps all processors busy to the end.
var catalog = []family{
	{
		folder: "kubernetes", seconds: 600, module: "k8s.io/kubernetes", ldflags: kubernetesVersion,
		packages: under("k8s.io/kubernetes/cmd", "kube-apiserver", "kube-controller-manager", "kube-scheduler", "kubelet", "kube-proxy", "kubectl"),
	},
	{
		// An older and a newer API server than the cluster's, which must judge tenants as that does.
		folder: "kubernetes-1.34", seconds: 250, module: "k8s.io/kubernetes", extra: true, ldflags: kubernetesVersion,
		packages: map[string]string{"kube-apiserver-1.34": apiServerPackage},
	},
	{
		folder: "kubernetes-1.37", seconds: 250, module: "k8s.io/kubernetes", extra: true, ldflags: kubernetesVersion,
		packages: map[string]string{"kube-apiserver-1.37": apiServerPackage},
	},
	{
		folder: "coredns", seconds: 32, module: "github.com/coredns/coredns",
		packages: map[string]string{"coredns": "lockstep.dev/lockstep/test/cluster/programs/coredns"},
	},
	{
		folder: "containerd", seconds: 90, module: "github.com/containerd/containerd/v2",
		packages: under("github.com/containerd/containerd/v2/cmd", "containerd", "containerd-shim-runc-v2", "ctr"),
		ldflags: func(version string) []string {
			return []string{"-X", "github.com/containerd/containerd/v2/version.Version=" + version}
		},
	},
	{
		folder: "jobset", seconds: 11, module: "sigs.k8s.io/jobset",
		packages: map[string]string{"jobset-manager": "sigs.k8s.io/jobset"},
	},
	{
		folder: "kube-router", seconds: 30, module: "github.com/cloudnativelabs/kube-router/v2",
		packages: map[string]string{"kube-router": "lockstep.dev/lockstep/test/cluster/programs/kube-router"},
	},
	{
		folder: "etcd", seconds: 27, module: "go.etcd.io/etcd/server/v3",
		packages: map[string]string{"etcd": "go.etcd.io/etcd/server/v3"},
	},
	{
		// runc's nsenter is C, and seccomp needs libseccomp. Linked statically,
		// because it runs where the machine's libraries are out of sight.
		folder: "runc", seconds: 20, module: "github.com/opencontainers/runc",
		packages: map[string]string{"runc": "github.com/opencontainers/runc"},
		cgo:      true, tags: []string{"seccomp", "netgo", "osusergo"},
		ldflags: func(version string) []string {
			return []string{"-X", "main.version=" + strings.TrimPrefix(version, "v"), "-extldflags", "-static"}
		},
	},
	{
		folder: "cni", seconds: 5, module: "github.com/containernetworking/plugins",
		packages: map[string]string{
			"bridge":     "github.com/containernetworking/plugins/plugins/main/bridge",
			"loopback":   "github.com/containernetworking/plugins/plugins/main/loopback",
			"host-local": "github.com/containernetworking/plugins/plugins/ipam/host-local",
		},
	},
	{
		// The library that the tag leaves out is not in Go's checksum database.
		folder: "kueue", seconds: 150, module: "sigs.k8s.io/kueue", extra: true, tags: []string{"exclude_scheduler_library"},
		packages: map[string]string{"kueue-manager": "sigs.k8s.io/kueue/cmd/kueue"},
	},
	{
		folder: "trainer", seconds: 28, module: "github.com/kubeflow/trainer/v2", extra: true,
		packages: map[string]string{"trainer-manager": "github.com/kubeflow/trainer/v2/cmd/trainer-controller-manager"},
	},
	{
		folder: "mpi-operator", seconds: 30, module: "github.com/kubeflow/mpi-operator", extra: true,
		packages: under("github.com/kubeflow/mpi-operator/cmd", "mpi-operator"),
	},
	{
		folder: "kwok", seconds: 21, module: "sigs.k8s.io/kwok", extra: true,
		packages: under("sigs.k8s.io/kwok/cmd", "kwok"),
	},
	{
		folder: "scheduler-plugins", seconds: 11, module: "sigs.k8s.io/scheduler-plugins", extra: true,
		packages: map[string]string{"coscheduler": "lockstep.dev/lockstep/test/cluster/programs/scheduler-plugins"},
	},
	{
		// Of Flux only the controller that applies: tests stand in for the one that fetches.
		folder: "flux", seconds: 120, module: "github.com/fluxcd/kustomize-controller", extra: true,
		packages: under("github.com/fluxcd", "kustomize-controller"),
	},
	{
		// One program that is all parts of Argo CD, by the name it is called by.
		folder: "argo-cd", seconds: 300, module: "github.com/argoproj/argo-cd/v3", extra: true,
		packages: map[string]string{"argocd": "github.com/argoproj/argo-cd/v3/cmd"},
	},
	{
		// Argo CD renders by it.
		folder: "kustomize", seconds: 15, module: "sigs.k8s.io/kustomize/kustomize/v5", extra: true,
		packages: map[string]string{"kustomize": "sigs.k8s.io/kustomize/kustomize/v5"},
	},
	{
		folder: "helm", seconds: 60, module: "helm.sh/helm/v3", extra: true,
		packages: map[string]string{"helm": "helm.sh/helm/v3/cmd/helm"},
	},
	{
		folder: "loki", seconds: 500, module: "github.com/grafana/loki/v3", extra: true,
		packages: under("github.com/grafana/loki/v3/cmd", "loki"),
	},
	{
		// S3 on a folder.
		folder: "versitygw", seconds: 90, module: "github.com/versity/versitygw", extra: true,
		packages: under("github.com/versity/versitygw/cmd", "versitygw"),
	},
	{
		// Of OpenTelemetry's collector the parts that mixin/logs/collector.yaml names.
		folder: "collector", seconds: 80, module: "github.com/open-telemetry/opentelemetry-collector-contrib/receiver/filelogreceiver", extra: true,
		packages: map[string]string{"collector": "lockstep.dev/lockstep/test/cluster/programs/collector"},
	},
	{
		folder: "prometheus-operator", seconds: 120, module: "github.com/prometheus-operator/prometheus-operator", extra: true,
		packages: map[string]string{"prometheus-operator": "github.com/prometheus-operator/prometheus-operator/cmd/operator"},
	},
	{
		folder: "pause", seconds: 1,
		packages: map[string]string{"pause": "lockstep.dev/lockstep/test/cluster/programs/pause"},
	},
}

func under(prefix string, names ...string) map[string]string {
	packages := map[string]string{}
	for _, name := range names {
		packages[name] = prefix + "/" + name
	}
	return packages
}

// kubernetesVersion stamps the version as Kubernetes' own build does
// (hack/lib/version.sh); without it the programs call themselves v0.0.0 and
// kubectl warns about skew. The date is fixed, so that builds are equal.
func kubernetesVersion(version string) []string {
	minor := strings.Split(version, ".")[1]
	var flags []string
	for _, pkg := range []string{"k8s.io/component-base/version", "k8s.io/client-go/pkg/version"} {
		for _, stamp := range []string{"gitVersion=" + version, "gitMajor=1", "gitMinor=" + minor, "gitTreeState=clean", "buildDate=2026-01-01T00:00:00Z"} {
			flags = append(flags, "-X", pkg+"."+stamp)
		}
	}
	return flags
}

// APIServer names the program that is the API server of a minor version of Kubernetes, such as 1.36; of none it is that of clusters.
func (b *Builder) APIServer(minor string) (string, error) {
	if minor == "" {
		return "kube-apiserver", nil
	}
	var known []string
	for _, f := range catalog {
		for name, pkg := range f.packages {
			if pkg != apiServerPackage {
				continue
			}
			numbers := strings.Split(strings.TrimPrefix(b.pins[f.folder].version, "v"), ".")
			has := strings.Join(numbers[:2], ".")
			if has == minor {
				return name, nil
			}
			known = append(known, has)
		}
	}
	slices.Sort(known)
	return "", fmt.Errorf("no API server of Kubernetes %q is pinned: there are those of %s; another one needs a folder in test/cluster/programs", minor, strings.Join(known, ", "))
}

// names are the family's programs in order.
func (f family) names() []string {
	var names []string
	for name := range f.packages {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// All names every program.
func All() []string { return namesWhere(func(family) bool { return true }) }

// Base names the programs that every cluster has.
func Base() []string { return namesWhere(func(f family) bool { return !f.extra }) }

func namesWhere(wanted func(family) bool) []string {
	var names []string
	for _, f := range catalog {
		if wanted(f) {
			names = append(names, f.names()...)
		}
	}
	slices.Sort(names)
	return names
}

// familyOf finds the family of a program.
func familyOf(program string) (family, error) {
	for _, f := range catalog {
		if f.packages[program] != "" {
			return f, nil
		}
	}
	return family{}, fmt.Errorf("unknown program %q: known are %s", program, strings.Join(All(), ", "))
}

var majorSuffix = regexp.MustCompile(`^v[0-9]+$`)

// output is what `go build` calls the program of a package when it is told a
// folder: the last element of the path that is not a major version.
func output(pkg string) string {
	if base := path.Base(pkg); !majorSuffix.MatchString(base) {
		return base
	}
	return path.Base(path.Dir(pkg))
}
