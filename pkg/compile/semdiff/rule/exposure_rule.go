package rule

import (
	"slices"
	"strings"

	"lockstep.dev/lockstep/pkg/compile/object"
	"lockstep.dev/lockstep/pkg/compile/semdiff/match"
)

var exposureRule = &Rule{
	Name: "exposure", Title: "What is reachable from outside of the cluster",
	Doc: "Services with a load balancer, a port of every machine or addresses of their own, and what routes requests into the cluster (Ingress, " +
		"routes, gateways): what is new, and what changes about who reaches a Service. It is a warning; addresses that a Service takes for its own " +
		"(`externalIPs`) are critical, because the traffic of all pods to these addresses goes to it from then on (CVE-2020-8554). " +
		"A Service that selects other pods, or leads to another port or name, is a warning. So is a load balancer that " +
		"takes requests from more addresses (`loadBalancerSourceRanges`), and it is critical if it takes all.",
	Says: []Consequence{OpensNetwork, ClosesNetwork, RestartsNothing},
	claims: func(c *match.Change) bool {
		if c.Whole() {
			return isRouting(c)
		}
		return isService(c) && len(c.Path) > 1 && c.Path[0] == "spec" && slices.Contains(waysOfService, c.Path[1])
	},
	judge: func(c *Cluster, changes []*match.Change) []Effect {
		var effects []Effect
		for _, part := range match.ByObject(changes) {
			effects = append(effects, c.changedExposure(part))
		}
		for _, change := range c.added {
			// Others are told by the rule.
			if ways := exposedWays(change.After); len(ways) > 0 && (change.Disposal.WithTenant || !isRouting(change)) {
				effects = append(effects, c.newExposure([]*match.Change{change}, ways))
			}
		}
		return effects
	},
}

// waysOfService are fields of a Service that decide who reaches it, and what answers.
var waysOfService = []string{"type", "externalIPs", "externalName", "selector", "ports", "loadBalancerSourceRanges"}

func isService(c *match.Change) bool { return c.Kind() == "Service" && c.Object().ID.Group == "" }

func isRouting(c *match.Change) bool { return slices.Contains(routingKinds, c.Kind()) }

// routingKinds bring requests from outside into the cluster.
var routingKinds = []string{"Ingress", "Route", "Gateway", "HTTPRoute", "GRPCRoute", "TCPRoute", "TLSRoute", "UDPRoute", "IngressRoute", "VirtualService"}

// exposedWay is how an object is reached from outside of the cluster.
type exposedWay struct {
	description string
	// takes reports whether it takes an address for its own.
	takes bool
}

// exposedWays are the ways on which an object is reached from outside of the cluster; nil is an object that is not there.
func exposedWays(o *object.Object) []exposedWay {
	switch {
	case o == nil:
		return nil
	case slices.Contains(routingKinds, o.ID.Kind):
		return []exposedWay{{description: strings.TrimSpace("the " + o.ID.Kind + " " + strings.Join(routeHosts(&o.Root), ", "))}}
	case o.ID.Kind != "Service" || o.ID.Group != "":
		return nil
	}
	var ways []exposedWay
	switch o.Root.Scalar("spec", "type") {
	case "LoadBalancer":
		ways = append(ways, exposedWay{description: "a load balancer"})
	case "NodePort":
		ways = append(ways, exposedWay{description: "a port of every machine"})
	}
	for _, address := range o.Root.At("spec", "externalIPs").Strings() {
		ways = append(ways, exposedWay{"the address " + address, true})
	}
	return ways
}

func waysText(ways []exposedWay) string {
	words := make([]string, len(ways))
	for i := range ways {
		words[i] = ways[i].description
	}
	return strings.Join(words, " and ")
}

// routeHosts are the names under which what routes requests is reached.
func routeHosts(root *object.Node) []string {
	found := []string{root.Scalar("spec", "host")}
	for rule := range root.At("spec", "rules").Items() {
		found = append(found, rule.Scalar("host"))
	}
	return sortedDistinct(append(found, root.At("spec", "hostnames").Strings()...))
}

// externalName is the host that stands for a Service, "" where pods do.
func externalName(o *object.Object) string {
	if o == nil || o.Root.Scalar("spec", "type") != "ExternalName" {
		return ""
	}
	return o.Root.Scalar("spec", "externalName")
}

// newExposure says that an object is reached from outside on some ways.
func (c *Cluster) newExposure(part []*match.Change, ways []exposedWay) Effect {
	severity := Warning
	if slices.ContainsFunc(ways, func(w exposedWay) bool { return w.takes }) {
		severity = Critical
	}
	o := part[0].After
	by := waysText(ways)
	return c.effect(part, OpensNetwork, severity, withArticle(o.ID.Kind)+" is reachable from outside of the cluster, by "+by).withDetail(objectName(o.ID)+": "+by).
		withClauseOf(objectName(o.ID), "are", "reachable from outside of the cluster").withJobs(JobsIncluded)
}

// changedExposure says what becomes of who reaches a Service.
func (c *Cluster) changedExposure(part []*match.Change) Effect {
	before, after := exposedWays(part[0].Before), exposedWays(part[0].After)
	o := part[0].Object().ID
	name := objectName(o)
	was, is := clientsOf(part[0].Before), clientsOf(part[0].After)
	switch gained, lost := missingFrom(after, before), missingFrom(before, after); {
	case len(gained) > 0:
		return c.newExposure(part, gained)
	case was != nil && is != nil && !slices.Equal(was, is):
		return c.changedClients(part, was, is)
	case len(lost) > 0:
		return c.effect(part, ClosesNetwork, Warning, withArticle(o.Kind)+" no longer opens the way from outside of the cluster: "+waysText(lost)).
			withClauseOf(name, "are", "no longer reachable from outside of the cluster by "+waysText(lost)).withJobs(JobsHampered)
	}
	if to := externalName(part[0].After); to != "" && to != externalName(part[0].Before) {
		return c.effect(part, OpensNetwork, Warning, "a Service leads out of the namespace: who asks "+o.Name+" is answered by "+to).withClauseOf(name, "lead", "to "+to).withJobs(JobsIncluded)
	}
	return c.effect(part, RestartsNothing, Warning, "a Service leads to something else, or by another port: "+o.Name).withClauseOf(name, "lead", "to something else, or by another port")
}

// clientsOf are the addresses that a load balancer takes requests from, all unless some are named; nil without one.
func clientsOf(o *object.Object) []string {
	if o == nil || o.Root.Scalar("spec", "type") != "LoadBalancer" {
		return nil
	}
	if ranges := o.Root.At("spec", "loadBalancerSourceRanges").Strings(); len(ranges) > 0 {
		return sortedDistinct(ranges)
	}
	return []string{"0.0.0.0/0", "::/0"}
}

// changedClients judges who reaches a load balancer.
func (c *Cluster) changedClients(part []*match.Change, before, after []string) Effect {
	o := part[0].Object().ID
	gained := slices.DeleteFunc(missingFrom(after, before), func(one string) bool {
		return slices.ContainsFunc(before, func(held string) bool { return rangeHolds(held, one) })
	})
	switch {
	case len(gained) == 0:
		return c.effect(part, ClosesNetwork, Warning, "a load balancer takes requests from fewer addresses: "+
			severalText(after)).
			withClauseOf(objectName(o), "are", "reachable from fewer addresses").withJobs(JobsHampered)
	case slices.Contains(gained, "0.0.0.0/0") || slices.Contains(gained, "::/0"):
		return c.effect(part, OpensNetwork, Critical, "a load balancer takes requests from all addresses").
			withClauseOf(objectName(o), "are", "reachable from all addresses").withJobs(JobsIncluded)
	}
	return c.effect(part, OpensNetwork, Warning, "a load balancer takes requests from more addresses: "+
		severalText(gained)).
		withClauseOf(objectName(o), "are", "reachable from "+severalText(gained)).withJobs(JobsIncluded)
}
