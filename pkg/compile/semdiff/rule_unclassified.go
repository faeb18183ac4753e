package semdiff

var unclassifiedRule = &Rule{
	Name: "unclassified", Title: "What no rule understands",
	Doc: "A change that no other rule claims. It is never left out, and it is a warning, because nobody has said that it is harmless. " +
		"Read it; where such changes come often, a rule for them is missing.",
	Says:   []Consequence{Unclassified},
	claims: func(*Change) bool { return true },
	unit: func(s *scope, changes []*Change) []Effect {
		var effects []Effect
		for _, part := range parts(changes) {
			c := part[0]
			title := c.Kind() + " changes in a way that no rule understands"
			effects = append(effects, s.effect(part, Unclassified, Warning, title, shownAll(part)).
				with("have", "changes that no rule understands").to(Hampered))
		}
		return effects
	},
}
