package overlay

import (
	"encoding/json"
	"errors"
	"io/fs"
	"path"
	"slices"
	"strings"

	"sigs.k8s.io/kustomize/api/types"
	"sigs.k8s.io/yaml"

	"lockstep.dev/lockstep/api/v1alpha1"
	"lockstep.dev/lockstep/pkg/compile/diag"
	"lockstep.dev/lockstep/pkg/compile/jsonnet"
	"lockstep.dev/lockstep/pkg/compile/lower"
	"lockstep.dev/lockstep/pkg/compile/object"
	"lockstep.dev/lockstep/pkg/compile/origin"
	"lockstep.dev/lockstep/pkg/compile/source"
)

// ResourceFile is the file of the platform's folder with the objects that the overlay adds.
const ResourceFile = "overlay"

// specGroup is the API group of specs.
var specGroup, _, _ = strings.Cut(v1alpha1.APIVersion, "/")

// overlayReader makes an overlay.
type overlayReader struct {
	root    fs.FS
	folder  string
	list    *diag.List
	overlay *Overlay
	// functions calls Jsonnet, nil where there is none.
	functions jsonnet.FunctionCaller
}

// fields are what a kustomization may hold besides apiVersion, kind and metadata, in the order in which kustomize applies them.
// Resources come first, because replacements look for their sources there.
var fields = []struct {
	name string
	read func(*overlayReader, *object.Node)
}{
	{"resources", (*overlayReader).addResource},
	{"patches", (*overlayReader).addPatchSteps},
	{"labels", (*overlayReader).addLabelStep},
	{"commonAnnotations", nil},
	{"replicas", (*overlayReader).addReplicasStep},
	{"images", (*overlayReader).addImageStep},
	{"replacements", (*overlayReader).readReplacementEntry},
}

// refused are fields of a kustomization that do not fit here, and why.
var refused = map[string]string{
	"namePrefix":            "it renames objects, which others refer to by name",
	"nameSuffix":            "it renames objects, which others refer to by name",
	"namespace":             "it moves objects, which others refer to by namespace",
	"commonLabels":          "it changes what selectors of network policies and services select: use `labels`",
	"bases":                 "specs are the base: name files of this folder in `resources`",
	"patchesStrategicMerge": "kustomize has replaced it: use `patches`",
	"patchesJson6902":       "kustomize has replaced it: use `patches`",
	"imageTags":             "kustomize has replaced it: use `images`",
	"vars":                  "kustomize has replaced it: use `replacements`",
	"configMapGenerator":    "it makes names that nobody else can refer to: write the ConfigMap into a file and name it in `resources`",
	"secretGenerator":       "git is not a place for secrets",
	"helmCharts":            "name charts in `components` of the cluster's spec",
	"helmGlobals":           "name charts in `components` of the cluster's spec",
}

// readKustomization reads the kustomization.
func (r *overlayReader) readKustomization(name string) {
	file := r.loadFile(name, source.WholeFile(source.NewFile(name, nil)))
	if file == nil {
		return
	}
	roots := r.readDocuments(file, file)
	if len(roots) != 1 || roots[0].Kind != object.MapNode {
		if r.list.Errors() == 0 {
			r.list.Errorf(diag.PatchFile, source.WholeFile(file), "a kustomization must be one mapping")
		}
		return
	}
	root := &roots[0]
	if !r.fieldsAreAllowed(root) {
		return
	}
	for _, field := range fields {
		entries := root.Get(field.name)
		switch {
		case entries == nil:
		case field.name == "commonAnnotations":
			r.addCommonAnnotations(entries)
		default:
			for i := range entries.Children {
				field.read(r, &entries.Children[i])
			}
		}
	}
}

// fieldsAreAllowed reports fields that do not fit, and whether there are none.
func (r *overlayReader) fieldsAreAllowed(root *object.Node) bool {
	before := r.list.Len()
	var names []string
	for _, field := range fields {
		names = append(names, field.name)
	}
	for i := range root.Children {
		field := &root.Children[i]
		if field.Key == "apiVersion" || field.Key == "kind" || field.Key == "metadata" || slices.Contains(names, field.Key) {
			continue
		}
		report := r.list.Errorf(diag.PatchFieldRefused, keyPlaceOf(field.Key, field.From.At), "`%s` cannot be used here", field.Key)
		if why := refused[field.Key]; why != "" {
			report.Notef("%s", why)
		}
		report.Suggest(field.Key, names)
		if len(report.Help) == 0 {
			report.Helpf("use `%s`", strings.Join(names, "`, `"))
		}
	}
	if kind := root.Get("kind"); kind != nil && kind.Text != types.KustomizationKind {
		r.list.Errorf(diag.PatchFile, kind.From.At, "the kind must be `%s`, not `%s`", types.KustomizationKind, kind.Text)
	}
	if r.list.Len() > before {
		return false
	}
	var kustomization types.Kustomization
	if err := kustomization.Unmarshal(encodeJSON(root)); err != nil {
		r.reportInvalid(root, err)
		return false
	}
	return true
}

// encodeJSON returns a value as JSON, which YAML is too. Values are JSON by construction.
func encodeJSON(n *object.Node) []byte {
	data, _ := json.Marshal(n.Value())
	return data
}

// reportInvalid reports an error of a reader that knows no places, at the key that it names where it names one.
func (r *overlayReader) reportInvalid(root *object.Node, err error) {
	message := strings.Join(strings.Fields(err.Error()), " ")
	at := root.From.At
	if _, after, found := strings.Cut(message, "unknown field \""); found {
		name, _, _ := strings.Cut(after, "\"")
		root.Leaves(root.From, func(path []string, leaf *object.Node, from *origin.Origin) {
			if slices.Contains(path, name) || leaf.Key == name {
				at = keyPlaceOf(name, from.At)
			}
		})
	}
	r.list.Errorf(diag.PatchFile, at, "the kustomization cannot be read: %s", message)
}

func (r *overlayReader) loadFile(name string, at source.Span) *source.File {
	data, err := source.ReadBounded(r.root, name, source.MaxFileSize)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		r.list.Errorf(diag.PatchFileMissing, at, "there is no file `%s`", name).Helpf("name a file of the folder `%s`", r.folder)
		return nil
	case err != nil:
		r.list.Errorf(diag.PatchFileMissing, at, "cannot read `%s`: %s", name, strings.Join(strings.Fields(err.Error()), " "))
		return nil
	}
	return source.NewFile(name, data)
}

func (r *overlayReader) readDocuments(text, shown *source.File) []object.Node {
	roots, _, err := parseDocuments(text, shown)
	var wrong *readError
	if errors.As(err, &wrong) {
		r.list.Errorf(diag.PatchFile, wrong.at, "%s", wrong.message)
		return nil
	}
	return roots
}

// localPath returns the path of a file that the kustomization names, or "" after a mistake.
func (r *overlayReader) localPath(name *object.Node) string {
	clean := path.Clean(name.Text)
	if name.Kind != object.TextNode || strings.Contains(name.Text, "://") || !fs.ValidPath(clean) || clean == "." {
		r.list.Errorf(diag.PatchFileMissing, name.From.At, "`%s` is not a file of this folder", name.Text).
			Notef("nothing is read from the network or from other folders: a build is the same everywhere").
			Helpf("copy the file into `%s`", r.folder)
		return ""
	}
	return path.Join(r.folder, clean)
}

func (r *overlayReader) addStep(s step) { r.overlay.steps = append(r.overlay.steps, s) }

func selectsAll(*object.Object) bool { return true }

// addCommonAnnotations adds annotations to all objects.
func (r *overlayReader) addCommonAnnotations(entry *object.Node) {
	r.addStep(step{what: "`commonAnnotations`", at: entry.From.At, target: entry.From.At, selects: selectsAll, field: entry.Key, entry: entry.Value(), patch: object.Map("",
		object.Map("metadata", entry.Named("annotations")))})
}

func (r *overlayReader) addLabelStep(entry *object.Node) {
	for _, key := range []string{"includeSelectors", "fields"} {
		if switched := entry.Get(key); switched != nil && switched.Text != "false" {
			r.list.Errorf(diag.PatchFieldRefused, keyPlaceOf(key, switched.From.At), "`%s` cannot be used here", key).
				Notef("it changes what selectors of network policies and services select").Helpf("remove it")
			return
		}
	}
	pairs := object.Node{}
	if given := entry.Get("pairs"); given != nil {
		pairs = *given
	}
	r.addStep(step{what: "the entry of `labels`", at: entry.From.At, target: entry.From.At, selects: selectsAll, field: "labels", entry: []any{entry.Value()},
		patch: object.Map("", object.Map("metadata", pairs.Named("labels")))})
}

// addReplicasStep adds a step for workloads of a name.
func (r *overlayReader) addReplicasStep(entry *object.Node) {
	name := entry.Scalar("name")
	selects := func(o *object.Object) bool {
		return o.ID.Name == name && (o.ID.Kind == "Deployment" || o.ID.Kind == "StatefulSet" || o.ID.Kind == "ReplicaSet" || o.ID.Kind == "ReplicationController")
	}
	r.addStep(step{what: "the entry of `replicas` for `" + name + "`", at: entry.From.At, target: placeOf(entry, "name"), selects: selects, field: "replicas", entry: []any{entry.Value()}})
}

// addImageStep adds a step for objects with containers of an image.
func (r *overlayReader) addImageStep(entry *object.Node) {
	name := entry.Scalar("name")
	r.addStep(step{what: "the entry of `images` for `" + name + "`", at: entry.From.At, target: placeOf(entry, "name"),
		selects: func(o *object.Object) bool { return hasImage(&o.Root, name) }, field: "images", entry: []any{entry.Value()}})
}

func hasImage(n *object.Node, name string) bool {
	for i := range n.Children {
		child := &n.Children[i]
		if child.Key == "image" && child.Kind == object.TextNode {
			rest, found := strings.CutPrefix(child.Text, name)
			if found && (rest == "" || rest[0] == ':' || rest[0] == '@') {
				return true
			}
		}
		if hasImage(child, name) {
			return true
		}
	}
	return false
}

func placeOf(entry *object.Node, key string) source.Span {
	if value := entry.Get(key); value != nil {
		return value.From.At
	}
	return entry.From.At
}

// addResource adds the objects of a file.
func (r *overlayReader) addResource(name *object.Node) {
	file := r.localPath(name)
	if file == "" {
		return
	}
	loaded := r.loadFile(file, name.From.At)
	if loaded == nil {
		return
	}
	place := object.Place{Folder: lower.PlatformFolder, File: ResourceFile}
	for _, root := range r.readDocuments(loaded, loaded) {
		id := root.ID()
		switch {
		case root.Kind != object.MapNode || id.Kind == "" || id.Name == "":
			r.list.Errorf(diag.PatchResource, root.From.At, "a resource must have `kind` and `metadata.name`")
		case id.Group == specGroup:
			r.list.Errorf(diag.PatchResource, root.From.At, "%s is a spec, not an object of a cluster", id).
				Helpf("put specs into catalog/ or tenants/")
		case id.Kind == "Secret" && id.Group == "" && (root.Get("data") != nil || root.Get("stringData") != nil):
			r.list.Errorf(diag.PatchResource, root.From.At, "%s holds secret material", id).
				Notef("whoever can read the repository could read it").Helpf("let something in the cluster make the Secret")
		default:
			place.Origin = root.From.At
			r.overlay.resources = append(r.overlay.resources, object.New(root, place, root.From))
		}
	}
	object.Sort(r.overlay.resources)
}

// addPatchSteps adds the steps of an entry of `patches`: one for each document.
func (r *overlayReader) addPatchSteps(entry *object.Node) {
	for _, key := range []string{"allowNameChange", "allowKindChange"} {
		if option := entry.At("options", key); option != nil && option.Text == "true" {
			r.list.Errorf(diag.PatchFieldRefused, keyPlaceOf(key, option.From.At), "`%s` cannot be used here", key).
				Notef("objects refer to each other by kind, name and namespace").Helpf("remove it")
			return
		}
	}
	if named := entry.Get("path"); isFunction(named) {
		r.addFunctionStep(entry, named)
		return
	}
	contents, exact := r.patchContents(entry)
	target := entry.Get("target")
	for i := range contents {
		content := &contents[i]
		if !exact {
			setOrigin(content, entry.Get("patch").From)
		}
		if s, ok := r.newPatchStep(entry, target, content, len(contents) > 1); ok {
			r.addPatchStep(s, target, content)
		}
	}
}

// specKinds are the kinds of specs.
var specKinds = []string{v1alpha1.HardwareProfileKind, v1alpha1.MPIRuntimeKind, v1alpha1.TenantKind, v1alpha1.ClusterKind}

// addPatchStep adds a patch to the steps for specs, or to those for objects.
func (r *overlayReader) addPatchStep(s step, target, content *object.Node) {
	group := content.ID().Group
	if target != nil {
		group = target.Scalar("group")
		s.lacksGroup = group == "" && slices.Contains(specKinds, target.Scalar("kind"))
	}
	if group == specGroup {
		r.overlay.specs = append(r.overlay.specs, s)
		return
	}
	r.addStep(s)
}

// patchContents reads the documents of a patch. exact says that the places in them are right.
func (r *overlayReader) patchContents(entry *object.Node) (contents []object.Node, exact bool) {
	inline, named := entry.Get("patch"), entry.Get("path")
	switch {
	case inline != nil && named == nil && inline.Kind == object.TextNode:
		text, exact := scalarAsFile(inline)
		contents = r.readDocuments(text, inline.From.At.File)
		return r.requireContent(contents, inline), exact
	case named != nil && inline == nil:
		name := r.localPath(named)
		if name == "" {
			return nil, true
		}
		file := r.loadFile(name, named.From.At)
		if file == nil {
			return nil, true
		}
		return r.requireContent(r.readDocuments(file, file), named), true
	}
	r.list.Errorf(diag.PatchFile, entry.From.At, "a patch must have either `patch` or `path`")
	return nil, true
}

func (r *overlayReader) requireContent(contents []object.Node, at *object.Node) []object.Node {
	if len(contents) == 0 && r.list.Errors() == 0 {
		r.list.Errorf(diag.PatchFile, at.From.At, "the patch is empty")
	}
	return contents
}

// setOrigin gives all values one place.
func setOrigin(n *object.Node, from *origin.Origin) {
	n.From = from
	for i := range n.Children {
		setOrigin(&n.Children[i], from)
	}
}

func (r *overlayReader) newPatchStep(entry, target, content *object.Node, several bool) (step, bool) {
	s := step{what: "the patch", at: content.From.At, target: entry.From.At, field: "patches", patch: *content}
	value := map[string]any{"patch": string(encodeJSON(content))}
	s.entry = []any{value}
	switch {
	case content.Kind != object.MapNode && content.Kind != object.ListNode:
		r.list.Errorf(diag.PatchFile, content.From.At, "a patch must be a mapping (strategic merge) or a list of operations (JSON patch)")
		return s, false
	case target == nil && content.Kind == object.ListNode:
		r.list.Errorf(diag.PatchFile, entry.From.At, "a JSON patch has no `target`").
			Helpf("add a `target` with a kind, and a name, a namespace or labels")
		return s, false
	case target == nil:
		id := content.ID()
		if id.Kind == "" || id.Name == "" {
			r.list.Errorf(diag.PatchFile, content.From.At, "the patch does not say what it is for").
				Helpf("add a `target`, or `apiVersion`, `kind` and `metadata.name` to the patch")
			return s, false
		}
		s.target, s.selects = content.From.At, selectsExactly(content)
		s.names = [3]*object.Node{content.Get("kind"), content.At("metadata", "namespace"), content.At("metadata", "name")}
		s.what = "the patch for " + id.String()
		return s, true
	case several && content.Kind == object.MapNode:
		r.list.Errorf(diag.PatchFile, target.From.At, "a patch with several documents cannot have a `target`").Helpf("make an entry of each document")
		return s, false
	}
	value["target"] = target.Value()
	s.target, s.names = target.From.At, [3]*object.Node{target.Get("kind"), target.Get("namespace"), target.Get("name")}
	var ok bool
	s.selects, ok = r.newSelectFunc(target)
	return s, ok
}

func (r *overlayReader) newSelectFunc(target *object.Node) (func(*object.Object) bool, bool) {
	var wanted types.Selector
	err := yaml.UnmarshalStrict(encodeJSON(target), &wanted)
	var s objectSelector
	if err == nil {
		s, err = newSelector(&wanted)
	}
	if err != nil {
		r.list.Errorf(diag.PatchFile, target.From.At, "the target cannot be read: %s", strings.Join(strings.Fields(err.Error()), " "))
		return nil, false
	}
	return s.matches, true
}
