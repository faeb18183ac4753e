package semdiff

import (
	"slices"
	"strings"

	"lockstep.dev/lockstep/pkg/compile/object"
)

var exposureRule = &Rule{
	Name: "exposure", Title: "What is reachable from outside of the cluster",
	Doc: "Services with a load balancer, a port of every machine or addresses of their own, and what routes requests into the cluster (Ingress, " +
		"routes, gateways): what is new, and what changes about who reaches a Service. It is a warning; addresses that a Service takes for its own " +
		"(`externalIPs`) are critical, because the traffic of all pods to these addresses goes to it from then on (CVE-2020-8554).",
	Says: []Consequence{OpensNetwork, ClosesNetwork, RestartsNothing},
	claims: func(c *Change) bool {
		return isRouting(c) && c.Whole() || isService(c) && !c.Whole() && (c.Path.Is("spec", "type") || c.Path.Is("spec", "externalIPs", "**") || c.Path.Is("spec", "externalName") || c.Path.Last() == "nodePort")
	},
	unit: func(s *scope, changes []*Change) []Effect {
		var effects []Effect
		for _, part := range byObject(changes) {
			effects = append(effects, s.reached(part))
		}
		return effects
	},
	cluster: func(c *cluster, _ []*Change) []Effect {
		var effects []Effect
		for _, change := range c.added {
			// Others are told by the rule.
			if ways := outside(change.After); len(ways) > 0 && (change.withTenant || !isRouting(change)) {
				effects = append(effects, c.exposes([]*Change{change}, ways))
			}
		}
		return effects
	},
}

func isService(c *Change) bool { return c.Kind() == "Service" && c.Object().ID.Group == "" }

func isRouting(c *Change) bool { return slices.Contains(routingKinds, c.Kind()) }

// routingKinds bring requests from outside into the cluster.
var routingKinds = []string{"Ingress", "Route", "Gateway", "HTTPRoute", "GRPCRoute", "TCPRoute", "TLSRoute", "UDPRoute", "IngressRoute", "VirtualService"}

// ownAddress begins the way of a Service that takes an address for its own.
const ownAddress = "the address "

// outside are the ways on which an object is reached from outside of the cluster, in words.
func outside(o *object.Object) []string {
	if slices.Contains(routingKinds, o.ID.Kind) {
		return []string{strings.TrimSpace("the " + o.ID.Kind + " " + strings.Join(hosts(&o.Root), ", "))}
	}
	if o.ID.Kind != "Service" || o.ID.Group != "" {
		return nil
	}
	var ways []string
	switch o.Root.Scalar("spec", "type") {
	case "LoadBalancer":
		ways = append(ways, "a load balancer")
	case "NodePort":
		ways = append(ways, "a port of every machine")
	}
	if own := o.Root.At("spec", "externalIPs"); own != nil {
		for _, address := range own.Strings() {
			ways = append(ways, ownAddress+address)
		}
	}
	return ways
}

// hosts are the names under which what routes requests is reached.
func hosts(root *object.Node) []string {
	found := []string{root.Scalar("spec", "host")}
	if rules := root.At("spec", "rules"); rules != nil {
		for i := range rules.Children {
			found = append(found, rules.Children[i].Scalar("host"))
		}
	}
	if names := root.At("spec", "hostnames"); names != nil {
		found = append(found, names.Strings()...)
	}
	return distinct(found)
}

// oneOf is a kind with its article.
func oneOf(kind string) string {
	if strings.ContainsAny(kind[:1], "AEIO") {
		return "an " + kind
	}
	return "a " + kind
}

// exposes says that an object is reached from outside on some ways.
func (c *cluster) exposes(part []*Change, ways []string) Effect {
	severity := Warning
	if slices.ContainsFunc(ways, func(way string) bool { return strings.HasPrefix(way, ownAddress) }) {
		severity = Critical
	}
	o := part[0].After
	by := strings.Join(ways, " and ")
	return c.effect(part, OpensNetwork, severity, oneOf(o.ID.Kind)+" is reachable from outside of the cluster, by "+by, called(o.ID)+": "+by).
		withOf(called(o.ID), "are", "reachable from outside of the cluster").to(Included)
}

// reached says what becomes of who reaches a Service.
func (c *cluster) reached(part []*Change) Effect {
	var before, after []string
	if was := part[0].Before; was != nil {
		before = outside(was)
	}
	if is := part[0].After; is != nil {
		after = outside(is)
	}
	o := part[0].Object().ID
	name := called(o)
	switch gained, lost := missing(after, before), missing(before, after); {
	case len(gained) > 0:
		return c.exposes(part, gained)
	case len(lost) > 0:
		return c.effect(part, ClosesNetwork, Warning, oneOf(o.Kind)+" no longer opens the way from outside of the cluster: "+strings.Join(lost, " and "), shownAll(part)).
			withOf(name, "are", "no longer reachable from outside of the cluster by "+strings.Join(lost, " and ")).to(Hampered)
	}
	return c.effect(part, RestartsNothing, Warning, "a Service leads to something else, or by another port", shownAll(part)).withOf(name, "lead", "to something else, or by another port")
}
