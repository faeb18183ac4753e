package semdiff

import (
	"slices"
	"strings"

	"lockstep.dev/lockstep/pkg/compile/object"
	"lockstep.dev/lockstep/pkg/compile/origin"
	"lockstep.dev/lockstep/pkg/compile/proof/access"
	"lockstep.dev/lockstep/pkg/compile/proof/isolation"
	"lockstep.dev/lockstep/pkg/mpi"
)

// runtimesAnnotation is on the namespaces of a tenant: the runtimes that it may use.
const runtimesAnnotation = "lockstep.dev/runtimes"

// externalAnnotation has those that others installed.
const externalAnnotation = "lockstep.dev/external-runtimes"

// state is what is kept of one side of a cluster when its units are gone.
type state struct {
	network isolation.Cluster
	access  access.Cluster
	// namespaces are those that are compiled.
	namespaces map[string]*namespaceState
	// closed are namespaces with a policy that denies everything and that an engine leaves alone.
	closed map[string]bool
	// claims has the volumes of a namespace.
	claims map[string][]claimState
	queues queues
	sync   engine
	// held is computed once, when somebody asks.
	held map[holder]*access.Holding
	// registries are those that the images of components and runtimes come from.
	registries map[string]bool
	// constraints says that there are SecurityContextConstraints: it is OpenShift.
	constraints bool
}

// namespaceState is a namespace.
type namespaceState struct {
	tenant   string
	runtimes []string
	kept     bool
	folder   string
}

// claimState is a volume of a namespace.
type claimState struct {
	name string
	size string
}

func newState() *state {
	return &state{namespaces: map[string]*namespaceState{}, closed: map[string]bool{}, claims: map[string][]claimState{}, queues: queues{}, registries: map[string]bool{}}
}

// add notes what must be known of the objects of a unit.
func (s *state) add(objects []object.Object) {
	s.note(objects, isolation.Of(objects), access.Of(objects), nil)
}

// addSame notes the objects of a unit that is the same in both states of a cluster, as most units are: the states share what they know.
func addSame(was, is *state, objects []object.Object) {
	network, rights := isolation.Of(objects), access.Of(objects)
	was.note(objects, network, rights, nil)
	is.note(objects, network, rights.Again(), was)
}

// note notes objects. From is a state that has noted them, or nil.
func (s *state) note(objects []object.Object, network isolation.Facts, rights access.Facts, from *state) {
	s.network.Add(network)
	s.access.Add(rights)
	for i := range objects {
		o := &objects[i]
		switch o.ID.Kind {
		case "Namespace":
			if from != nil {
				s.namespaces[o.ID.Name] = from.namespaces[o.ID.Name]
				continue
			}
			s.namespaces[o.ID.Name] = readNamespace(o)
		case "NetworkPolicy":
			s.closed[o.ID.Namespace] = s.closed[o.ID.Namespace] || kept(o) && deniesAll(o)
		case constraintKind:
			s.constraints = true
		case "PersistentVolumeClaim":
			s.claims[o.ID.Namespace] = append(s.claims[o.ID.Namespace], claimState{o.ID.Name, o.Root.Scalar("spec", "resources", "requests", "storage")})
		case "ClusterQueue", "Cohort", "ResourceQuota":
			if from != nil {
				s.queues.take(o.ID, from.queues)
				continue
			}
			s.queues.read(o)
		case "Kustomization", "Application":
			s.sync.read(o)
		default:
			if hasPods(o) {
				for _, image := range images(&o.Root) {
					s.registries[registry(image)] = true
				}
			}
		}
	}
}

// identical says whether two lists have the same objects, which come from the same places.
func identical(before, after []object.Object) bool {
	return slices.EqualFunc(before, after, func(a, b object.Object) bool {
		return a.ID == b.ID && a.Place == b.Place && a.Patched == b.Patched && sameOrigin(a.Rule, b.Rule) && sameNode(&a.Root, &b.Root)
	})
}

func sameNode(a, b *object.Node) bool {
	if a.Key != b.Key || a.Kind != b.Kind || a.Text != b.Text || len(a.Children) != len(b.Children) || !sameOrigin(a.From, b.From) {
		return false
	}
	for i := range a.Children {
		if !sameNode(&a.Children[i], &b.Children[i]) {
			return false
		}
	}
	return true
}

// sameOrigin is true only where it is plainly so.
func sameOrigin(a, b *origin.Origin) bool {
	return a == b || a != nil && b != nil && a.At == b.At && a.Kind == b.Kind && a.Why == b.Why && len(a.Also)+len(b.Also)+len(a.Lost)+len(b.Lost) == 0
}

func readNamespace(o *object.Object) *namespaceState {
	n := &namespaceState{tenant: o.Root.Scalar("metadata", "labels", mpi.TenantLabel), kept: kept(o), folder: o.Folder}
	if names := o.Root.Scalar("metadata", "annotations", runtimesAnnotation); names != "" {
		n.runtimes = strings.Split(names, ",")
	}
	return n
}

// deniesAll says whether a network policy closes a namespace by itself, in both directions.
func deniesAll(o *object.Object) bool {
	spec := o.Root.Get("spec")
	return spec != nil && len(spec.Children) == 2 && spec.Get("podSelector") != nil && spec.Get("podSelector").Leaf() &&
		spec.Get("policyTypes") != nil && len(spec.Get("policyTypes").Children) == 2
}

// kept says whether a GitOps engine leaves an object alone that git no longer has
// (https://argo-cd.readthedocs.io/en/stable/user-guide/sync-options/, https://fluxcd.io/flux/components/kustomize/kustomizations/).
func kept(o *object.Object) bool {
	annotations := o.Root.At("metadata", "annotations")
	return annotations.Scalar(fluxPrune) == "disabled" || strings.Contains(annotations.Scalar(argoOptions), "Prune=false")
}

// What keeps an object.
const (
	fluxPrune   = "kustomize.toolkit.fluxcd.io/prune"
	argoOptions = "argocd.argoproj.io/sync-options"
)

// engine is what a GitOps engine is told on one side.
type engine struct {
	// stages are the folders that it applies, accounts the service accounts with whose rights it does, as namespace/name.
	stages   []stageState
	accounts []string
}

// stageState is one folder that a GitOps engine applies.
type stageState struct {
	folder string
	prunes bool
}

func (e *engine) read(o *object.Object) {
	switch {
	case strings.HasSuffix(o.ID.Group, "kustomize.toolkit.fluxcd.io"):
		e.stages = append(e.stages, stageState{o.Root.Scalar("spec", "path"), o.Root.Scalar("spec", "prune") == "true"})
		if account := o.Root.Scalar("spec", "serviceAccountName"); account != "" {
			e.accounts = append(e.accounts, o.ID.Namespace+"/"+account)
		}
	case o.ID.Group == argoGroup:
		e.stages = append(e.stages, stageState{o.Root.Scalar("spec", "source", "path"), o.Root.Scalar("spec", "syncPolicy", "automated", "prune") == "true"})
	}
}

// prunes says whether the engine deletes what it no longer finds in a folder of a cluster; known is false where no engine applies it.
func (e *engine) prunes(cluster, folder string) (prunes, known bool) {
	best := -1
	for _, s := range e.stages {
		within := cluster + "/" + folder + "/"
		_, tail, found := strings.Cut(strings.TrimSuffix(s.folder, "/")+"/", cluster+"/")
		if found && strings.HasPrefix(within, cluster+"/"+tail) && len(tail) > best {
			best, prunes, known = len(tail), s.prunes, true
		}
	}
	return prunes, known
}
