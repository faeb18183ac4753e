package access

import (
	"slices"
	"strings"

	"lockstep.dev/lockstep/pkg/compile/diag"
	"lockstep.dev/lockstep/pkg/compile/object"
	"lockstep.dev/lockstep/pkg/compile/source"
)

const (
	tokenType      = "kubernetes.io/service-account-token"
	tokenAccount   = "kubernetes.io/service-account.name"
	constraintKind = "SecurityContextConstraints"
	openShiftGroup = "security.openshift.io"
)

// PowerWithoutRoles reports what gives power without a role: Secrets with tokens that never end, and OpenShift's constraints for everybody. It looks at
// the objects of one unit, and is safe to call from many goroutines.
func PowerWithoutRoles(objects []object.Object, list *diag.List) {
	for i := range objects {
		switch o := &objects[i]; {
		case o.ID.Kind == "Secret" && o.ID.Group == "" && o.Root.Scalar("type") == tokenType:
			reportLastingToken(o, objects, list)
		case o.ID.Kind == constraintKind && o.ID.Group == openShiftGroup:
			reportConstraints(o, list)
		}
	}
}

// reportLastingToken reports one of an account of somebody else: a component may need one of an account that it brings.
func reportLastingToken(o *object.Object, unit []object.Object, list *diag.List) {
	account := o.Root.At("metadata", "annotations", tokenAccount)
	if account == nil {
		return // the API server refuses it
	}
	own := object.ID{Kind: serviceAccount, Namespace: o.ID.Namespace, Name: account.Text}
	if slices.ContainsFunc(unit, func(other object.Object) bool { return other.ID == own }) {
		return
	}
	list.Warnf(diag.LastingToken, valueSpan(account, o), "the Secret `%s` in `%s` holds a token of the account `%s` that never ends", o.ID.Name, o.ID.Namespace, account.Text).
		Notef("whoever reads Secrets there, or the backup of etcd, acts as the account until somebody deletes the Secret").
		Helpf("let pods have tokens that end (`serviceAccountName`, projected volumes), and make others with `kubectl create token`")
}

// allOf are groups that each account, or each request, is in.
var allOf = []string{"system:authenticated", "system:unauthenticated", "system:serviceaccounts"}

func reportConstraints(o *object.Object, list *diag.List) {
	for _, field := range []string{"groups", "users"} {
		who := o.Root.Get(field)
		for i := 0; who != nil && i < len(who.Children); i++ {
			name := &who.Children[i]
			if name.Text != "*" && !slices.Contains(allOf, name.Text) && !strings.HasSuffix(name.Text, ":system:anonymous") {
				continue
			}
			list.Errorf(diag.EverybodyBound, valueSpan(name, o), "the constraints `%s` are for `%s`, which is everybody", o.ID.Name, name.Text).
				Notef("pods of all namespaces may be as these constraints allow").
				Helpf("bind the ClusterRole `system:openshift:scc:%s` to the account that needs them, in its namespace", o.ID.Name)
			return
		}
	}
}

// valueSpan is where a value comes from, or the object.
func valueSpan(n *object.Node, o *object.Object) source.Span {
	if n.From != nil && !n.From.At.IsZero() {
		return n.From.At
	}
	return o.Origin
}
