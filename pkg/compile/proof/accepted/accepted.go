// Package accepted proves that the API server of a cluster accepts what was compiled for it: every object, ours, rendered by a chart
// or changed by a patch, is checked against the schemas of the cluster's version of Kubernetes (package schema says what that covers).
//
// A run has one Servers, so that clusters share schemas; ServerOf returns one cluster's Server; Server.Prove looks at the objects
// of one unit and is safe to call from many goroutines. What the server would say about a field is reported at the line
// of the spec, chart or patch that the field comes from.
//
// Not proven, and said once: everything if the build has no schemas, and what changed between two versions if there are schemas of a
// neighbour only. Kinds that are not known are accepted from charts and patches, which may bring their CRDs, and never from the compiler.
package accepted

import (
	"cmp"
	"fmt"
	"path"
	"strings"

	"lockstep.dev/lockstep/pkg/compile/diag"
	"lockstep.dev/lockstep/pkg/compile/object"
	"lockstep.dev/lockstep/pkg/compile/origin"
	"lockstep.dev/lockstep/pkg/compile/plan"
	"lockstep.dev/lockstep/pkg/compile/schema"
	"lockstep.dev/lockstep/pkg/compile/source"
)

// Servers are the API servers of the clusters of one run.
type Servers struct {
	versions map[int]*Server
}

// Server is what is known of the API servers of one version. A nil Server accepts everything.
type Server struct {
	schemas *schema.Schemas
}

// ServerOf returns the API server of a cluster. It reports what cannot be proven there.
func (s *Servers) ServerOf(cluster *plan.Cluster, list *diag.List) *Server {
	minor, found := nearestNumber(cluster.Minor, schema.AvailableMinors())
	switch {
	case !found:
		list.Warnf(diag.SchemasMissing, source.Span{}, "this build of runtime-compiler has no schemas of Kubernetes: whether API servers accept the objects was not checked").
			Helpf("use a released build, or run `make schemas` and build again")
		return nil
	case minor != cluster.Minor:
		list.Warnf(diag.VersionNotKnown, cluster.Version.At, "there are no schemas of Kubernetes 1.%d: the objects were checked against those of 1.%d", cluster.Minor, minor).
			Notef("there are schemas of %s", versionsText(schema.AvailableMinors()))
	}
	return s.serverOfVersion(minor)
}

// serverOfVersion returns the server of a version that there are schemas of.
func (s *Servers) serverOfVersion(minor int) *Server {
	if server := s.versions[minor]; server != nil {
		return server
	}
	schemas, err := schema.SchemasFor(minor)
	if err != nil {
		panic(fmt.Sprintf("schemas are listed and missing: %v", err))
	}
	if s.versions == nil {
		s.versions = map[int]*Server{}
	}
	s.versions[minor] = &Server{schemas}
	return s.versions[minor]
}

// nearestNumber returns the number that is nearest to the wanted one, of two the lower.
func nearestNumber(wanted int, of []int) (number int, found bool) {
	for _, candidate := range of {
		if !found || distance(candidate, wanted) < distance(number, wanted) {
			number, found = candidate, true
		}
	}
	return number, found
}

func distance(a, b int) int { return max(a-b, b-a) }

// versionsText lists minor versions for people.
func versionsText(minors []int) string {
	text := ""
	for i, minor := range minors {
		switch {
		case i > 0 && i == len(minors)-1:
			text += " and "
		case i > 0:
			text += ", "
		}
		text += fmt.Sprintf("1.%d", minor)
	}
	return text
}

// Prove reports what the server would refuse.
func (s *Server) Prove(objects []object.Object, list *diag.List) {
	if s == nil {
		return
	}
	for i := range objects {
		o := &objects[i]
		for _, p := range s.schemas.Check(&o.Root) {
			switch {
			case p.Unknown:
				reportUnknownKind(o, list)
				continue
			case p.Unserved:
				reportUnservedVersion(o, p.Message, list)
				continue
			}
			from := originOrPatch(cmp.Or(p.From, o.Rule), o)
			refused := o.ID.String()
			if p.OfPods {
				refused = "the pods of " + refused
			}
			list.Errorf(diag.Refused, keyPlace(placeOrSpec(from, o), from, &p), "the API server would refuse %s: %s", refused, p).Helpf("%s", remedyFor(from))
		}
	}
}

// reportUnknownKind reports an object of ours whose kind has no schema: one that a rule of the compiler makes, and no chart or file.
func reportUnknownKind(o *object.Object, list *diag.List) {
	if o.Rule != nil && o.Rule.Kind != origin.Constant {
		return
	}
	list.Errorf(diag.KindNotKnown, o.Origin, "there is no schema for %s: whether the API server accepts it is not known", o.ID).
		Helpf("%s", ourMistake)
}

// reportUnservedVersion reports an object that no API server of the version takes, at the line that says its kind.
func reportUnservedVersion(o *object.Object, why string, list *diag.List) {
	at := o.Origin
	if kind := o.Root.Get("kind"); kind != nil && kind.From != nil && !kind.From.At.IsZero() {
		at = kind.From.At
	}
	list.Errorf(diag.KindNotServed, at, "the API server does not have the kind of %s: %s", o.ID, why).
		Helpf("correct `apiVersion` and `kind`, or remove the object")
}

// originOrPatch is the origin of a value, or a patch of the object: it may have taken something away, or changed what the value must fit. Labels
// and annotations are for everybody, and fit always.
func originOrPatch(from *origin.Origin, o *object.Object) *origin.Origin {
	if from != nil && from.Kind == origin.Patched {
		return from
	}
	rendered := from != nil && from.Kind == origin.Rendered // charts have mistakes of their own
	var content []*object.Node
	for i := range o.Root.Children {
		if part := &o.Root.Children[i]; part.Key != "metadata" && !rendered {
			content = append(content, part)
		}
	}
	if at := o.PatchSpan(content...); !at.IsZero() {
		return &origin.Origin{Kind: origin.Patched, At: at}
	}
	return from
}

// placeOrSpec is where a value comes from; a constant comes from the spec that the object is made for.
func placeOrSpec(from *origin.Origin, o *object.Object) source.Span {
	if from == nil || from.At.IsZero() {
		return o.Origin
	}
	return from.At
}

const ourMistake = "it is a mistake in the compiler: please report it with the spec"

// isFromOverlay reports whether a file holds objects that an overlay adds, as opposed to a spec.
func isFromOverlay(name string) bool {
	return strings.HasPrefix(name, "overlays/") && !strings.HasPrefix(path.Base(name), "cluster.")
}

// remedyFor says who can put a value right.
func remedyFor(from *origin.Origin) string {
	switch {
	case from == nil:
		return ourMistake
	case from.Kind == origin.Patched:
		return "correct the patch"
	case from.Kind == origin.Rendered:
		return "correct the chart or the values that are given to it"
	case from.Kind == origin.Written && isFromOverlay(from.At.Path()):
		return "correct the object"
	case from.Kind == origin.Written:
		return "write another value; that the compiler did not refuse it earlier is a mistake in it: please report it"
	}
	return ourMistake
}
