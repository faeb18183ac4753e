package overlay

import (
	"encoding/json"
	"path"
	"strconv"

	"lockstep.dev/lockstep/pkg/compile/diag"
	"lockstep.dev/lockstep/pkg/compile/jsonnet"
	"lockstep.dev/lockstep/pkg/compile/object"
	"lockstep.dev/lockstep/pkg/compile/source"
)

// functionPatch is a patch that computes: a Jsonnet file with a function of an object.
type functionPatch struct {
	file  *source.File
	calls jsonnet.FunctionCaller
	// last is what it yielded last, which knows where it writes values.
	last jsonnet.Result
}

// isFunction reports whether the file of a patch is a program.
func isFunction(name *object.Node) bool {
	return name != nil && (path.Ext(name.Text) == ".jsonnet" || path.Ext(name.Text) == ".libsonnet")
}

// addFunctionStep adds the step of an entry of `patches` whose file is a program.
func (r *overlayReader) addFunctionStep(entry, named *object.Node) {
	if r.functions == nil {
		r.list.Errorf(diag.PatchFile, named.From.At, "Jsonnet is not evaluated here")
		return
	}
	target := entry.Get("target")
	if target == nil || entry.Get("patch") != nil {
		r.list.Errorf(diag.PatchFile, entry.From.At, "a function must have `target` and `path`, and nothing else").
			Helpf("add a `target` with a kind, and a name, a namespace or labels")
		return
	}
	name := r.localPath(named)
	if name == "" {
		return
	}
	file := r.loadFile(name, named.From.At)
	selects, ok := r.newSelectFunc(target)
	if file == nil || !ok {
		return
	}
	r.overlay.functions = r.functions
	s := step{what: "the function", at: source.WholeFile(file), target: target.From.At, selects: selects, function: &functionPatch{file: file, calls: r.functions}}
	r.addPatchStep(s, target, &object.Node{})
}

// callWithEach calls the function with each object.
func (f *functionPatch) callWithEach(objects []object.Object, list *diag.List) (map[object.ID]object.Node, bool) {
	output := map[object.ID]object.Node{}
	for i := range objects {
		o := &objects[i]
		argument, err := json.Marshal(o.Root.Value())
		if err != nil {
			panic("an object is not JSON: " + err.Error()) // it is by construction
		}
		f.last = f.calls.Call(f.file, string(argument))
		if f.last.Err != nil {
			f.reportError(f.last.Err, o.ID, list)
			return nil, false
		}
		if len(f.last.Documents) == 0 {
			continue // null: the object goes
		}
		root, err := fromJSON([]byte(f.last.Documents[0].JSON))
		if err != nil || f.last.Documents[0].Path != "" {
			list.Errorf(diag.PatchFails, source.WholeFile(f.file), "the function does not return an object for %s", o.ID).
				Helpf("return the object that is passed, changed, or `null` to remove it")
			return nil, false
		}
		keepNumberText(&o.Root, &root)
		output[root.ID()] = root
	}
	return output, true
}

func (f *functionPatch) reportError(wrong *jsonnet.Error, id object.ID, list *diag.List) {
	report := list.Errorf(diag.PatchFails, wrong.Span(f.file), "%s", wrong.Message).Notef("it was called for %s", id)
	for _, frame := range wrong.Trace {
		report.Notef("%s", frame)
	}
	if wrong.Help != "" {
		report.Helpf("%s", wrong.Help)
	}
}

// keepNumberText gives numbers that did not change their old text: Jsonnet has one kind of number and writes it in its own way.
func keepNumberText(old, fresh *object.Node) {
	for i := range fresh.Children {
		child := &fresh.Children[i]
		var before *object.Node
		switch {
		case fresh.Kind == object.MapNode:
			before = old.Get(child.Key)
		case i < len(old.Children):
			before = &old.Children[i]
		}
		if before == nil || before.Kind != child.Kind {
			continue
		}
		if child.Kind == object.NumberNode && parseNumber(before.Text) == parseNumber(child.Text) {
			child.Text = before.Text
		}
		keepNumberText(before, child)
	}
}

func parseNumber(text string) float64 {
	value, _ := strconv.ParseFloat(text, 64)
	return value
}

// placeOf is where the function writes a value, or as near as can be told.
func (f *functionPatch) placeOf(path []pathSegment) source.Span {
	keys := make([]string, len(path))
	for i, s := range path {
		keys[i] = s.name
		if s.index >= 0 {
			keys[i] = strconv.Itoa(s.index)
		}
	}
	if at, found := f.last.Place(keys); found {
		return at.Span(f.file)
	}
	return source.WholeFile(f.file)
}
