package accepted

import (
	"strings"

	"lockstep.dev/lockstep/pkg/compile/diag"
	"lockstep.dev/lockstep/pkg/compile/object"
)

// setByServer are fields of metadata that an API server sets. It refuses an object with a uid or resourceVersion that
// is not its own, and its garbage collection deletes one whose owner is not there.
var setByServer = []string{
	"uid", "resourceVersion", "creationTimestamp", "deletionTimestamp", "generation", "managedFields", "ownerReferences",
	"selfLink",
}

// ReportCopied reports objects that were copied from a cluster with what its server set, one finding for each.
func ReportCopied(objects []object.Object, list *diag.List) {
	for i := range objects {
		var fields []string
		var first *object.Node
		metadata := objects[i].Root.Get("metadata")
		for _, name := range setByServer {
			if n := metadata.Get(name); n != nil && n.Kind != object.NullNode {
				fields = append(fields, name)
				if first == nil {
					first = n
				}
			}
		}
		if first != nil {
			list.Warnf(diag.CopiedFromCluster, placeOrSpec(first.From, &objects[i]), "%s has `%s`, which API servers set",
				objects[i].ID, strings.Join(fields, "`, `")).
				Helpf("remove `%s` from `metadata`", strings.Join(fields, "`, `"))
		}
	}
}
