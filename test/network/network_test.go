package network

import (
	"encoding/json"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"lockstep.dev/lockstep/pkg/compile"
	"lockstep.dev/lockstep/pkg/compile/diag"
	"lockstep.dev/lockstep/pkg/compile/object"
	"lockstep.dev/lockstep/pkg/compile/patch/chart/helm"
	"lockstep.dev/lockstep/pkg/compile/plan"
	"lockstep.dev/lockstep/pkg/compile/proof/prooftest"
	"lockstep.dev/lockstep/pkg/mpi/job"
	"lockstep.dev/lockstep/pkg/mpi/job/desired"
)

// TestTenants: of six tenants the judges say the same of every packet, and no two tenants meet, before jobs run and while they do.
func TestTenants(t *testing.T) {
	s := prooftest.CompileSample(t, specs, nil)
	judgeCluster(t, s.Plan, s.Objects)
}

// TestRepository does so for the clusters of this repository.
func TestRepository(t *testing.T) {
	root, options := os.DirFS("../.."), compile.Options{Charts: helm.Renderer{}}
	clusters, found := compile.Compile(root, options)
	plans, alsoFound := compile.Plans(root, options)
	if found.Errors()+alsoFound.Errors() > 0 {
		t.Fatal("the repository does not compile")
	}
	for i, cluster := range clusters {
		t.Run(cluster.Name, func(t *testing.T) { judgeCluster(t, plans[i], cluster.Objects.Sorted()) })
	}
}

// TestEveryPolicyCounts takes one policy after the other away: the judges still agree, and packets pass or stop that did not before. So
// the packets are enough to see each policy.
func TestEveryPolicyCounts(t *testing.T) {
	s := prooftest.CompileSample(t, specs, nil)
	for _, namespace := range []string{"clinical", "vision", "speech"} {
		c := newCourt(t, s.Plan, s.Objects, true)
		before := c.verdicts(t, namespace)
		for i := range c.objects {
			o := c.objects[i]
			// Where others may come in, that policy closes the namespace too.
			if o.ID.Kind != "NetworkPolicy" || o.ID.Namespace != namespace || o.ID.Name == "lockstep-default-deny" && namespace != "clinical" {
				continue
			}
			less := *c
			less.objects = prooftest.WithoutObject(c.objects, i)
			if slices.Equal(before, less.verdicts(t, namespace)) {
				t.Errorf("without `%s` in %s nothing changes", o.ID.Name, namespace)
			}
		}
	}
}

func judgeCluster(t *testing.T, p *plan.Cluster, objects []object.Object) {
	t.Helper()
	for name, running := range map[string]bool{"no jobs": false, "jobs run": true} {
		t.Run(name, func(t *testing.T) {
			c := newCourt(t, p, objects, running)
			verdicts := c.verdicts(t, "")
			passed := 0
			for _, arrives := range verdicts {
				if arrives {
					passed++
				}
			}
			t.Logf("%d ends, %d packets judged twice, %d arrive", len(c.world.ends), len(verdicts), passed)
			if passed == 0 || passed == len(verdicts) {
				t.Error("the packets do not differ in what matters")
			}
		})
	}
}

// court is a cluster before both judges.
type court struct {
	plan    *plan.Cluster
	world   *world
	objects []object.Object
	tenants map[string]string
}

func newCourt(t *testing.T, p *plan.Cluster, objects []object.Object, running bool) *court {
	t.Helper()
	c := &court{plan: p, tenants: map[string]string{}, objects: slices.Clone(objects)}
	var namespaces []string
	for _, tenant := range p.Tenants {
		for _, namespace := range tenant.Namespaces {
			c.tenants[namespace.V] = tenant.Name.V
			namespaces = append(namespaces, namespace.V)
		}
	}
	jobs := jobsOf(t, objects, namespaces)
	if running {
		for _, j := range jobs {
			c.objects = append(c.objects, policyOf(t, j, p.ControllerNamespace.V))
		}
	}
	// The pods of jobs are there without their policies too: before the controller has seen them, and after it took the policy away.
	c.world = newWorld(t, objects, namespaces, jobs)
	return c
}

// policyOf is the policy that the controller makes for a job, as the proof reads it.
func policyOf(t *testing.T, j job.Job, controllerNamespace string) object.Object {
	t.Helper()
	text, err := json.Marshal(desired.NetworkPolicy(j, controllerNamespace))
	if err != nil {
		t.Fatal(err)
	}
	decoder := json.NewDecoder(strings.NewReader(string(text)))
	decoder.UseNumber()
	var value any
	if err := decoder.Decode(&value); err != nil {
		t.Fatal(err)
	}
	return object.New(object.FromValue("", value, nil), object.Place{}, nil)
}

// verdicts asks both judges about each packet from or to an end of a namespace, or about all, and returns what cyclonus says. No packet may
// get from one tenant to another.
func (c *court) verdicts(t *testing.T, namespace string) []bool {
	t.Helper()
	ours, found := proven(t, c.world, c.plan, c.objects)
	for _, d := range found {
		// What jobs open is more than specs say; the proof of a bundle does not know jobs.
		if d.Code == diag.TenantsConnected {
			t.Errorf("%s: %s", d.Code, d.Message)
		}
	}
	theirs := cyclonus(c.world, policiesOf(t, c.objects))
	verdicts := make([][]bool, len(c.world.ends))
	var group sync.WaitGroup
	slots := make(chan struct{}, runtime.GOMAXPROCS(0))
	for i := range c.world.ends {
		group.Go(func() {
			slots <- struct{}{}
			defer func() { <-slots }()
			verdicts[i] = c.verdictsFrom(t, &c.world.ends[i], namespace, ours, theirs)
		})
	}
	group.Wait()
	return slices.Concat(verdicts...)
}

func (c *court) verdictsFrom(t *testing.T, from *end, namespace string, ours, theirs judge) []bool {
	var verdicts []bool
	ports := packetPorts()
	for i := range c.world.ends {
		to := &c.world.ends[i]
		if from == to || namespace != "" && from.namespace != namespace && to.namespace != namespace {
			continue
		}
		for _, f := range []family{0, 1} {
			if !from.addresses[f].IsValid() || !to.addresses[f].IsValid() {
				continue
			}
			oursSays, theirsSays := ours(from, to, f), theirs(from, to, f)
			for _, p := range ports {
				want := theirsSays(p)
				if want && c.crosses(from, to) {
					t.Errorf("from %s to %s, %s %d: cyclonus lets one tenant reach another", from.name, to.name, p.protocol, p.number)
				}
				if got := oursSays(p); got != want {
					t.Errorf("from %s to %s at %s, %s %d: the proof says %t, cyclonus %t", from.name, to.name, to.addresses[f], p.protocol, p.number, got, want)
				}
				verdicts = append(verdicts, want)
			}
		}
	}
	return verdicts
}

// crosses reports whether two ends are pods of two tenants.
func (c *court) crosses(from, to *end) bool {
	a, b := c.tenants[from.namespace], c.tenants[to.namespace]
	return a != "" && b != "" && a != b
}
