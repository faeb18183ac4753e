package compile

import (
	"io/fs"
	"path"
	"slices"
	"strings"
	"sync"

	"lockstep.dev/lockstep/api/v1alpha1"
	"lockstep.dev/lockstep/pkg/compile/decode"
	"lockstep.dev/lockstep/pkg/compile/diag"
	"lockstep.dev/lockstep/pkg/compile/lower"
	"lockstep.dev/lockstep/pkg/compile/object"
	"lockstep.dev/lockstep/pkg/compile/patch/overlay"
	"lockstep.dev/lockstep/pkg/compile/plan"
	"lockstep.dev/lockstep/pkg/compile/source"
	"lockstep.dev/lockstep/pkg/compile/waive"
)

// ComparedUnit is a unit of a cluster as two states of a repository have it. Objects are nil where a state does not have the unit.
type ComparedUnit struct {
	Cluster, Name string
	Before, After []object.Object
	// Removed are the objects of the state after that patches remove, and by which lines.
	Removed object.Removals
}

// States is what is known of two states of a repository without their objects.
type States struct {
	// Before and After are the plans of the clusters, sorted by name; BeforeList and AfterList what was found.
	Before, After         []*plan.Cluster
	BeforeList, AfterList *diag.List
	// BeforeWaivers and AfterWaivers are what specs accept, whether there is something to accept or not.
	BeforeWaivers, AfterWaivers []waive.SpecWaiver
	// Specs are those that are not the same.
	Specs []SpecPair
}

// Unreadable reports whether a state does not compile, so that there are no pairs. One that rules or proofs refuse does.
func (s States) Unreadable() bool { return s.BeforeList.Unreadable() || s.AfterList.Unreadable() }

// CompareStates compiles two states of a repository, and hands over their units side by side, cluster by cluster in a stable order, from one
// goroutine. It returns the first error of take.
//
// Tenants that cannot have changed on a cluster are left out: their spec is in a file that is the same in both states, and so is all that
// tenants share there (what is read of the repository beside their specs, less what the overlays of other clusters read). The other units always come. Objects are as overlays leave them;
// nothing is proven about them that takes a whole cluster: that is the work of Stream. What has run out since the state before came about
// does not count against it.
func CompareStates(before, after fs.FS, options Options, take func(ComparedUnit) error) (States, error) {
	options.decodeCache, options.overlayCache, options.planCache = &decode.Cache{}, &overlay.Cache{}, &plan.Cache{}
	var other sync.WaitGroup
	var first, second []*source.File
	other.Go(func() { first = source.Find(before) })
	second = source.Find(after)
	other.Wait()
	was, is := newState(before, first, options), newState(after, second, options)
	earlier := options
	earlier.mayLackCluster = true // all of it is new then
	other.Go(func() { was.plan(earlier) })
	is.plan(options)
	other.Wait()
	was = was.onDayOfMerge(before, earlier)
	defer was.patches.endAll()
	defer is.patches.endAll()
	states := States{Before: was.plans, After: is.plans, BeforeList: was.list, AfterList: is.list, BeforeWaivers: was.waivers.All(), AfterWaivers: is.waivers.All()}
	if states.Unreadable() {
		return states, nil
	}
	// What the states have in common was found.
	options.decodeCache, options.overlayCache, options.planCache = nil, nil, nil
	couples := unitPairsOf(was.unitJobs(options), is.unitJobs(options), sharedSpecsEqual(was, is))
	states.Specs = differingSpecs(was, is, options.Cluster)
	// The plans have all that objects need.
	was.documents, is.documents = nil, nil
	taken := 0
	err := runOrdered(options.Workers, len(couples), func(i int) compiledPair { return couples[i].compile() }, func(c compiledPair) error {
		was.addFindings(c.clusters[0], &c.found[0])
		is.addFindings(c.clusters[1], &c.found[1])
		if taken++; options.Progress != nil {
			defer options.Progress(taken, len(couples))
		}
		return take(c.pair)
	})
	for _, s := range []*comparedState{was, is} {
		s.waivers.Accept(nil, s.list.Since(0))
		s.waivers.ReportMistakes(s.list, false)
	}
	return states, err
}

// comparedState is one of two states.
type comparedState struct {
	plannedRepository
	list *diag.List
	// beside is the repository for what is read beside its specs.
	beside *recordingFS
}

// newState loads a state. States are loaded one after the other: what they share is decoded once.
func newState(root fs.FS, files []*source.File, options Options) *comparedState {
	s := &comparedState{list: &diag.List{}, beside: &recordingFS{FS: root, names: map[string]bool{}}}
	s.documents = loadFiles(root, files, options, s.list)
	return s
}

func (s *comparedState) plan(options Options) {
	s.plannedRepository = planDocuments(s.beside, s.documents, options, s.list)
	s.beside.recordAll("overlays")
	if s.list.Unreadable() {
		s.waivers.ReportMistakes(s.list, false)
	}
}

// addFindings takes what was found in a unit of a cluster, whose waivers may accept it: check accepts that, too.
func (s *comparedState) addFindings(c *plan.Cluster, found *diag.List) {
	began := s.list.Len()
	s.list.AddCopies(found.Since(0))
	if s.list.Len() > began {
		s.waivers.Accept(c, s.list.Since(began))
	}
}

// onDayOfMerge is a state as it was on the day on which it came about, if it is broken today and was not then: a waiver has expired since, or a
// runtime should be gone. Otherwise nobody could review the change that puts it right.
func (s *comparedState) onDayOfMerge(root fs.FS, options Options) *comparedState {
	if options.Today == "" || s.list.Errors() == 0 && !s.waivers.AnyExpired() {
		return s
	}
	options.Today = ""
	then := newState(root, source.Find(root), options)
	if then.plan(options); then.list.Errors() > 0 {
		then.patches.endAll()
		return s
	}
	s.patches.endAll()
	return then
}

// unitJobs renders components, so that their charts are recorded.
func (s *comparedState) unitJobs(options Options) []unitJob {
	return unitJobsOf(s.beside, options.Charts, s.plans, s.patches, s.list)
}

// sharedSpecsEqual returns whether all that the tenants of a cluster share is the same: the specs of everything else, and what overlays read, but
// for the folders of other clusters: their kustomizations are theirs. Only a program may read in any folder.
func sharedSpecsEqual(was, is *comparedState) func(cluster string) bool {
	same := slices.Equal(sharedDocuments(was.documents), sharedDocuments(is.documents))
	changed := was.beside.differingNames(is.beside)
	clusters := clustersOf(is.documents)
	return func(cluster string) bool {
		return same && !slices.ContainsFunc(changed, func(name string) bool {
			owner := clusterOfFile(name, clusters)
			return owner == "" || owner == cluster || was.patches[cluster].HasPrograms() || is.patches[cluster].HasPrograms()
		})
	}
}

// clustersOf returns the clusters with folders of their own, by these.
func clustersOf(documents []*decode.Document) map[string]string {
	clusters := map[string]string{}
	for _, d := range documents {
		if spec, isCluster := d.Spec.(*v1alpha1.Cluster); isCluster && clusterHasFolder(d.File) {
			clusters[path.Dir(d.File.Path)] = spec.Metadata.Name
		}
	}
	return clusters
}

// clusterOfFile returns the cluster in whose folder a file is, or "".
func clusterOfFile(name string, clusters map[string]string) string {
	for folder, cluster := range clusters {
		if name == folder || strings.HasPrefix(name, folder+"/") {
			return cluster
		}
	}
	return ""
}

// sharedDocuments are the documents that are not tenants. A document that is the same in both states is one (decode.Cache).
func sharedDocuments(documents []*decode.Document) []*decode.Document {
	return slices.DeleteFunc(slices.Clone(documents), func(d *decode.Document) bool { _, isTenant := d.Spec.(*v1alpha1.Tenant); return isTenant })
}

// unitPair is a unit before it is compiled; the zero job is a state that does not have it. Same says that the states have the same one.
type unitPair struct {
	before, after unitJob
	same          bool
}

// unitPairsOf joins the units of two states by cluster and name, in the order of the state that has them, and leaves out those that
// are the same.
func unitPairsOf(before, after []unitJob, sharesAll func(cluster string) bool) []unitPair {
	type name struct{ cluster, unit string }
	old := make(map[name]unitJob, len(before))
	for _, j := range before {
		old[name{j.cluster.Name.V, j.name}] = j
	}
	same := map[string]bool{}
	var couples []unitPair
	for _, j := range after {
		own := name{j.cluster.Name.V, j.name}
		if _, known := same[own.cluster]; !known {
			same[own.cluster] = sharesAll(own.cluster)
		}
		c := unitPair{before: old[own], after: j}
		delete(old, own)
		// Runtimes are made of what tenants share, and of nothing else.
		c.same = same[own.cluster] && j.name == lower.RuntimeFolder && c.before.objects != nil
		if !same[own.cluster] || c.before.tenant == nil || j.tenant == nil || c.before.tenant.Name.At.File != j.tenant.Name.At.File {
			couples = append(couples, c)
		}
	}
	for _, j := range before {
		if _, left := old[name{j.cluster.Name.V, j.name}]; left {
			couples = append(couples, unitPair{before: j})
		}
	}
	slices.SortStableFunc(couples, func(a, b unitPair) int {
		return strings.Compare(a.presentSide().cluster.Name.V, b.presentSide().cluster.Name.V)
	})
	return couples
}

func (c unitPair) presentSide() unitJob {
	if c.after.objects != nil {
		return c.after
	}
	return c.before
}

// compiledPair is a pair, and what was found in its two sides. Clusters are nil where a state does not have the unit.
type compiledPair struct {
	pair     ComparedUnit
	found    [2]diag.List
	clusters [2]*plan.Cluster
}

func (c unitPair) compile() compiledPair {
	result := compiledPair{pair: ComparedUnit{Cluster: c.presentSide().cluster.Name.V, Name: c.presentSide().name}, clusters: [2]*plan.Cluster{c.before.cluster, c.after.cluster}}
	for i, side := range []struct {
		job     unitJob
		objects *[]object.Object
	}{{c.before, &result.pair.Before}, {c.after, &result.pair.After}} {
		if side.job.objects != nil {
			var effects overlay.Effects
			*side.objects, effects = side.job.patchedObjects(&result.found[i])
			result.pair.Removed = effects.Removed()
		}
		if c.same {
			result.pair.After, result.found[1] = result.pair.Before, result.found[0]
			break
		}
	}
	return result
}
