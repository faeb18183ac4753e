package semdiff

import (
	"slices"

	"lockstep.dev/lockstep/pkg/compile/object"
	"lockstep.dev/lockstep/pkg/compile/origin"
)

var chartsRule = &Rule{
	Name: "charts", Title: "Components of the platform",
	Doc: "What charts render, and workloads of the platform: a change of a pod template replaces the pods, jobs go on without them for that " +
		"moment. A CustomResourceDefinition that goes takes all objects of its kind with it, which is critical. What a chart says about rights, " +
		"traffic, security or admission is told by the rules for these.",
	Says: []Consequence{RestartsPlatform, RestartsNothing, AddsObjects, DeletesObjects, DeletesData},
	claims: func(c *Change) bool {
		o := c.Object()
		return o.ID.Kind != "Namespace" && (rendered(o) || slices.Contains(workloadKinds, o.ID.Kind) || o.ID.Kind == "CustomResourceDefinition")
	},
	unit: func(s *scope, changes []*Change) []Effect {
		var effects []Effect
		for _, part := range parts(changes) {
			effects = append(effects, s.component(part))
		}
		return effects
	},
}

func rendered(o *object.Object) bool { return o.Rule != nil && o.Rule.Kind == origin.Rendered }

func (s *scope) component(part []*Change) Effect {
	c := part[0]
	kind := c.Kind()
	definition, workload := kind == "CustomResourceDefinition", slices.Contains(workloadKinds, kind)
	switch {
	case c.Whole() && c.Added():
		return s.effect(part, AddsObjects, Info, "a component is new: "+kind, c.Object().ID.String()).with("get", "new components")
	case c.Whole() && definition:
		return s.effect(part, DeletesData, Critical, "a kind of objects goes, and all objects of the kind with it", c.Object().ID.String()).
			with("lose", "all objects of a kind").to(Stopped)
	case c.Whole() && workload:
		return s.effect(part, DeletesObjects, Warning, "a component is gone: "+kind, c.Object().ID.String()).with("lose", "a component")
	case c.Whole():
		return s.effect(part, DeletesObjects, Notice, "a component has one object less: "+kind, c.Object().ID.String()).with("lose", "a part of a component")
	case definition:
		return s.effect(part, RestartsNothing, Warning, "a kind of objects has another schema: those that exist may no longer be valid", shownAll(part)).with("get", "another schema of a kind")
	case workload && slices.ContainsFunc(part, func(c *Change) bool { return c.Path[0] == "spec" }):
		return s.effect(part, RestartsPlatform, Notice, "pods of a component are replaced: "+c.Object().ID.Name, shownAll(part)).with("replace", "pods of "+c.Object().ID.Name)
	}
	return s.effect(part, RestartsNothing, Notice, "a component is set up in another way: "+kind, shownAll(part)).with("set up", "components in another way")
}
