package access

import (
	"slices"
	"strings"

	"lockstep.dev/lockstep/pkg/compile/diag"
	"lockstep.dev/lockstep/pkg/compile/object"
	"lockstep.dev/lockstep/pkg/compile/plan"
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
func PowerWithoutRoles(c *plan.Cluster, objects []object.Object, list *diag.List) {
	for i := range objects {
		switch o := &objects[i]; {
		case o.ID.Kind == "Secret" && o.ID.Group == "" && o.Root.Scalar("type") == tokenType:
			reportLastingToken(o, objects, list)
		case o.ID.Kind == constraintKind && o.ID.Group == openShiftGroup:
			reportConstraints(c, o, list)
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

func reportConstraints(c *plan.Cluster, o *object.Object, list *diag.List) {
	for _, field := range []string{"groups", "users"} {
		who := o.Root.Get(field)
		for i := 0; who != nil && i < len(who.Children); i++ {
			name := &who.Children[i]
			if t := tenantOfAccounts(c, name.Text); t != nil {
				list.Errorf(diag.BeyondRole, valueSpan(name, o), "the constraints `%s` are for `%s`, accounts of the tenant `%s`",
					o.ID.Name, name.Text, t.Name.V).
					Notef("its pods may be as these constraints allow").
					Helpf("remove `%s` from `%s`: jobs of tenants run under the constraints that are compiled", name.Text, field)
				return
			}
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

// tenantOfAccounts returns the tenant of a service account, or of all accounts of a namespace, or nil.
func tenantOfAccounts(c *plan.Cluster, name string) *plan.Tenant {
	account, isAccount := strings.CutPrefix(name, "system:serviceaccount:")
	group, isGroup := strings.CutPrefix(name, "system:serviceaccounts:")
	namespace, _, _ := strings.Cut(account, ":")
	if isGroup {
		namespace = group
	}
	for _, t := range c.Tenants {
		if (isAccount || isGroup) && slices.ContainsFunc(t.Namespaces, func(n plan.Value[string]) bool { return n.V == namespace }) {
			return t
		}
	}
	return nil
}
