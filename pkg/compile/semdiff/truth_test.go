package semdiff_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"lockstep.dev/lockstep/pkg/compile"
	"lockstep.dev/lockstep/pkg/compile/object"
	"lockstep.dev/lockstep/pkg/compile/patch/chart/helm"
	"lockstep.dev/lockstep/pkg/compile/semdiff"
	"lockstep.dev/lockstep/pkg/compile/semdiff/match"
	"lockstep.dev/lockstep/pkg/compile/semdiff/rule"
)

// pairsVariable has the number of pairs that TestTruth compares. `make test-full` compares 5,000.
const pairsVariable = "LOCKSTEP_TRUTH_PAIRS"

// TestTruth compares random pairs of states and asks each sentence of the reports about rights, traffic, quotas, running jobs and what is deleted
// whether it follows from the objects, and each difference of the objects whether it is told. What follows is computed a second time, from the
// values of the objects alone (tree_test.go), by nothing that the review uses.
func TestTruth(t *testing.T) {
	needsSchemas(t)
	pairs := 200
	if more, err := strconv.Atoi(os.Getenv(pairsVariable)); err == nil {
		pairs = more
	}
	random := rand.New(rand.NewPCG(7, 8))
	states := randomStates(t, random, max(24, pairs/25))
	told := map[string]int{}
	for i := range pairs {
		a, b := states[random.IntN(len(states))], states[random.IntN(len(states))]
		in := pairOf(a, b)
		r := semdiff.Compare(in)
		in.KeepAll = false
		shown := semdiff.Compare(in)
		for _, wrong := range askGroups(&r, &shown, told) {
			t.Errorf("pair %d: %s\n  before: %s\n  after: %s", i, wrong, a.how, b.how)
		}
		for name := range a.clusters {
			for _, wrong := range askedBothWays(a.trees[name], b.trees[name], effectsOf(&r, name), told) {
				t.Errorf("pair %d, cluster %s: %s\n  before: %s\n  after: %s", i, name, wrong, a.how, b.how)
			}
		}
		if t.Failed() {
			return
		}
	}
	t.Logf("%d states, %d pairs; asked: %v", len(states), pairs, told)
	for _, statement := range statements {
		if told[statement] == 0 {
			t.Errorf("no pair has a report that says: %s", statement)
		}
	}
}

// compiledState is one state of the specs, compiled.
type compiledState struct {
	how      string
	specs    specFiles
	units    map[string][]object.Object
	clusters map[string]semdiff.Cluster
	trees    map[string]*tree
}

// randomStates changes the base of the corpus at random, each state from one before it, and keeps those that compile.
func randomStates(t *testing.T, random *rand.Rand, wanted int) []compiledState {
	t.Helper()
	first, _ := compiledOf(parsedSpecs(t, base(t)), "the base")
	states := []compiledState{first}
	for tries := 0; len(states) < wanted; tries++ {
		if tries > 20*wanted {
			t.Fatalf("of %d states only %d compile", tries, len(states))
		}
		from := states[random.IntN(len(states))]
		specs := from.specs.clone()
		how := []string{from.how}
		for range 1 + random.IntN(3) {
			how = append(how, specs.edit(random))
		}
		if next, ok := compiledOf(specs, strings.Join(how, ", ")); ok {
			states = append(states, next)
		}
	}
	return states
}

func compiledOf(specs specFiles, how string) (compiledState, bool) {
	files := specs.files()
	units, list := unitsOf(files)
	if list.Errors() > 0 {
		return compiledState{}, false
	}
	s := compiledState{how: how, specs: specs, units: units, clusters: map[string]semdiff.Cluster{}}
	plans, _ := compile.Plans(files, compile.Options{Today: today, Charts: helm.Renderer{}})
	for _, p := range plans {
		var known semdiff.Cluster
		for i := range p.Ranges {
			known.Ranges = append(known.Ranges, p.Ranges[i].V)
		}
		for _, own := range p.Tenants {
			tenant := rule.Tenant{Name: own.Name.V}
			for _, n := range own.Namespaces {
				tenant.Namespaces = append(tenant.Namespaces, n.V)
			}
			for _, group := range own.GroupsOfRoles() {
				tenant.Groups = append(tenant.Groups, group.V.Name)
			}
			known.Tenants = append(known.Tenants, tenant)
		}
		s.clusters[p.Name.V] = known
	}
	s.trees = map[string]*tree{}
	for name := range s.clusters {
		s.trees[name] = treeOf(s, name)
	}
	return s, true
}

// pairOf is a comparison of two states.
func pairOf(a, b compiledState) semdiff.Input {
	in := semdiff.Input{KeepAll: true, Clusters: map[string]semdiff.Cluster{}}
	for _, name := range slices.Sorted(maps.Keys(a.units)) {
		in.Units = append(in.Units, semdiff.NewUnit(cluster(name), unit(name), a.units[name], b.units[name], nil))
	}
	for _, name := range slices.Sorted(maps.Keys(b.units)) {
		if a.units[name] == nil {
			in.Units = append(in.Units, semdiff.NewUnit(cluster(name), unit(name), nil, b.units[name], nil))
		}
	}
	for name, known := range b.clusters {
		for _, tenant := range a.clusters[name].Tenants {
			tenant.Before = true
			known.Tenants = append(slices.Clip(known.Tenants), tenant)
		}
		in.Clusters[name] = known
	}
	return in
}

// effectsOf are all effects on a cluster.
func effectsOf(r *semdiff.Report, name string) []rule.Effect {
	var effects []rule.Effect
	for i := range r.Entries {
		for _, e := range r.Entries[i].Samples {
			if e.Subject.Cluster == name {
				effects = append(effects, e)
			}
		}
	}
	return effects
}

// statements are the kinds of sentences that are asked.
var statements = []string{
	"rights gained", "rights lost", "traffic opened", "traffic closed", "quota grown", "quota shrunk", "guarantees gained", "guarantees lost",
	"jobs stopped", "objects deleted", "objects left", "objects new", "tenants new", "unequal groups", "clauses of several",
}

// askedBothWays returns what effects say wrongly, and what they do not say.
func askedBothWays(was, is *tree, effects []rule.Effect, told map[string]int) []string {
	var wrong []string
	for _, ask := range []func(was, is *tree, effects []rule.Effect, told map[string]int) []string{askRights, askTraffic, askQuota, askGuarantees, askJobs, askObjects} {
		wrong = append(wrong, ask(was, is, effects, told)...)
	}
	return wrong
}

// askRights asks who gained and lost rights.
func askRights(was, is *tree, effects []rule.Effect, told map[string]int) (wrong []string) {
	said := map[string]bool{}
	before, after := was.rights(), is.withLeft(was).rights()
	for i := range effects {
		e := &effects[i]
		subject, _, found := strings.Cut(e.Detail, ": ")
		if e.Rule != "access" || !found || before[subject] == nil && after[subject] == nil {
			continue
		}
		more, less, statement := after[subject], before[subject], "rights gained"
		if e.Consequence == rule.NarrowsAccess {
			more, less, statement = less, more, "rights lost"
		}
		told[statement]++
		said[statement+subject] = true
		if len(beyond(more, less)) == 0 {
			wrong = append(wrong, fmt.Sprintf("it is said that %s (%s), and nothing differs that way", e.Title, subject))
		}
	}
	comes := func(namespace string) bool {
		return was.namespaces[namespace] == nil || is.namespaces[namespace] == nil
	}
	comesAlong := func(who string) bool {
		for _, rights := range []map[string][]right{before, after} {
			for subject := range rights {
				if own, namespace, in := strings.Cut(subject, " in "); in && own == who && comes(namespace) {
					return true
				}
			}
		}
		return false
	}
	for _, side := range []struct {
		statement  string
		more, less map[string][]right
	}{{"rights gained", after, before}, {"rights lost", before, after}} {
		for _, subject := range slices.Sorted(maps.Keys(side.more)) {
			who, namespace, in := strings.Cut(subject, " in ")
			if in && comes(namespace) || !in && comesAlong(strings.TrimSuffix(subject, " everywhere")) || !strings.HasPrefix(subject, "Group ") {
				continue // it is told with the namespace, or not a person
			}
			differs := beyond(side.more[subject], side.less[subject])
			if in {
				differs = beyond(differs, beyond(side.more[who+" everywhere"], side.less[who+" everywhere"]))
			}
			if len(differs) > 0 && !said[side.statement+subject] {
				wrong = append(wrong, fmt.Sprintf("%s by %s is not told: %v", side.statement, subject, differs[0]))
			}
		}
	}
	return wrong
}

// askTraffic asks which namespaces can reach, and be reached by, more or less than before.
func askTraffic(was, is *tree, effects []rule.Effect, told map[string]int) (wrong []string) {
	said := map[string]bool{}
	is = is.withLeft(was)
	for i := range effects {
		e := &effects[i]
		if e.Rule != "network" || e.Consequence == rule.NoEffect {
			continue
		}
		namespace, ingress := e.Subject.Namespace, strings.Contains(e.Title, "ingress")
		statement, more, less := "traffic opened", is, was
		if e.Consequence == rule.ClosesNetwork {
			statement, more, less = "traffic closed", was, is
		}
		told[statement]++
		said[fmt.Sprint(statement, namespace, ingress)] = true
		if packet := more.packetBeyond(less, namespace, ingress); packet == "" {
			wrong = append(wrong, fmt.Sprintf("it is said of %s that %s, and no packet of the sample differs that way", namespace, e.Title))
		}
	}
	for namespace := range was.namespaces {
		if is.namespaces[namespace] == nil {
			continue
		}
		for _, ingress := range []bool{false, true} {
			if packet := is.packetBeyond(was, namespace, ingress); packet != "" && !said[fmt.Sprint("traffic opened", namespace, ingress)] {
				wrong = append(wrong, fmt.Sprintf("it is not told that %s gains %s", namespace, packet))
			}
			if packet := was.packetBeyond(is, namespace, ingress); packet != "" && !said[fmt.Sprint("traffic closed", namespace, ingress)] {
				wrong = append(wrong, fmt.Sprintf("it is not told that %s loses %s", namespace, packet))
			}
		}
	}
	return wrong
}

// askQuota asks which ResourceQuotas grow and shrink.
func askQuota(was, is *tree, effects []rule.Effect, told map[string]int) (wrong []string) {
	said := map[string]bool{}
	for i := range effects {
		e := &effects[i]
		if !strings.HasPrefix(e.Subject.Object, "ResourceQuota") || e.Consequence != rule.GrowsQuota && e.Consequence != rule.ShrinksQuota {
			continue
		}
		statement := map[rule.Consequence]string{rule.GrowsQuota: "quota grown", rule.ShrinksQuota: "quota shrunk"}[e.Consequence]
		told[statement]++
		said[statement+e.Subject.Object] = true
		grown, shrunk := hardDifference(was.of(e.Changes[0].Before), is.of(e.Changes[0].After))
		if e.Consequence == rule.GrowsQuota && !grown || e.Consequence == rule.ShrinksQuota && !shrunk {
			wrong = append(wrong, fmt.Sprintf("it is said of %s that %s (%s), and no amount differs that way", e.Subject.Object, e.Title, e.Detail))
		}
	}
	for id, before := range was.objects {
		after := is.objects[id]
		if !strings.HasPrefix(id, "ResourceQuota") || after == nil {
			continue
		}
		grown, shrunk := hardDifference(before, after)
		if grown && !said["quota grown"+id] || shrunk && !said["quota shrunk"+id] {
			wrong = append(wrong, fmt.Sprintf("it is not told that %s grows (%t) or shrinks (%t)", id, grown, shrunk))
		}
	}
	return wrong
}

// askGuarantees asks what tenants are guaranteed, and the amounts of the verdict.
func askGuarantees(was, is *tree, effects []rule.Effect, told map[string]int) (wrong []string) {
	for i := range effects {
		e := &effects[i]
		id := e.Subject.Object
		if !strings.HasPrefix(id, "ClusterQueue") || e.Consequence != rule.GrowsQuota && e.Consequence != rule.ShrinksQuota {
			continue
		}
		amount, rest, found := strings.Cut(e.Clause.Rest, " guaranteed ")
		if !found {
			continue
		}
		resource, profile, _ := strings.Cut(rest, " of ")
		statement := map[rule.Consequence]string{rule.GrowsQuota: "guarantees gained", rule.ShrinksQuota: "guarantees lost"}[e.Consequence]
		told[statement]++
		difference := is.guaranteed(e.Changes[0].After, resource, profile).DeepCopy()
		difference.Sub(was.guaranteed(e.Changes[0].Before, resource, profile))
		if e.Consequence == rule.ShrinksQuota {
			difference.Neg()
		}
		if difference.String() != amount {
			wrong = append(wrong, fmt.Sprintf("it is said that %s %s %s, and the objects differ by %s", id, e.Clause.Verb, e.Clause.Rest, difference.String()))
		}
	}
	return wrong
}

// askJobs asks which namespaces the GitOps engine deletes, with the jobs in them.
func askJobs(was, is *tree, effects []rule.Effect, told map[string]int) (wrong []string) {
	said := map[string]bool{}
	for i := range effects {
		e := &effects[i]
		if e.Consequence == rule.DeletesData {
			if e.Subject.Namespace == "" || len(was.volumes(e.Subject.Namespace)) == 0 {
				wrong = append(wrong, "data is said to be lost where there is no volume: "+e.Title)
			}
		}
		if e.Jobs != rule.JobsStopped {
			continue
		}
		told["jobs stopped"]++
		said[e.Subject.Namespace] = true
		gone := was.namespaces[e.Subject.Namespace] != nil && is.namespaces[e.Subject.Namespace] == nil && was.deletes("Namespace "+e.Subject.Namespace, is)
		moves := e.Changes[0].Path.Is(match.Folder) && was.deletes("Namespace "+e.Subject.Namespace, is) // the stage that had it may be first
		if !gone && !moves && !was.takesAlong(e.Changes[0].Object().ID.String(), is) && e.Consequence != rule.DeletesData {
			wrong = append(wrong, fmt.Sprintf("jobs are said to stop in %s, which nobody deletes: %s", e.Subject.Namespace, e.Title))
		}
	}
	for namespace := range was.namespaces {
		if is.namespaces[namespace] == nil && was.deletes("Namespace "+namespace, is) && !said[namespace] {
			wrong = append(wrong, "it is not told that jobs stop in "+namespace)
		}
	}
	return wrong
}

// stageKinds are what GitOps engines make of a part of the tree.
var stageKinds = []string{"Kustomization", "Application"}

// askObjects asks what is deleted, stays behind, and is new.
func askObjects(was, is *tree, effects []rule.Effect, told map[string]int) (wrong []string) {
	touched := map[string]bool{}
	for i := range effects {
		e := &effects[i]
		for _, change := range e.Changes {
			for _, o := range []*object.Object{change.Before, change.After} {
				if o != nil {
					touched[o.ID.String()] = true
				}
			}
		}
		if !e.Changes[0].Whole() || e.Changes[0].Renamed() && e.Consequence != rule.LeavesObjects {
			continue
		}
		if slices.Contains(stageKinds, e.Changes[0].Kind()) && e.Consequence == rule.LeavesObjects {
			continue // what stays is what the stage applied
		}
		id := e.Changes[0].Object().ID.String()
		before, after := was.objects[id] != nil, is.objects[id] != nil
		switch e.Consequence {
		case rule.DeletesObjects:
			told["objects deleted"]++
			if !before || after || !was.deletes(id, is) {
				wrong = append(wrong, fmt.Sprintf("%s is said to be deleted (%s), before %t, after %t, the engine deletes %t", id, e.Title, before, after, was.deletes(id, is)))
			}
		case rule.LeavesObjects:
			for _, change := range e.Changes {
				told["objects left"]++
				id := change.Before.ID.String()
				before, after := was.objects[id] != nil, is.objects[id] != nil
				if !before || after || was.deletes(id, is) && is.exists {
					wrong = append(wrong, fmt.Sprintf("%s is said to stay (%s), before %t, after %t, the engine deletes %t", id, e.Title, before, after, was.deletes(id, is)))
				}
			}
		case rule.AddsObjects:
			told["objects new"]++
			if before || !after {
				wrong = append(wrong, fmt.Sprintf("%s is said to be new (%s), before %t, after %t", id, e.Title, before, after))
			}
			if e.Title == "a tenant is new" {
				told["tenants new"]++
				if was.tenants[e.Subject.Tenant] {
					wrong = append(wrong, "the tenant "+e.Subject.Tenant+" is said to be new, and was there")
				}
			}
		}
	}
	for id := range was.objects {
		if is.objects[id] == nil && !touched[id] {
			wrong = append(wrong, "it is not told that "+id+" is gone")
		}
	}
	for id := range is.objects {
		if was.objects[id] == nil && !touched[id] {
			wrong = append(wrong, "it is not told that "+id+" is new")
		}
	}
	return wrong
}
