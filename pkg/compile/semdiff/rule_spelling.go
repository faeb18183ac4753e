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
			for _, reason := range reasons(part) {
				effects = append(effects, s.effect(reason, NoEffect, Info, reason[0].Same, shownAll(reason)))
			}
		}
		return effects
	},
}

// reasons divides changes by why they have no effect.
func reasons(changes []*Change) [][]*Change {
	at := map[string]int{}
	var result [][]*Change
	for _, c := range changes {
		i, known := at[c.Same]
		if !known {
			i = len(result)
			at[c.Same] = i
			result = append(result, nil)
		}
		result[i] = append(result[i], c)
	}
	return result
}
