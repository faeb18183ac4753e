// Package receivers proves that alerts go to receivers encrypted, and that no credential stands in what names them. It looks at AlertmanagerConfigs as
// they are emitted, so that patches and charts are held to what tenants' specs are. What is in a Secret it does not see.
package receivers

import (
	"strings"

	"lockstep.dev/lockstep/pkg/compile/diag"
	"lockstep.dev/lockstep/pkg/compile/object"
	"lockstep.dev/lockstep/pkg/compile/origin"
	"lockstep.dev/lockstep/pkg/compile/secret"
)

// Prove reports the receivers that break it; objects of other kinds are not its business.
func Prove(objects []object.Object, list *diag.List) {
	for i := range objects {
		o := &objects[i]
		if o.ID.Kind != "AlertmanagerConfig" || o.ID.Group != "monitoring.coreos.com" {
			continue
		}
		o.Root.Leaves(o.Rule, func(path []string, leaf *object.Node, from *origin.Origin) {
			at, patched := from.At, o.PatchSpan(leaf)
			if !patched.IsZero() {
				at = patched
			}
			switch {
			case !patched.IsZero() && secret.LooksSecret(leaf.Text): // that of a spec was found in its text
				secret.ReportKind(list, at, "a credential in a receiver of alerts")
			case path[0] == "spec" && strings.HasPrefix(strings.ToLower(leaf.Text), "http:"):
				list.Warnf(diag.ReceiverInTheClear, at, "alerts of `%s` go to `%s` by plain http: everybody on the way reads what became of the jobs", o.ID.Namespace, leaf.Text).
					Helpf("use https, or accept it with a waiver where the receiver runs beside Alertmanager")
			}
		})
	}
}
