package rule

import (
	"lockstep.dev/lockstep/pkg/compile/semdiff/match"
	"lockstep.dev/lockstep/pkg/mpi"
)

var priceRule = &Rule{
	Name: "price", Title: "Prices of machines",
	Doc:  "The price of a node for an hour, as users read it. Bills of earlier months are made with the price of today's specs.",
	Says: []Consequence{RestartsNothing},
	claims: func(c *match.Change) bool {
		return isRuntime(c) && !c.Whole() && c.Path.Is("metadata", "annotations", mpi.PriceAnnotation)
	},
	judge: judgeByCause(func(c *Cluster, part []*match.Change) Effect {
		return c.effect(part, RestartsNothing, Info, "an hour of a node gets another price").withClause("cost", "another price")
	}),
}
