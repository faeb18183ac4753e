package rule

import "lockstep.dev/lockstep/pkg/compile/semdiff/match"

var spellingRule = &Rule{
	Name: "spelling", Title: "The same value in other words",
	Doc: "What is written differs, what it means does not: the order of lists that are sets, amounts (`1000m` is `1`), durations " +
		"(`60s` is `1m`), defaults that are spelt out or left out, maps that are empty. Kubernetes takes both for the same.",
	Says:   []Consequence{NoEffect},
	claims: func(c *match.Change) bool { return c.Same != "" },
	judge: judgeByCauseAnd(func(c *match.Change) string { return c.Same }, func(c *Cluster, part []*match.Change) Effect {
		return c.effect(part, NoEffect, Info, part[0].Same)
	}),
}
