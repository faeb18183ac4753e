// Package overlay changes what was compiled for a cluster by the kustomization beside the cluster's spec.
//
// Read reads overlays/<cluster>/kustomization.yaml and what it names, from the fs.FS of the specs: nothing from elsewhere, no
// plugin. A patch whose file is Jsonnet is a function of an object (function_patch.go), the one thing that kustomize does not
// have. An Overlay is a list of steps in the order of kustomize: patches, labels, annotations, replicas, images, replacements. Apply picks the objects that a step is for by the rules of kustomize's own selectors and hands these, and no others,
// to sigs.k8s.io/kustomize/api. A cluster of many objects costs no more than looking at their names, and an object
// that a step is for some tenths of a millisecond, or some hundredths if the step is plain (apply_directly.go). What
// comes back keeps its origins, except for values that the step changed: these come from the patch, and remember what
// they overrode.
//
// It is stricter than kustomize, which skips in silence: a step that is for no object of the whole cluster is an error, one that
// changes nothing a warning (ReportIneffective). Whatever would rename objects is refused, because others refer to them by name.
//
// Patches whose target is a spec (group lockstep.dev) change the specs of this cluster before they are decoded
// (patch_specs.go).
package overlay

import (
	"errors"
	"io/fs"
	"iter"
	"maps"
	"path"
	"sync"

	"lockstep.dev/lockstep/pkg/compile/diag"
	"lockstep.dev/lockstep/pkg/compile/jsonnet"
	"lockstep.dev/lockstep/pkg/compile/object"
	"lockstep.dev/lockstep/pkg/compile/source"
)

// FileName is what a kustomization is called. Kustomize has two more names, which are errors here.
const FileName = "kustomization.yaml"

// Overlay is the kustomization of a cluster. A nil Overlay changes nothing. It is safe for concurrent use.
type Overlay struct {
	steps     []step
	specs     []step
	resources []object.Object
	// functions calls those of steps, nil where there are none.
	functions jsonnet.FunctionCaller
	// one step at a time: kustomize has global state, and programs share a process.
	one sync.Mutex
}

// Read returns the overlay in a folder, or nil if there is none or it has a mistake. Without an evaluator patches that are programs are
// mistakes.
func Read(root fs.FS, folder string, evaluator jsonnet.Evaluator, list *diag.List) *Overlay {
	for _, other := range []string{"kustomization.yml", "Kustomization"} {
		if _, err := fs.Stat(root, path.Join(folder, other)); err == nil {
			file := source.NewFile(path.Join(folder, other), nil)
			list.Errorf(diag.PatchFile, source.WholeFile(file), "the file is not read because of its name").Helpf("rename it to `%s`", FileName)
		}
	}
	name := path.Join(folder, FileName)
	if _, err := fs.Stat(root, name); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	r := overlayReader{root: root, folder: folder, list: list, overlay: &Overlay{}}
	if evaluator != nil {
		r.functions = evaluator.Open(root)
	}
	before := list.Len()
	r.readKustomization(name)
	if list.Len() > before {
		return nil
	}
	return r.overlay
}

// End gives back what the overlay needs while it is applied: a process, where a patch is a program.
func (o *Overlay) End() {
	if o != nil && o.functions != nil {
		o.one.Lock()
		defer o.one.Unlock()
		o.functions.End()
	}
}

// Resources returns the objects that the overlay adds to the cluster.
func (o *Overlay) Resources() []object.Object {
	if o == nil {
		return nil
	}
	return o.resources
}

// Effect is what a step did.
type Effect struct {
	// Matched says that the step was for an object, Changed that it made a difference.
	Matched, Changed bool
	// Removed are the objects that it removed.
	Removed object.Removals
	// Written counts the values that it wrote, Replaced the values of earlier steps that it replaced, by the places in
	// patches that they come from.
	Written, Replaced placeCounts
}

type placeCounts map[source.Span]int

func (c placeCounts) join(other placeCounts) placeCounts {
	if c == nil {
		return maps.Clone(other)
	}
	for at, n := range other {
		c[at] += n
	}
	return c
}

// Effects has an Effect for each step.
type Effects []Effect

// Join adds what the steps did elsewhere.
func (e Effects) Join(other Effects) Effects {
	if e == nil {
		return other
	}
	for i := range other {
		e[i].Matched = e[i].Matched || other[i].Matched
		e[i].Changed = e[i].Changed || other[i].Changed
		e[i].Removed = e[i].Removed.Join(other[i].Removed)
		e[i].Written, e[i].Replaced = e[i].Written.join(other[i].Written), e[i].Replaced.join(other[i].Replaced)
	}
	return e
}

// Removed returns what all steps removed.
func (e Effects) Removed() object.Removals {
	var all object.Removals
	for i := range e {
		all = all.Join(e[i].Removed)
	}
	return all
}

// Apply applies the steps to some of the cluster's objects, which it may change.
func (o *Overlay) Apply(objects []object.Object, list *diag.List) ([]object.Object, Effects) {
	if o == nil || len(o.steps) == 0 {
		return objects, nil
	}
	effects := make(Effects, len(o.steps))
	for i := range o.steps {
		s := &o.steps[i]
		var picked []int
		for j := range objects {
			if s.selects(&objects[j]) {
				picked = append(picked, j)
			}
		}
		if len(picked) == 0 {
			continue
		}
		o.one.Lock()
		objects, effects[i] = s.apply(objects, picked, list)
		o.one.Unlock()
	}
	return objects, effects
}

// ReportIneffective reports the steps that were for nothing or changed nothing in the whole cluster. Suggestions come
// from its existing objects.
func (o *Overlay) ReportIneffective(effects Effects, existing iter.Seq[object.ID], list *diag.List) {
	if o == nil {
		return
	}
	all := make(Effects, len(o.steps)).Join(effects)
	for i, effect := range all {
		o.steps[i].reportIneffective(effect, existing, "object of the cluster",
			"compare it with what `runtime-compiler build` writes for the cluster, or remove it", list)
	}
	all.reportReplaced(o.steps, list)
}

// reportReplaced reports what steps write and later steps replace in all objects. A later step for some of the objects
// is an exception, and no mistake.
func (e Effects) reportReplaced(steps []step, list *diag.List) {
	for i := range e {
		for at, left := range e[i].Written {
			by := i
			for j := i + 1; j < len(e); j++ {
				if n := e[j].Replaced[at]; n > 0 {
					left, by = left-n, j
				}
			}
			if left == 0 && by > i {
				steps[i].reportReplacedAt(at, steps[by].at, list)
			}
		}
		steps[i].reportPathTwice(list)
	}
}
