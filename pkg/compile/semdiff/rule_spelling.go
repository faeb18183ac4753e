package semdiff

var spellingRule = &Rule{
	Name: "spelling", Title: "The same value in other words",
	Doc: "What is written differs, what it means does not: the order of lists that are sets, amounts (`1000m` is `1`), durations " +
		"(`60s` is `1m`), defaults that are spelt out or left out, maps that are empty. Kubernetes takes both for the same.",
	Says:   []Consequence{NoEffect},
	claims: func(c *Change) bool { return c.Same != "" },
	unit: func(s *scope, changes []*Change) []Effect {
		var effects []Effect
		for _, part := range parts(changes) {
			for _, reason := range partedBy(part, func(c *Change) string { return c.Same }) {
				effects = append(effects, s.effect(reason, NoEffect, Info, reason[0].Same, shownAll(reason)))
			}
		}
		return effects
	},
}
