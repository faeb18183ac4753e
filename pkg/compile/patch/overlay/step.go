package overlay

import (
	"encoding/json"
	"iter"
	"maps"
	"slices"
	"strings"

	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/api/resmap"
	"sigs.k8s.io/kustomize/kyaml/filesys"

	"lockstep.dev/lockstep/pkg/compile/diag"
	"lockstep.dev/lockstep/pkg/compile/object"
	"lockstep.dev/lockstep/pkg/compile/source"
)

// step is one entry of a kustomization.
type step struct {
	// what it is called in messages, and where it is.
	what string
	at   source.Span
	// target is where it says what it is for.
	target source.Span
	// names are the kind, the namespace and the name that it asks for, each nil if it does not.
	names   [3]*object.Node
	selects func(*object.Object) bool
	// lacksGroup reports whether the target names a kind of specs, and not their group.
	lacksGroup bool
	// field and entry are what the kustomization holds for it.
	field string
	entry any
	// patch is the patch with its places, nothing for other steps.
	patch object.Node
	// function is the patch that is a program, else nil.
	function *functionPatch
	// sources are objects that kustomize must see and that do not change.
	sources []object.Object
}

func (s *step) reportIneffective(effect Effect, existing iter.Seq[object.ID], things, help string, list *diag.List) {
	switch {
	case !effect.Matched && s.lacksGroup:
		list.Errorf(diag.PatchMatchesNothing, s.target, "%s is for no %s", s.what, things).
			Notef("a kind of specs without their group is looked for among what is compiled").Helpf("specs are in the group `%s`: write `group: %s` into `target`", specGroup, specGroup)
	case !effect.Matched:
		if wrong, meant := s.misspelt(existing); wrong != nil {
			list.Errorf(diag.PatchMatchesNothing, wrong.From.At, "%s is for no %s", s.what, things).Meant(wrong.Text, meant)
			return
		}
		list.Errorf(diag.PatchMatchesNothing, s.target, "%s is for no %s", s.what, things).Helpf("%s", help)
	case !effect.Changed:
		list.Warnf(diag.PatchChangesNothing, s.at, "%s changes nothing", s.what).
			Helpf("remove it, or correct its values")
	}
}

func (s *step) reportReplacedAt(at, by source.Span, list *diag.List) {
	list.Warnf(diag.PatchReplaced, at, "what %s writes here is replaced by a later patch", s.what).
		Also(by, "the later one").Helpf("remove one of them: the later one counts")
}

// reportPathTwice reports a path that a JSON patch writes twice. In lists each `add` inserts.
func (s *step) reportPathTwice(list *diag.List) {
	first := map[string]*object.Node{}
	for operation := range s.patch.Items() {
		pointer := operation.Get("path")
		if pointer == nil || pointer.From == nil || strings.ContainsAny(pointer.Text[len(pointer.Text)-1:], "-0123456789") {
			continue
		}
		if before := first[pointer.Text]; before != nil && operation.Scalar("op") == "replace" {
			s.reportReplacedAt(before.From.At, pointer.From.At, list)
		}
		if first[pointer.Text] = pointer; operation.Scalar("op") == "test" {
			delete(first, pointer.Text)
		}
	}
}

// misspelt returns the name that alone keeps the step from an object, and the nearest name of such an object; nil if
// none is near.
func (s *step) misspelt(existing iter.Seq[object.ID]) (wrong *object.Node, meant string) {
	var others [3][]string
	for id := range existing {
		var differing []int
		has := [3]string{id.Kind, id.Namespace, id.Name}
		for i, name := range s.names {
			if name != nil && name.Text != "" && name.Text != has[i] {
				differing = append(differing, i)
			}
		}
		if len(differing) == 1 {
			others[differing[0]] = append(others[differing[0]], has[differing[0]])
		}
	}
	for i, names := range others {
		slices.Sort(names)
		if len(names) == 0 {
			continue
		}
		if meant, near := diag.Nearest(s.names[i].Text, slices.Compact(names)); near {
			return s.names[i], meant
		}
	}
	return nil, ""
}

// apply runs kustomize over the picked objects.
func (s *step) apply(objects []object.Object, picked []int, list *diag.List) (result []object.Object, done Effect) {
	failed := Effect{Matched: true, Changed: true}
	input := append([]object.Object{}, s.sources...)
	for _, i := range picked {
		input = append(input, objects[i])
	}
	for i := range input[len(s.sources):] {
		if !s.patchPathsExist(&input[len(s.sources)+i], list) {
			return objects, failed
		}
	}
	output, ok := s.outputOf(input, list)
	if !ok {
		return objects, failed
	}
	done.Matched = true
	for _, i := range picked {
		o := &objects[i]
		root, found := output[o.ID]
		if !found {
			done.Removed = done.Removed.Join(object.Removals{o.ID: s.removalPlace()})
			continue
		}
		delete(output, o.ID)
		s.setContent(o, root, &done)
	}
	for _, source := range s.sources {
		delete(output, source.ID)
	}
	for id := range output {
		list.Errorf(diag.PatchRenames, s.at, "%s turns an object into %s", s.what, id).
			Notef("objects refer to each other by kind, name and namespace").Helpf("change the spec that the name comes from")
		return objects, failed
	}
	if len(done.Removed) > 0 {
		done.Changed = true
		objects = slices.DeleteFunc(objects, func(o object.Object) bool { _, gone := done.Removed[o.ID]; return gone })
	}
	return objects, done
}

// outputOf is what the step makes of objects, by their identities.
func (s *step) outputOf(input []object.Object, list *diag.List) (map[object.ID]object.Node, bool) {
	if s.function != nil {
		return s.function.callWithEach(input, list)
	}
	direct := map[object.ID]object.Node{}
	left := slices.DeleteFunc(input, func(o object.Object) bool {
		root, ok := s.applyDirectly(&o)
		if ok {
			direct[o.ID] = root
		}
		return ok
	})
	if len(left) == 0 {
		return direct, true
	}
	output, err := s.runKustomize(left)
	if err != nil {
		s.reportError(err, list)
		return nil, false
	}
	maps.Copy(output, direct)
	return output, true
}

// setContent gives an object its new content, and notes what differs.
func (s *step) setContent(o *object.Object, root object.Node, done *Effect) {
	c := originCarrier{step: s, written: placeCounts{}, replaced: placeCounts{}}
	c.carryOrigins(&o.Root, o.Rule, &root, nil)
	o.Root = root
	o.Patched.Changed = o.Patched.Changed || c.changed
	if o.Patched.Cut.IsZero() {
		o.Patched.Cut = c.cut
	}
	done.Changed = done.Changed || c.changed
	done.Written, done.Replaced = done.Written.join(c.written), done.Replaced.join(c.replaced)
}

// removalPlace is the place where the patch says that an object goes.
func (s *step) removalPlace() source.Span {
	if mark := s.patch.Get("$patch"); mark != nil && mark.From != nil {
		return mark.From.At
	}
	return s.at
}

// runKustomize runs the step in memory.
func (s *step) runKustomize(objects []object.Object) (map[object.ID]object.Node, error) {
	const folder, file = "/overlay", "objects.yaml"
	var text strings.Builder
	for i := range objects {
		data, err := json.Marshal(objects[i].Root.Value())
		if err != nil {
			return nil, err
		}
		text.WriteString("---\n")
		text.Write(data)
		text.WriteString("\n")
	}
	kustomization, err := json.Marshal(map[string]any{"resources": []string{file}, s.field: s.entry})
	if err != nil {
		return nil, err
	}
	disk := filesys.MakeFsInMemory()
	// Writing to memory cannot fail.
	_ = disk.WriteFile(folder+"/"+file, []byte(text.String()))
	_ = disk.WriteFile(folder+"/"+FileName, kustomization)
	result, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(disk, folder)
	if err != nil {
		return nil, err
	}
	return nodesByID(result)
}

func nodesByID(result resmap.ResMap) (map[object.ID]object.Node, error) {
	found := map[object.ID]object.Node{}
	for _, resource := range result.Resources() {
		data, err := resource.MarshalJSON()
		if err != nil {
			return nil, err
		}
		root, err := fromJSON(data)
		if err != nil {
			return nil, err
		}
		found[root.ID()] = root
	}
	return found, nil
}

func fromJSON(data []byte) (object.Node, error) {
	decoder := json.NewDecoder(strings.NewReader(string(data)))
	decoder.UseNumber()
	var value map[string]any
	if err := decoder.Decode(&value); err != nil {
		return object.Node{}, err
	}
	return object.FromValue("", value, nil), nil
}

// reportError reports an error of kustomize in one line, at the operation that it names where it names one.
func (s *step) reportError(err error, list *diag.List) {
	message := strings.Join(strings.Fields(err.Error()), " ")
	if i := strings.Index(message, "trouble configuring builtin"); i > 0 {
		message = message[i:]
	}
	at := s.operationSpan(message)
	list.Errorf(diag.PatchFails, at, "%s cannot be applied: %s", s.what, message)
}

// operationSpan returns the place of the operation that a message is about: the one whose path it names, best with what it does.
func (s *step) operationSpan(message string) source.Span {
	at, surely := s.at, false
	for i := range s.patch.Children {
		name, path := s.patch.Children[i].Get("op"), s.patch.Children[i].Get("path")
		switch {
		case s.patch.Kind != object.ListNode || name == nil || path == nil || surely:
		case strings.HasSuffix(message, name.Text):
			at = name.From.At
		case strings.Contains(message, path.Text):
			at, surely = path.From.At, strings.Contains(message, name.Text)
		}
	}
	return at
}
