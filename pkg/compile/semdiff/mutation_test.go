package semdiff_test

import (
	"fmt"
	"io/fs"
	"maps"
	"math/rand/v2"
	"net/netip"
	"os"
	"slices"
	"strings"
	"testing"

	"lockstep.dev/lockstep/pkg/compile"
	"lockstep.dev/lockstep/pkg/compile/object"
	"lockstep.dev/lockstep/pkg/compile/patch/chart/helm"
	"lockstep.dev/lockstep/pkg/compile/semdiff"
	"lockstep.dev/lockstep/pkg/compile/semdiff/group"
	"lockstep.dev/lockstep/pkg/compile/semdiff/rule"
)

// catalog is what the repository's own specs compile to, and the base of the corpus, by unit.
func catalog(t testing.TB) map[string][]object.Object {
	t.Helper()
	units := map[string][]object.Object{}
	for _, root := range []struct {
		name  string
		files fs.FS
	}{{"own", os.DirFS("../../..")}, {"base", base(t)}} {
		list, err := compile.Stream(root.files, compile.Options{Today: today, Charts: helm.Renderer{}}, func(u compile.Unit) error {
			if len(u.Objects) > 0 {
				units[root.name+"-"+u.Cluster+" "+u.Name] = u.Objects
			}
			return nil
		})
		if err != nil || list.Errors() > 0 {
			t.Fatalf("the specs of %s do not compile: %v, %d errors", root.name, err, list.Errors())
		}
	}
	return units
}

// mutations is how many objects are changed at random.
const mutations = 10_000

// TestNoFalseCalm changes compiled objects at random places, one at a time: each change is in the report, all of its values are told
// once, and it is said to have no effect only where that is true.
func TestNoFalseCalm(t *testing.T) {
	needsSchemas(t)
	units := catalog(t)
	names := make([]string, 0, len(units))
	for name := range units {
		names = append(names, name)
	}
	slices.Sort(names)
	random := rand.New(rand.NewPCG(1, 2))
	calm, quiet := map[string]int{}, map[string]int{}
	for i := 0; i < mutations; i++ {
		name := names[random.IntN(len(names))]
		before := units[name]
		after, what := mutated(random, before)
		if after == nil {
			i--
			continue
		}
		r := comparedUnits(units, name, before, after)
		switch {
		case len(r.Entries) == 0 || r.Totals.Values == 0:
			t.Fatalf("mutation %d of %s is not in the report: %s", i, name, what)
		case claimedOnce(t, &r) != r.Totals.Values:
			t.Fatalf("mutation %d of %s: %d values differ, %d are told: %s", i, name, r.Totals.Values, claimedOnce(t, &r), what)
		}
		if !slices.ContainsFunc(r.Entries, func(e group.Entry) bool { return e.Consequence != rule.NoEffect }) {
			reason := harmless(&r)
			if reason == "" {
				t.Errorf("mutation %d of %s is said to have no effect: %s\n%s", i, name, what, summary(&r))
			}
			calm[reason]++
		} else if r.Worst() == rule.Info {
			e := &r.Entries[0]
			what := e.Rule + ": " + e.Title
			if !slices.Contains(unnoticed, what) {
				t.Errorf("mutation %d of %s is said to be noticed by nobody: %s, %s", i, name, what, shownPath(e))
			}
			quiet[what]++
		}
	}
	t.Logf("%d mutations; without effect: %v; nobody notices: %v", mutations, calm, quiet)
}

// TestGrafts changes many objects of a unit at once, and puts parts of objects where parts of others were: whatever comes, every value
// that differs is told by one rule.
func TestGrafts(t *testing.T) {
	needsSchemas(t)
	units := catalog(t)
	var names []string
	var all []object.Object
	for _, name := range slices.Sorted(maps.Keys(units)) {
		names, all = append(names, name), append(all, units[name]...)
	}
	random := rand.New(rand.NewPCG(5, 6))
	for i := range 2000 {
		name := names[random.IntN(len(names))]
		before := units[name]
		after := slices.Clone(before)
		for range 1 + random.IntN(6) {
			at := random.IntN(len(after))
			root, other := clone(after[at].Root), clone(all[random.IntN(len(all))].Root)
			target, path := pick(random, &root)
			source, _ := pick(random, &other)
			if target == &root || strings.HasPrefix(path, "metadata.name") || path == "kind" {
				continue
			}
			key := target.Key
			*target = *source
			target.Key = key
			after[at] = object.New(root, after[at].Place, after[at].Rule)
		}
		r := comparedUnits(units, name, before, after)
		if told := claimedOnce(t, &r); told != r.Totals.Values {
			t.Fatalf("graft %d of %s: %d values differ, %d are told", i, name, r.Totals.Values, told)
		}
	}
}

// unnoticed are changes that have an effect, and that a reviewer need not look at.
var unnoticed = []string{
	"certification: it has another fingerprint, although its pods are the same",
	"admission: a policy says its reason in other words", "gitops: the GitOps engine looks or retries at other times",
	"labels: what people read changes", "security: what is recorded and warned about changes, not what is refused",
	"quota: it is described in another way, or in another version of its API", "gitops: the GitOps engine keeps what git no longer has",
	"gitops: what a GitOps engine would keep changes: the cluster has none",
}

func shownPath(e *group.Entry) string {
	c := e.Samples[0].Changes[0]
	return c.Object().ID.String() + " " + c.Path.String()
}

// harmless says why a mutation has no effect, or "".
func harmless(r *semdiff.Report) string {
	e := &r.Entries[0]
	c := e.Samples[0].Changes[0]
	switch {
	case strings.Contains(e.Title, "order"):
		return "the order of a set"
	case e.Rule == "spelling":
		return e.Title
	case e.Rule == "network":
		return "the same flows: " + c.Path.Last()
	case e.Rule == "access":
		return "the same rights: " + c.Path.Last()
	}
	return ""
}

// comparedUnits compares one unit, beside the platform of its cluster.
func comparedUnits(units map[string][]object.Object, name string, before, after []object.Object) semdiff.Report {
	in := semdiff.Input{KeepAll: true, Units: []semdiff.Unit{semdiff.NewUnit(cluster(name), unit(name), before, after, nil)}}
	if platform := cluster(name) + " platform"; platform != name {
		in.Units = append(in.Units, semdiff.NewUnit(cluster(name), "platform", units[platform], units[platform], nil))
	}
	return semdiff.Compare(in)
}

// mutated returns objects of which one was changed in one place.
func mutated(random *rand.Rand, objects []object.Object) ([]object.Object, string) {
	i := random.IntN(len(objects))
	o := objects[i]
	if random.IntN(100) == 0 {
		return slices.Delete(slices.Clone(objects), i, i+1), "remove " + o.ID.String()
	}
	root := clone(o.Root)
	at, path := pick(random, &root)
	if at == nil || path == "kind" || path == "metadata.name" || path == "metadata.namespace" || path == "metadata" {
		return nil, ""
	}
	what := change(random, at)
	if what == "" {
		return nil, ""
	}
	later := object.New(root, o.Place, o.Rule)
	if later.ID != o.ID {
		return nil, ""
	}
	result := slices.Clone(objects)
	result[i] = later
	return result, fmt.Sprintf("%s %s: %s", o.ID, path, what)
}

// pick walks down to a random node below the root.
func pick(random *rand.Rand, n *object.Node) (*object.Node, string) {
	path := ""
	for depth := 0; len(n.Children) > 0; depth++ {
		i := random.IntN(len(n.Children))
		path = strings.Trim(path+"."+n.Segment(i), ".")
		n = &n.Children[i]
		if depth > 1 && random.IntN(6) == 0 {
			break
		}
	}
	return n, path
}

// change changes a node in one of the ways that fit it, and says how.
func change(random *rand.Rand, n *object.Node) string {
	switch n.Kind {
	case object.TextNode:
		old := n.Text
		n.Text = [...]string{n.Text + "x", "0", "*", "other"}[random.IntN(4)]
		if n.Text == old {
			n.Text += "y"
		}
		return old + " becomes " + n.Text
	case object.NumberNode:
		n.Text += "1"
		return "number becomes " + n.Text
	case object.BoolNode:
		n.Text = map[string]string{"true": "false", "false": "true"}[n.Text]
		return "becomes " + n.Text
	case object.MapNode:
		if len(n.Children) == 0 || random.IntN(3) == 0 {
			n.Put(object.Text("zzz", "new", nil))
			return "a new key"
		}
		i := random.IntN(len(n.Children))
		key := n.Children[i].Key
		if key == "name" || key == "kind" || key == "namespace" || key == "metadata" {
			return ""
		}
		n.Children = slices.Delete(n.Children, i, i+1)
		return "without " + key
	case object.ListNode:
		if len(n.Children) == 0 {
			n.Children = append(n.Children, object.Text("", "new", nil))
			return "a first item"
		}
		i := random.IntN(len(n.Children))
		if random.IntN(3) == 0 && len(n.Children) > 1 && !equalNodes(n.Children[i], n.Children[(i+1)%len(n.Children)]) {
			j := (i + 1) % len(n.Children)
			n.Children[i], n.Children[j] = n.Children[j], n.Children[i]
			return "two items change places"
		}
		n.Children = slices.Delete(n.Children, i, i+1)
		return "without an item"
	}
	return ""
}

func equalNodes(a, b object.Node) bool { return fmt.Sprint(a.Value()) == fmt.Sprint(b.Value()) }

func clone(n object.Node) object.Node {
	children := make([]object.Node, len(n.Children))
	for i := range n.Children {
		children[i] = clone(n.Children[i])
	}
	if n.Children != nil {
		n.Children = children
	}
	return n
}

// TestNoFalseAlarm shuffles every list that is a set, and reverses the objects: nothing is said but that it has no effect.
func TestNoFalseAlarm(t *testing.T) {
	needsSchemas(t)
	units := catalog(t)
	random := rand.New(rand.NewPCG(3, 4))
	for name, before := range units {
		after := make([]object.Object, len(before))
		for i := range before {
			o := before[i]
			o.Root = clone(o.Root)
			shuffle(random, &o.Root)
			after[len(before)-1-i] = o
		}
		r := comparedUnits(units, name, before, after)
		for i := range r.Entries {
			if e := &r.Entries[i]; e.Consequence != rule.NoEffect {
				t.Errorf("%s: %s %s: %s (%s)", name, e.Consequence, e.Rule, e.Title, e.Samples[0].Detail)
			}
		}
		if claimed := claimedOnce(t, &r); claimed != r.Totals.Values {
			t.Errorf("%s: %d values differ, %d are told", name, r.Totals.Values, claimed)
		}
	}
}

// TestRewrites writes what is compiled in other words, all at once: ranges as their halves, rules of roles one by one, amounts in
// thousandths, defaults. Nothing is said but that it has no effect.
func TestRewrites(t *testing.T) {
	needsSchemas(t)
	units := catalog(t)
	rewritten := 0
	for name, before := range units {
		after := make([]object.Object, len(before))
		for i := range before {
			o := before[i]
			o.Root = clone(o.Root)
			rewritten += rewrite(&o)
			after[i] = o
		}
		r := comparedUnits(units, name, before, after)
		for i := range r.Entries {
			if e := &r.Entries[i]; e.Consequence != rule.NoEffect {
				t.Errorf("%s: %s %s: %s (%s)", name, e.Consequence, e.Rule, e.Title, e.Samples[0].Detail)
			}
		}
	}
	if rewritten < 300 {
		t.Errorf("only %d values were rewritten", rewritten)
	}
}

// rewrite writes an object in other words, and returns how many values it touched.
func rewrite(o *object.Object) int {
	switch o.ID.Kind {
	case "NetworkPolicy":
		return halves(o.Root.At("spec", "egress"))
	case "Role", "ClusterRole":
		return single(o.Root.Get("rules"))
	case "RoleBinding", "ClusterRoleBinding":
		subjects := o.Root.Get("subjects")
		for i := range subjects.Children {
			s := &subjects.Children[i]
			if s.Get("kind").Text == "ServiceAccount" {
				s.Put(object.Text("apiGroup", "", nil))
			}
		}
		return 1
	case "ResourceQuota":
		return thousandths(o.Root.At("spec", "hard"))
	case "ClusterQueue":
		o.Root.Get("spec").Put(object.Text("queueingStrategy", "BestEffortFIFO", nil))
		return 1
	}
	n := 0
	for _, path := range [][]string{{"spec"}} {
		n += amountsBelow(o.Root.At(path...))
	}
	return n
}

// halves writes each range of addresses as two.
func halves(rules *object.Node) int {
	n := 0
	for i := 0; rules != nil && i < len(rules.Children); i++ {
		peers := rules.Children[i].Get("to")
		for j := 0; peers != nil && j < len(peers.Children); j++ {
			block := peers.Children[j].Get("ipBlock")
			if block == nil {
				continue
			}
			prefix := netip.MustParsePrefix(block.Get("cidr").Text)
			second := clone(peers.Children[j])
			address := prefix.Addr().As4()
			bits := prefix.Bits()
			address[bits/8] |= 1 << (7 - bits%8)
			block.Get("cidr").Text = netip.PrefixFrom(prefix.Addr(), bits+1).String()
			second.At("ipBlock", "cidr").Text = netip.PrefixFrom(netip.AddrFrom4(address), bits+1).String()
			peers.Children = append(peers.Children, second)
			n++
			break
		}
	}
	return n
}

// single writes one rule for each verb.
func single(rules *object.Node) int {
	if rules == nil {
		return 0
	}
	var all []object.Node
	for i := range rules.Children {
		verbs := rules.Children[i].Get("verbs")
		for j := range verbs.Children {
			one := clone(rules.Children[i])
			one.Get("verbs").Children = []object.Node{verbs.Children[j]}
			all = append(all, one)
		}
	}
	rules.Children = all
	return len(all)
}

// thousandths writes whole amounts in thousandths.
func thousandths(amounts *object.Node) int {
	n := 0
	for i := 0; amounts != nil && i < len(amounts.Children); i++ {
		if a := &amounts.Children[i]; a.Kind == object.TextNode && strings.Trim(a.Text, "0123456789") == "" {
			a.Text += "000m"
			n++
		}
	}
	return n
}

func amountsBelow(node *object.Node) int {
	if node == nil {
		return 0
	}
	n := 0
	for i := range node.Children {
		c := &node.Children[i]
		if c.Kind == object.MapNode && (c.Key == "requests" || c.Key == "limits") {
			n += thousandths(c)
		}
		n += amountsBelow(c)
	}
	return n
}

// ordered are lists whose order has a meaning.
var ordered = []string{"command", "args", "initContainers", "flavors", "levels", "resourceGroups"}

func shuffle(random *rand.Rand, n *object.Node) {
	for i := range n.Children {
		shuffle(random, &n.Children[i])
	}
	refers := slices.ContainsFunc(n.Children, func(c object.Node) bool {
		value := c.Get("value")
		return value != nil && strings.Contains(value.Text, "$(")
	})
	if n.Kind == object.ListNode && !slices.Contains(ordered, n.Key) && !refers {
		random.Shuffle(len(n.Children), func(i, j int) { n.Children[i], n.Children[j] = n.Children[j], n.Children[i] })
	}
}
