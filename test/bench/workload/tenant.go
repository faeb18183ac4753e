package workload

import (
	"fmt"
	"math/rand/v2"
	"slices"
)

// tenant is what a tenant's spec says.
type tenant struct {
	Number                     int
	Name, DisplayName, Comment string
	// Folder is the sub-folder of tenants/ that holds the spec, or "".
	Folder                   string
	Admins, Editors, Viewers []string
	Namespaces, Clusters     []string
	Runtimes                 []string
	// CPU is in cores, Memory in Gi.
	CPU, Memory, Pods, Jobs, Accelerators int
	// MaxMemory of a container in Gi, 0 for none.
	MaxMemory int
	// DefaultCPU of a container in millicores, 0 for the compiler's.
	DefaultCPU  int
	Egress      []egress
	IngressFrom []string
	Baseline    bool
}

type egress struct {
	CIDR, Comment string
	Ports         []port
}

type port struct {
	Protocol string
	Port     int
}

func (t *tenant) path() string {
	if t.Folder == "" {
		return "tenants/" + t.Name + ".yaml"
	}
	return "tenants/" + t.Folder + "/" + t.Name + ".yaml"
}

// The mix of tenants, in per cent. On average a tenant has 15 objects per cluster, on OpenShift 17.
const (
	twoNamespaces   = 15
	threeNamespaces = 5
	withAdmins      = 90
	withViewers     = 90
	withEgress      = 75
	withIngress     = 43
	inFolder        = 60
	onGPUs          = 40
	onEverything    = 5
)

var areas = []struct{ name, display string }{
	{"vision", "Computer vision"}, {"speech", "Speech"}, {"nlp", "Natural language"}, {"genomics", "Genomics"},
	{"climate", "Climate models"}, {"physics", "Particle physics"}, {"robotics", "Robotics"}, {"finance", "Risk and pricing"},
	{"materials", "Materials science"}, {"search", "Search and ranking"},
}

var topics = []string{"platform", "research", "training", "lidar", "folding", "forecast", "mesh", "ranking", "agents", "evaluation", "batch", "simulation"}

// destinations are what teams ask to reach: file servers, object stores, registries of models, databases.
var destinations = []egress{
	{CIDR: "10.20.0.0/16", Comment: "NFS of the data lake", Ports: []port{{"TCP", 2049}}},
	{CIDR: "10.21.8.0/24", Comment: "object store", Ports: []port{{"TCP", 443}}},
	{CIDR: "10.40.12.0/22", Comment: "Lustre", Ports: []port{{"TCP", 988}, {"TCP", 1021}}},
	{CIDR: "172.20.3.0/24", Comment: "experiment tracking", Ports: []port{{"TCP", 443}, {"TCP", 5000}}},
	{CIDR: "192.168.77.16/32", Comment: "licence server", Ports: []port{{"TCP", 27000}, {"UDP", 27000}}},
	{CIDR: "10.99.0.0/20", Comment: "the lab's own network, every port"},
}

func draw(o Options) []*tenant {
	names := clusterNames(o.Clusters)
	tenants := make([]*tenant, o.Tenants)
	for i := range tenants {
		tenants[i] = drawTenant(i, names, rand.New(rand.NewPCG(o.Seed, uint64(i)))) //nolint:gosec // a workload is not a secret
	}
	return tenants
}

func drawTenant(number int, clusters []string, r *rand.Rand) *tenant {
	in := func(percent int) bool { return r.IntN(100) < percent }
	area, topic := areas[r.IntN(len(areas))], topics[r.IntN(len(topics))]
	t := &tenant{
		Number:      number,
		Name:        fmt.Sprintf("%s-%s-%05d", area.name, topic, number),
		DisplayName: fmt.Sprintf("%s: %s %d", area.display, topic, number),
		Comment:     fmt.Sprintf("Asked for in PLAT-%d.", 1000+r.IntN(9000)),
		Clusters:    clusters,
	}
	if in(inFolder) {
		t.Folder = area.name
	}
	t.people(in)
	t.namespaces(r.IntN(100))
	t.work(r)
	if in(withEgress) {
		for _, i := range r.Perm(len(destinations))[:1+r.IntN(3)] {
			t.Egress = append(t.Egress, destinations[i])
		}
	}
	if in(withIngress) {
		t.IngressFrom = []string{"monitoring", "log-collector"}[:1+r.IntN(2)]
	}
	t.Baseline = in(3)
	return t
}

func (t *tenant) people(in func(int) bool) {
	t.Editors = []string{t.Name + "-editors"}
	if in(20) {
		t.Editors = append(t.Editors, "contractors-"+t.Name)
	}
	if in(withAdmins) {
		t.Admins = []string{t.Name + "-admins"}
	}
	if in(withViewers) {
		t.Viewers = []string{t.Name + "-viewers"}
		if in(30) {
			t.Viewers = append(t.Viewers, "example.com:audit")
		}
	}
}

func (t *tenant) namespaces(dice int) {
	t.Namespaces = []string{t.Name}
	if dice < twoNamespaces+threeNamespaces {
		t.Namespaces = append(t.Namespaces, t.Name+"-staging")
	}
	if dice < threeNamespaces {
		t.Namespaces = append(t.Namespaces, t.Name+"-nightly")
	}
}

// work draws what the tenant runs, and a quota that has room for it.
func (t *tenant) work(r *rand.Rand) {
	switch dice := r.IntN(100); {
	case dice < onGPUs:
		t.Runtimes = pick(r, 1+r.IntN(4), runtime.Accelerated)
		t.machines(max(1+r.IntN(4), defaultNodes(t.Runtimes)))
	case dice < onGPUs+onEverything:
		t.machines(defaultNodes(nil))
	default:
		t.Runtimes = pick(r, 1+r.IntN(5), func(r runtime) bool { return !r.Accelerated() })
		machines := 2 + r.IntN(15)
		t.CPU, t.Memory = machines*32, machines*256
		t.MaxMemory = 256
	}
	t.Pods, t.Jobs = 20+10*r.IntN(10), 10+5*r.IntN(10)
	t.DefaultCPU = []int{0, 0, 200, 250}[r.IntN(4)]
}

// machines grants whole machines of the largest kind, and what a launcher needs beside them.
func (t *tenant) machines(n int) {
	t.CPU, t.Memory, t.Accelerators = n*96+4, n*1000+8, n*8
}

// defaultNodes returns the most nodes that a default job of the named runtimes, or of any, takes: a quota that does not hold
// the default job of a runtime that the tenant may use is a mistake.
func defaultNodes(names []string) int {
	most := 0
	for _, r := range runtimes {
		if names == nil || slices.Contains(names, r.Name) {
			most = max(most, r.Default)
		}
	}
	return most
}

// pick returns the sorted names of at most n runtimes that new work may use.
func pick(r *rand.Rand, n int, fits func(runtime) bool) []string {
	var names []string
	for _, candidate := range runtimes {
		if fits(candidate) && candidate.Successor == "" {
			names = append(names, candidate.Name)
		}
	}
	r.Shuffle(len(names), func(i, j int) { names[i], names[j] = names[j], names[i] })
	names = names[:min(n, len(names))]
	slices.Sort(names)
	return names
}
