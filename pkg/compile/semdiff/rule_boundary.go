package semdiff

var boundaryRule = &Rule{
	Name: "boundary", Title: "Objects that another stage applies",
	Doc: "An object that is written to another folder of the output is applied by another stage of the GitOps engine. The stage that had it no " +
		"longer finds it and, if it prunes, deletes it; the new one makes it again. For a moment it may not be there, and with a namespace or a " +
		"volume goes what is in it.",
	Says:   []Consequence{ChangesSync},
	claims: func(c *Change) bool { return c.Path.Is(stage) },
	cluster: func(s *cluster, changes []*Change) []Effect {
		var effects []Effect
		for _, part := range parts(changes) {
			c := part[0]
			severity, title := Info, "an object is written to another folder, which no GitOps engine of the specs looks at"
			if _, known := s.was.sync.prunes(s.name, c.Before.Folder); known {
				severity, title = Warning, "another stage of the GitOps engine applies the object: the former one may delete it first"
			}
			if severity == Warning && (c.Kind() == "Namespace" || c.Kind() == "PersistentVolumeClaim") && !kept(c.Before) {
				severity = Critical
			}
			e := s.effect(part, ChangesSync, severity, title, shown(c)).with("are", "applied by another stage")
			if severity > Info {
				e = e.to(Hampered).helped("sync the new stage first, with pruning of the former one paused")
			}
			effects = append(effects, e)
		}
		return effects
	},
}
