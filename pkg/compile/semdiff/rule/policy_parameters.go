package rule

import (
	"slices"
	"strings"

	"lockstep.dev/lockstep/pkg/compile/object"
	"lockstep.dev/lockstep/pkg/compile/proof/labels"
	"lockstep.dev/lockstep/pkg/compile/semdiff/match"
)

// policyParameters are the objects that a binding hands to an admission policy, of the kind that the policy names.
type policyParameters struct {
	policy, namespace, name string
	selector                labels.Selector
}

// readParameters notes the kind of a policy's parameters, or the objects that a binding names for them. A binding that
// only warns decides nothing by its parameters.
func (f *Facts) readParameters(o *object.Object) {
	if !slices.Contains(policyKinds, o.ID.Kind) {
		return
	}
	if !strings.HasSuffix(o.ID.Kind, "Binding") {
		kind := o.Root.Scalar("spec", "paramKind", "kind")
		f.parameterKinds = append(f.parameterKinds, o.ID.Name+"/"+kind)
		return
	}
	policy := o.Root.Scalar("spec", "policyName")
	if actions := o.Root.At("spec", "validationActions"); actions != nil && !slices.Contains(actions.Strings(), "Deny") {
		f.warning = append(f.warning, policy)
		return
	}
	f.deciding = append(f.deciding, policy)
	if ref := o.Root.At("spec", "paramRef"); ref != nil {
		selector, _ := labels.ReadSelector(ref.Get("selector"))
		f.parameters = append(f.parameters, policyParameters{
			policy, ref.Scalar("namespace"), ref.Scalar("name"), selector,
		})
	}
}

// onlyWarns reports whether all bindings of a policy warn or record, and there is one.
func (s *clusterState) onlyWarns(policy string) bool { return s.warning[policy] && !s.deciding[policy] }

// hasParameters reports whether a policy decides by an object. A reference without a namespace leads to the
// namespace of the request.
func (s *clusterState) hasParameters(o *object.Object) bool {
	return slices.ContainsFunc(s.parameters, func(p policyParameters) bool {
		if !s.parameterKinds[p.policy+"/"+o.ID.Kind] || p.namespace != "" && p.namespace != o.ID.Namespace {
			return false
		}
		if p.name != "" {
			return p.name == o.ID.Name
		}
		own := map[string]string{}
		for label := range o.Root.At("metadata", "labels").Items() {
			own[label.Key] = label.Scalar()
		}
		return p.selector.Selects(own)
	})
}

// isAboutParameters reports whether a policy that stays decides by other parameters. Labels count if they make an
// object a parameter, or no more.
func (c *Cluster) isAboutParameters(change *match.Change, rule *Rule) bool {
	was := change.Before != nil && c.is.hasParameters(change.Before)
	is := change.After != nil && c.is.hasParameters(change.After)
	if change.Whole() || change.Path[0] == "metadata" {
		return was && !is || is && !was && !change.Whole()
	}
	return is && rule == unclassifiedRule
}

// judgeParameters judges what a policy compares requests with. Which way it leads only the expressions know.
func judgeParameters(id object.ID, gone bool) judgement {
	if gone {
		title := "parameters of a policy are gone, and without any it accepts all or nothing: " + objectName(id)
		return judgement{AdmitsMore, Critical, title, Clause{Verb: "lose", Rest: "parameters of a policy"}}
	}
	title := "a policy decides by other parameters: " + objectName(id)
	return judgement{AdmitsMore, Warning, title, Clause{Verb: "decide", Rest: "by other parameters"}}
}
