package rule

import (
	"slices"
	"strings"

	"lockstep.dev/lockstep/pkg/compile/object"
	"lockstep.dev/lockstep/pkg/compile/proof/access"
	"lockstep.dev/lockstep/pkg/compile/proof/isolation"
	"lockstep.dev/lockstep/pkg/compile/semdiff/match"
	"lockstep.dev/lockstep/pkg/mpi"
)

// Facts are what must be known of the objects of a unit to judge changes of others.
type Facts struct {
	network    isolation.Facts
	access     access.Facts
	namespaces []*namespace
	claims     []volumeClaim
	queues     []*queue
	stages     []engineStage
	// closed are namespaces with a policy that denies everything and that an engine leaves alone.
	closed []string
	// registries are those that the images of components and runtimes come from.
	registries []string
	// sources are the repositories that the engine follows; accounts the service accounts, as namespace/name; runtimes those of the catalog and
	// of tenants; folders those that objects are in.
	sources, accounts, runtimes, folders []string
	// parameters are the parameters of admission policies, parameterKinds their kinds as policy/kind.
	parameters     []policyParameters
	parameterKinds []string
	// warning are the policies with a binding that only warns or records, deciding those with another one.
	warning, deciding []string
	// constraints reports whether there are SecurityContextConstraints: it is OpenShift.
	constraints bool
}

// namespace is a namespace that is compiled.
type namespace struct {
	name, tenant, folder string
	runtimes             []string
	kept                 bool
}

// volumeClaim is a volume of a namespace, and whether the specs ask for it.
type volumeClaim struct {
	namespace, name, size string
	ofSpecs               bool
}

// FactsOf reads the objects of a unit.
func FactsOf(objects []object.Object) *Facts {
	f := &Facts{network: isolation.FactsOf(objects), access: access.FactsOf(objects)}
	for i := range objects {
		o := &objects[i]
		if len(f.folders) == 0 || f.folders[len(f.folders)-1] != o.Folder {
			f.folders = append(f.folders, o.Folder)
		}
		if isEngineObject(o) {
			f.sources = append(f.sources, followedPlaces(o.Root.Get("spec"), []string{"url", "endpoint", "repoURL"})...)
		}
		switch o.ID.Kind {
		case "Namespace":
			f.namespaces = append(f.namespaces, readNamespace(o))
		case "NetworkPolicy":
			if isKeptByEngine(o) && deniesAll(o) {
				f.closed = append(f.closed, o.ID.Namespace)
			}
		case "ServiceAccount":
			f.accounts = append(f.accounts, o.ID.Namespace+"/"+o.ID.Name)
		case constraintKind:
			f.constraints = true
		case "PersistentVolumeClaim":
			f.claims = append(f.claims, volumeClaim{o.ID.Namespace, o.ID.Name, o.Root.Scalar("spec", "resources", "requests", "storage"), !isForeignObject(o)})
		case "ClusterQueue", "Cohort", "ResourceQuota":
			if q := readQueue(o); q != nil {
				f.queues = append(f.queues, q)
			}
		case "Kustomization", "Application":
			if s, applies := readStage(o); applies {
				f.stages = append(f.stages, s)
			}
		default:
			f.readParameters(o)
			if slices.Contains(match.RuntimeKinds, o.ID.Kind) {
				f.runtimes = append(f.runtimes, o.ID.Name)
			}
			if hasPods(o) {
				f.registries = append(f.registries, registriesOf(imagesOf(&o.Root))...)
			}
		}
	}
	f.registries, f.sources, f.folders = sortedDistinct(f.registries), sortedDistinct(f.sources), sortedDistinct(f.folders)
	return f
}

// QueuesOnly returns what is known of queues, without the rest.
func (f *Facts) QueuesOnly() *Facts { return &Facts{queues: f.queues} }

func readNamespace(o *object.Object) *namespace {
	n := &namespace{name: o.ID.Name, tenant: o.Root.Scalar("metadata", "labels", mpi.TenantLabel), kept: isKeptByEngine(o), folder: o.Folder}
	if names := o.Root.Scalar("metadata", "annotations", runtimesAnnotation); names != "" {
		n.runtimes = strings.Split(names, ",")
	}
	return n
}

// deniesAll reports whether a network policy closes a namespace by itself, in both directions.
func deniesAll(o *object.Object) bool {
	spec := o.Root.Get("spec")
	return spec != nil && len(spec.Children) == 2 && spec.Get("podSelector") != nil && spec.Get("podSelector").Leaf() &&
		spec.Get("policyTypes") != nil && len(spec.Get("policyTypes").Children) == 2
}

// isKeptByEngine reports whether a GitOps engine leaves an object alone that git no longer has
// (https://argo-cd.readthedocs.io/en/stable/user-guide/sync-options/, https://fluxcd.io/flux/components/kustomize/kustomizations/).
func isKeptByEngine(o *object.Object) bool {
	annotations := o.Root.At("metadata", "annotations")
	return annotations.Scalar(fluxPrune) == "disabled" || strings.Contains(annotations.Scalar(argoOptions), "Prune=false")
}

// engineStage is one folder that a GitOps engine applies.
type engineStage struct {
	// object is the object that tells the engine to.
	object object.ID
	// in is the folder that the object is in, folder the one that the stage applies.
	in, folder string
	// prunes reports whether the engine deletes what it no longer finds in the folder, cascades whether what was applied goes with the stage,
	// and forces whether it deletes and makes again what it cannot change.
	prunes, cascades, forces bool
	// kept reports whether the stage itself stays when git no longer has it.
	kept bool
	// account is the service account with whose rights it applies, as namespace/name; "" is its own.
	account string
}

func readStage(o *object.Object) (s engineStage, applies bool) {
	switch {
	case strings.HasSuffix(o.ID.Group, "kustomize.toolkit.fluxcd.io"):
		s = engineStage{folder: o.Root.Scalar("spec", "path"), prunes: o.Root.Scalar("spec", "prune") == "true", forces: o.Root.Scalar("spec", "force") == "true"}
		if account := o.Root.Scalar("spec", "serviceAccountName"); account != "" {
			s.account = o.ID.Namespace + "/" + account
		}
	case o.ID.Group == argoGroup:
		s = engineStage{folder: o.Root.Scalar("spec", "source", "path"), prunes: o.Root.Scalar("spec", "syncPolicy", "automated", "prune") == "true"}
		s.forces = replacesObjects(o.Root.At("spec", "syncPolicy", "syncOptions").Strings())
	default:
		return engineStage{}, false
	}
	s.object, s.in, s.cascades, s.kept = o.ID, o.Folder, deletesWithStage(o), isKeptByEngine(o)
	return s, true
}
