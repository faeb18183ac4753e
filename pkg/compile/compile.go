// Package compile turns the specs of a repository into the files that a cluster needs.
//
// The flow is source → decode → resolve → plan → check → lower → patch → emit. Stages collect diagnostics and go on; where one
// found an error there is no output, and the diagnostics hold all mistakes of the run. The same input gives the same bytes,
// whatever the order in which a file system lists it and however many workers there are.
//
// The work after the plan is cut into units: what a whole cluster shares, one component, its runtimes, one tenant. Units do not
// see each other, so that they can be compiled side by side, handed over and forgotten: a large repository is never in memory as
// a whole. Stream does that; Compile keeps everything, for callers that look at objects.
//
// The package and all below it are pure: they read an fs.FS and return values. Only emit/disk writes.
package compile

import (
	"cmp"
	"io/fs"
	"slices"
	"strings"

	"lockstep.dev/lockstep/pkg/compile/check"
	"lockstep.dev/lockstep/pkg/compile/decode"
	"lockstep.dev/lockstep/pkg/compile/diag"
	"lockstep.dev/lockstep/pkg/compile/emit"
	"lockstep.dev/lockstep/pkg/compile/jobtemplate"
	"lockstep.dev/lockstep/pkg/compile/jsonnet"
	"lockstep.dev/lockstep/pkg/compile/object"
	"lockstep.dev/lockstep/pkg/compile/patch/chart"
	"lockstep.dev/lockstep/pkg/compile/plan"
	"lockstep.dev/lockstep/pkg/compile/resolve"
	"lockstep.dev/lockstep/pkg/compile/secret"
	"lockstep.dev/lockstep/pkg/compile/source"
	"lockstep.dev/lockstep/pkg/compile/unread"
	"lockstep.dev/lockstep/pkg/compile/waive"
)

// Options say what to compile.
type Options struct {
	// Cluster is the name of the only cluster to compile; empty means all.
	Cluster string
	// Workers is how many units are compiled at one time; less than 2 means one after the other. It does not change the output.
	Workers int
	// Today is the day on which the specs are judged, as 2026-11-21; dates that have passed are findings. Empty means that no date has
	// passed.
	Today string
	// Jsonnet evaluates specs that are programs; nil makes each of them an error.
	Jsonnet jsonnet.Evaluator
	// Charts renders components; nil makes each of them an error.
	Charts chart.Renderer
	// Prepare, if there is one, works on a unit before it is handed over, several at one time on the workers. Its error counts as one of
	// who takes the unit.
	Prepare func(Unit) error
	// Progress, if there is one, is told how many units of how many were handed over, after each.
	Progress func(done, of int)

	// mayLackCluster takes a repository without the cluster, or without any, for one that compiles to nothing.
	mayLackCluster bool
}

// Cluster is what was compiled for one cluster.
type Cluster struct {
	Name    string
	Objects *object.Set
	// Files are its output, sorted by path; paths begin with the cluster's name.
	Files []emit.File
}

// Compile compiles the repository below root. The clusters are sorted by name; there are none if the list holds an error.
func Compile(root fs.FS, options Options) ([]Cluster, *diag.List) {
	var clusters []Cluster
	// Keeping what is handed over cannot fail.
	list, _ := Stream(root, options, func(u Unit) error {
		if len(clusters) == 0 || clusters[len(clusters)-1].Name != u.Cluster {
			clusters = append(clusters, Cluster{Name: u.Cluster, Objects: &object.Set{}})
		}
		c := &clusters[len(clusters)-1]
		for _, o := range u.Objects {
			c.Objects.Add(o)
		}
		c.Files = append(c.Files, u.Files...)
		return nil
	})
	if list.Errors() > 0 {
		return nil, list
	}
	for _, c := range clusters {
		slices.SortFunc(c.Files, func(a, b emit.File) int { return strings.Compare(a.Path, b.Path) })
	}
	return clusters, list
}

// Stream compiles the repository below root and hands over one unit after the other, from one goroutine, cluster by cluster in a
// stable order; the last unit of a cluster lists the files of all. It returns the first error of take, after which it hands over
// nothing more. If the list holds an error, what was handed over must be thrown away.
func Stream(root fs.FS, options Options, take func(Unit) error) (*diag.List, error) {
	s := planState(root, options)
	// The plans have all that objects need.
	s.documents = nil
	defer s.patches.endAll()
	if s.list.Errors() > 0 {
		s.waivers.ReportMistakes(s.list, false)
		return s.list, nil
	}
	return s.list, s.stream(options, take)
}

// stream compiles the units of a state whose plans have no error.
func (s *state) stream(options Options, take func(Unit) error) error {
	// Lowering and emission, unit by unit; joining finds what units cannot know of each other.
	jobs := s.unitJobs(options)
	j := unitJoiner{list: s.list, take: take, prepare: options.Prepare, waivers: s.waivers}
	join := j.joinWithProgress(len(jobs), options.Progress)
	err := runOrdered(options.Workers, len(jobs), func(i int) compiledUnit { return jobs[i].compile(options.Prepare) },
		func(c compiledUnit) error {
			s.unreadable = s.unreadable || c.unreadable
			return join(c)
		})
	s.waivers.Accept(nil, s.list.Since(0))
	s.waivers.ReportMistakes(s.list, err == nil && options.Cluster == "" && s.list.Errors() == 0)
	return err
}

// Plans returns the plans of the clusters, sorted by name, for callers that ask what would be compiled if they were different. There
// are none if the list holds an error.
func Plans(root fs.FS, options Options) ([]*plan.Cluster, *diag.List) {
	s := planState(root, options)
	s.patches.endAll()
	if s.list.Errors() > 0 {
		return nil, s.list
	}
	return s.plans, s.list
}

// state is a repository while it is compiled.
type state struct {
	root fs.FS
	list *diag.List
	// unreadable reports whether something does not compile; what rules and proofs refuse does.
	unreadable bool
	documents  []*decode.Document
	// plans are those of the clusters, judged.
	plans []*plan.Cluster
	// patches wait for their objects, waivers for what is found later.
	patches overlays
	waivers *waive.Waivers
}

// planState reads and plans the repository below root. The caller ends its patches.
func planState(root fs.FS, options Options) *state {
	list := &diag.List{}
	documents := loadDocuments(root, options, list)
	plans, patches := plansOf(root, documents, options, list)
	waivers := waive.WaiversOf(plans, options.Today)
	for _, p := range plans {
		p.Today = options.Today
		found := &diag.List{}
		check.Cluster(p, found)
		if list.Errors() == 0 && found.Errors() == 0 { // objects are made of sound plans only
			judgeCertifications(p, patches[p.Name.V], found)
		}
		waivers.Accept(p, found.Since(0))
		list.AddCopies(check.MoveToPatches(found.Since(0), isPatchedFunc(documents)))
	}
	if options.Cluster == "" {
		check.VariantsHaveBaseRuntime(plans, list)
		check.TemplatesHaveUsers(plans, list)
	}
	waivers.Accept(nil, list.Since(0))
	return &state{
		root: root, list: list, unreadable: list.Unreadable(), documents: documents, plans: plans, patches: patches, waivers: waivers,
	}
}

// loadDocuments reads and decodes all specs.
func loadDocuments(root fs.FS, options Options, list *diag.List) []*decode.Document {
	files := source.Find(root)
	// Bytes, then typed values: from here on nobody sees YAML.
	documents := decode.Loader{Root: root, Jsonnet: options.Jsonnet, Workers: options.Workers}.Load(files, list)
	// Secrets are searched in the text itself: a comment publishes a secret too.
	secret.Find(files, list)
	unread.Find(root, list)
	return documents
}

// loadTemplates reads the jobs that users begin with.
func loadTemplates(root fs.FS, list *diag.List) []*jobtemplate.Template {
	files := source.FindTemplates(root)
	templates := jobtemplate.Load(root, files, list)
	secret.Find(files, list)
	return templates
}

// plansOf follows references and plans clusters, and returns the patches that wait for their objects.
func plansOf(root fs.FS, documents []*decode.Document, options Options, list *diag.List) ([]*plan.Cluster, overlays) {
	// References are followed before anything is judged, so that each mistake is reported once, where it was made.
	bundle := resolve.IndexDocuments(documents, list)
	bundle.Templates = loadTemplates(root, list)
	if !options.mayLackCluster {
		plan.RequireCluster(bundle, options.Cluster, list)
	}
	// Each cluster may have patches of its own, for specs and for objects.
	patches := readOverlays(root, bundle, options, list)
	bundle.CheckCohorts(func(cluster string) bool { return patches[cluster].PatchesSpecs() }, list)
	// A plan leaves out specs with mistakes, so checks can go on with the sound ones.
	plans := plan.ClustersExcept(bundle, options.Cluster, func(name string) bool { return patches[name].PatchesSpecs() })
	planWithPatches(plans, bundle, documents, patches, list)
	for _, p := range plans {
		list.Docs = cmp.Or(list.Docs, p.Docs.V)
	}
	return plans, patches
}
