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
			title, rest := c.Kind()+" changes in a way that no rule understands", "changes that no rule understands"
			switch {
			case c.Whole() && c.Added():
				title, rest = "a new "+c.Kind()+": no rule understands what it does", "a new "+c.Kind()+", which no rule understands"
			case c.Whole():
				title, rest = oneOf(c.Kind())+" is gone: no rule understands what it did", "no longer "+oneOf(c.Kind())+", which no rule understands"
			}
			effects = append(effects, s.effect(part, Unclassified, Warning, title, shownAll(part)).with("have", rest).to(Hampered))
		}
		return effects
	},
}
