package compile

import (
	"io/fs"
	"reflect"
	"slices"
	"strings"

	"lockstep.dev/lockstep/api/v1alpha1"
	"lockstep.dev/lockstep/pkg/compile/check"
	"lockstep.dev/lockstep/pkg/compile/decode"
	"lockstep.dev/lockstep/pkg/compile/diag"
	"lockstep.dev/lockstep/pkg/compile/emit"
	"lockstep.dev/lockstep/pkg/compile/lower"
	"lockstep.dev/lockstep/pkg/compile/object"
	"lockstep.dev/lockstep/pkg/compile/origin"
	"lockstep.dev/lockstep/pkg/compile/plan"
	"lockstep.dev/lockstep/pkg/compile/proof/accepted"
	"lockstep.dev/lockstep/pkg/compile/proof/capacity"
	"lockstep.dev/lockstep/pkg/compile/secret"
	"lockstep.dev/lockstep/pkg/compile/source"
)

// TenantFolder is where specs of tenants are. Files elsewhere may hold some too, but are never compiled again on their own.
const TenantFolder = "tenants/"

// Again compiles tenants that have changed since the repository was last compiled without a mistake, without looking at the others.
// What all share is read once.
//
// That is possible where nothing else can depend on the change, and Again says so only then. It compiles the tenants as they were and
// as they are, and asks: does the change keep to fields of a spec that no rule compares between tenants (withoutOwn), do the objects
// mean the same to the proofs that compare units (interchangeable), is everything found on the way the same and about something else,
// and were the old objects in the output to the byte. Otherwise everything must be compiled.
type Again struct {
	root    fs.FS
	options Options
	shared  []*decode.Document
	// named are the tenants that runtimes admit.
	named   []string
	list    *diag.List
	servers accepted.Servers
	// facts are what the proof of capacity knows of runtimes, by cluster and name.
	facts map[string]capacity.Facts
}

// NewAgain reads what tenants share.
func NewAgain(root fs.FS, options Options) *Again {
	a := &Again{root: root, options: options, list: &diag.List{}, facts: map[string]capacity.Facts{}}
	files := source.Find(withoutTenants{root})
	a.shared = decode.Loader{Root: root, Jsonnet: options.Jsonnet}.Load(files, a.list)
	for _, d := range a.shared {
		if runtime, isRuntime := d.Spec.(*v1alpha1.MPIRuntime); isRuntime {
			a.named = append(a.named, runtime.Spec.Tenants...)
		}
	}
	return a
}

// absent are the tenants that runtimes name and that are not compiled, by name alone: they exist, and are nowhere.
func (a *Again) absent(present []*v1alpha1.Tenant) []*decode.Document {
	known := map[string]bool{}
	for _, t := range present {
		known[t.Metadata.Name] = true
	}
	var documents []*decode.Document
	for _, name := range a.named {
		if !known[name] {
			known[name] = true
			documents = append(documents, &decode.Document{Spec: &v1alpha1.Tenant{Metadata: v1alpha1.Metadata{Name: name}}, File: &source.File{}, Sound: true})
		}
	}
	return documents
}

// withoutTenants is a repository as if it had no folder of tenants.
type withoutTenants struct{ fs.FS }

func (w withoutTenants) Stat(name string) (fs.FileInfo, error) {
	if name+"/" == TenantFolder {
		return nil, &fs.PathError{Op: "stat", Path: name, Err: fs.ErrNotExist}
	}
	return fs.Stat(w.FS, name)
}

// Last is what is known of the last compilation.
type Last struct {
	// Findings are its warnings: there were no errors.
	Findings []*diag.Diagnostic
	// Made says whether it made a file as it is. That proves that compiling tenants alone gives what compiling them with all others does.
	Made func(emit.File) bool
}

// about says whether a finding is about one of the files.
func (l Last) about(files map[string]string) bool {
	return slices.ContainsFunc(l.Findings, func(d *diag.Diagnostic) bool {
		return slices.ContainsFunc(placesOf(d), func(at source.Span) bool { _, found := files[at.Path()]; return found })
	})
}

func placesOf(d *diag.Diagnostic) []source.Span {
	places := []source.Span{d.Span}
	for _, r := range d.Related {
		places = append(places, r.Span)
	}
	return places
}

// Tenants returns the units of the tenants in some files whose contents were before and are after, by their paths. False means that
// everything must be compiled.
func (a *Again) Tenants(before, after map[string]string, last Last) ([]Unit, bool) {
	if last.about(before) {
		return nil, false
	}
	was, is := a.side(before), a.side(after)
	defer was.patches.end()
	defer is.patches.end()
	if !was.sound || !is.sound || !slices.EqualFunc(was.tenants, is.tenants, equivalent) || !slices.Equal(was.findings, is.findings) {
		return nil, false
	}
	was.compile(nil)
	is.compile(&a.servers)
	if !is.sound || !slices.Equal(was.findings, is.findings) || !slices.EqualFunc(was.units, is.units, interchangeable) {
		return nil, false
	}
	units := make([]Unit, len(is.units))
	for i := range is.units {
		if slices.ContainsFunc(was.units[i].unit.Files, func(f emit.File) bool { return !last.Made(f) }) {
			return nil, false
		}
		units[i] = is.units[i].unit
	}
	return units, true
}

// side is the repository with some tenants only.
type side struct {
	of    *Again
	files map[string]string
	// sound says that nothing was found about the tenants, and no mistake elsewhere, which would come from missing the others.
	sound    bool
	tenants  []*v1alpha1.Tenant
	plans    []*plan.Cluster
	patches  overlays
	units    []compiled
	findings []string
}

func (a *Again) side(contents map[string]string) *side {
	s := &side{of: a, files: contents}
	var files []*source.File
	for name, content := range contents {
		if files = append(files, source.NewFile(name, []byte(content))); files[len(files)-1].Language() != source.YAML {
			return s
		}
	}
	slices.SortFunc(files, func(x, y *source.File) int { return strings.Compare(x.Path, y.Path) })
	list := &diag.List{}
	documents := decode.Files(files, list)
	secret.Find(files, list)
	for _, d := range documents {
		tenant, isTenant := d.Spec.(*v1alpha1.Tenant)
		if !isTenant {
			return s
		}
		s.tenants = append(s.tenants, tenant)
	}
	s.plans, s.patches = plansOf(a.root, slices.Concat(a.shared, documents, a.absent(s.tenants)), a.options, list)
	for _, p := range s.plans {
		p.Today = a.options.Today
		check.Cluster(p, list)
	}
	s.sound = true
	s.find(list)
	return s
}

// compile compiles the tenants, and proves their capacity with the runtimes that they use.
func (s *side) compile(servers *accepted.Servers) {
	list := &diag.List{}
	for _, p := range s.plans {
		facts := s.runtimes(p)
		for _, t := range p.Tenants {
			var server *accepted.Server
			if servers != nil {
				server = servers.Of(p, &diag.List{})
			}
			c := s.unit(p, lower.TenantFolder+"/"+t.Name.V, func(own *diag.List) []object.Object { return lower.Tenant(p, t, own) }, server, list)
			s.units, facts = append(s.units, c), append(facts, c.facts.capacity)
		}
		capacity.ProveOwn(p, facts, list)
	}
	s.find(list)
}

// runtimes returns the facts of the runtimes that these tenants use.
func (s *side) runtimes(p *plan.Cluster) []capacity.Facts {
	var facts []capacity.Facts
	for _, r := range p.Runtimes {
		if slices.ContainsFunc(p.Tenants, func(t *plan.Tenant) bool { return slices.Contains(t.Usable, r) }) {
			facts = append(facts, s.runtime(p, r))
		}
	}
	return facts
}

// runtime returns the facts of a runtime, whose objects are made once. What there is to find about it was found when everything was
// compiled, and has not changed.
func (s *side) runtime(p *plan.Cluster, r *plan.Runtime) capacity.Facts {
	key := p.Name.V + "/" + r.Name.V
	facts, known := s.of.facts[key]
	if !known {
		one := *p
		one.Runtimes = []*plan.Runtime{r}
		lowered := func(list *diag.List) []object.Object { return lower.Runtimes(&one, list) }
		objects, _ := job{cluster: &one, objects: lowered, overlay: s.patches[p.Name.V]}.patched(&diag.List{})
		facts = capacity.Of(objects)
		s.of.facts[key] = facts
	}
	return facts
}

func (s *side) unit(p *plan.Cluster, name string, objects func(*diag.List) []object.Object, server *accepted.Server, list *diag.List) compiled {
	c := job{cluster: p, name: name, own: true, objects: objects, overlay: s.patches[p.Name.V], server: server}.compile(nil)
	list.Take(c.list.Since(0))
	return c
}

// find notes findings. One about the tenants, waived or not, is a matter for everybody.
func (s *side) find(list *diag.List) {
	s.sound = s.sound && list.Errors() == 0
	for _, d := range list.Sorted() {
		text := string(d.Code) + d.Message
		for _, at := range placesOf(d) {
			if _, ours := s.files[at.Path()]; ours {
				s.sound = false
			}
			text += "\x00" + at.String()
		}
		s.findings = append(s.findings, text)
	}
}

// equivalent says whether two tenants differ in their own fields only.
func equivalent(a, b *v1alpha1.Tenant) bool { return reflect.DeepEqual(withoutOwn(*a), withoutOwn(*b)) }

// withoutOwn empties the fields that no rule compares between tenants. TestOwnFields changes each and sees that nothing else does.
func withoutOwn(t v1alpha1.Tenant) v1alpha1.Tenant {
	own := &t.Spec
	own.DisplayName = ""
	// Accelerators stay: their sum is compared with what the cluster has.
	own.Quota = v1alpha1.Quota{Accelerators: own.Quota.Accelerators}
	own.Limits = v1alpha1.Limits{}
	own.Retention = v1alpha1.Retention{}
	return t
}

// interchangeable says whether two units mean the same to the proofs that compare units.
func interchangeable(a, b compiled) bool {
	// All facts but those of ProveOwn, whatever proofs come to know.
	a.facts.capacity, b.facts.capacity = a.facts.capacity.WithoutOwn(), b.facts.capacity.WithoutOwn()
	return a.unit.Cluster == b.unit.Cluster && a.unit.Name == b.unit.Name && a.list.Len() == 0 && b.list.Len() == 0 &&
		alike(reflect.ValueOf(a.facts), reflect.ValueOf(b.facts))
}

// places are the types of what says where something is written, not what.
var places = []reflect.Type{reflect.TypeFor[source.Span](), reflect.TypeFor[origin.Origin](), reflect.TypeFor[*origin.Origin](), reflect.TypeFor[*source.File]()}

// alike is reflect.DeepEqual without places.
func alike(a, b reflect.Value) bool {
	switch {
	case a.IsValid() != b.IsValid():
		return false
	case !a.IsValid() || slices.Contains(places, a.Type()) && a.Type() == b.Type():
		return true
	case a.Type() != b.Type():
		return false
	}
	switch a.Kind() {
	case reflect.Pointer, reflect.Interface:
		return alike(a.Elem(), b.Elem())
	case reflect.Struct:
		for i := range a.NumField() {
			if !alike(a.Field(i), b.Field(i)) {
				return false
			}
		}
		return true
	case reflect.Slice, reflect.Array:
		if a.Len() != b.Len() {
			return false
		}
		for i := range a.Len() {
			if !alike(a.Index(i), b.Index(i)) {
				return false
			}
		}
		return true
	case reflect.Map:
		return alikeMaps(a, b)
	case reflect.Func, reflect.Chan:
		return a.IsNil() && b.IsNil()
	}
	return a.Equal(b)
}

func alikeMaps(a, b reflect.Value) bool {
	if a.Len() != b.Len() {
		return false
	}
	for entries := a.MapRange(); entries.Next(); {
		if other := b.MapIndex(entries.Key()); !other.IsValid() || !alike(entries.Value(), other) {
			return false
		}
	}
	return true
}
