package isolation

import (
	"cmp"
	"slices"
	"strings"

	"lockstep.dev/lockstep/pkg/compile/object"
	"lockstep.dev/lockstep/pkg/compile/proof/labels"
)

// Policies mean nothing to a pod that uses the network of its machine. Something must refuse such pods: a Pod Security Standard, or
// where none fits an admission policy with a rule about hostNetwork.

// enforceLabel refuses pods above a Pod Security Standard.
const enforceLabel = "pod-security.kubernetes.io/enforce"

const admission = "admissionregistration.k8s.io"

// hostNetworkRefusal is an admission policy that refuses pods on the network of their machine, or the binding that makes one work.
type hostNetworkRefusal struct {
	policy     string
	binding    bool
	namespaces labels.Selector
}

// readHostNetworkRefusal returns what an object of the admission API says about pods on the network of their machine, if anything.
func readHostNetworkRefusal(o *object.Object) (hostNetworkRefusal, bool) {
	spec := o.Root.Get("spec")
	if spec == nil {
		return hostNetworkRefusal{}, false
	}
	switch o.ID.Kind {
	case "ValidatingAdmissionPolicy":
		namespaces, ok := labels.ReadSelector(spec.At("matchConstraints", "namespaceSelector"))
		fails := cmp.Or(spec.StringAt("failurePolicy"), "Fail") == "Fail"
		return hostNetworkRefusal{policy: o.ID.Name, namespaces: namespaces}, ok && fails && refusesHostNetwork(spec.Get("validations"))
	case "ValidatingAdmissionPolicyBinding":
		namespaces, ok := labels.ReadSelector(spec.At("matchResources", "namespaceSelector"))
		denies := slices.Contains(spec.Get("validationActions").Strings(), "Deny")
		return hostNetworkRefusal{policy: spec.StringAt("policyName"), binding: true, namespaces: namespaces}, ok && denies
	}
	return hostNetworkRefusal{}, false
}

func refusesHostNetwork(validations *object.Node) bool {
	return validations != nil && slices.ContainsFunc(validations.Children, func(v object.Node) bool {
		return strings.Contains(v.StringAt("expression"), "hostNetwork")
	})
}

// refusesHostNetworkIn reports whether something refuses pods of the namespace that use the network of their machine.
func (c *Cluster) refusesHostNetworkIn(n *namespace) bool {
	if level := n.labels[enforceLabel]; level == "restricted" || level == "baseline" {
		return true
	}
	return slices.ContainsFunc(c.hostNetworkRefusals, func(g hostNetworkRefusal) bool {
		return !g.binding && g.namespaces.Selects(n.labels) && slices.ContainsFunc(c.hostNetworkRefusals, func(b hostNetworkRefusal) bool {
			return b.binding && b.policy == g.policy && b.namespaces.Selects(n.labels)
		})
	})
}
