package semdiff

import "slices"

var storageKinds = []string{"PersistentVolumeClaim", "PersistentVolume", "StorageClass", "VolumeSnapshotClass"}

var storageRule = &Rule{
	Name: "storage", Title: "Volumes and their data",
	Doc: "Volumes that come, grow, shrink or go. A volume never shrinks: the API server refuses it. One that is no longer compiled is deleted, " +
		"with its data, by an engine that prunes; those that carry the annotations of the bundle stay until somebody deletes them by hand. What goes with a " +
		"namespace is told by the rules for ownership and for renames.",
	Says: []Consequence{AddsObjects, GrowsStorage, ImmutableField, DeletesData, LeavesObjects, RestartsNothing},
	claims: func(c *Change) bool {
		return slices.Contains(storageKinds, c.Kind()) && (c.Whole() || c.Path[0] != "metadata")
	},
	unit: func(s *scope, changes []*Change) []Effect {
		var effects []Effect
		for _, part := range parts(changes) {
			effects = append(effects, s.storage(part))
		}
		return effects
	},
}

func (s *scope) storage(part []*Change) Effect {
	c := part[0]
	id := c.Object().ID
	switch {
	case c.Whole() && c.Added():
		return s.effect(part, AddsObjects, Info, "a "+id.Kind+" is new", id.String()).with("get", "storage")
	case c.Whole():
		return s.gone(part)
	case id.Kind == "PersistentVolumeClaim" && c.Path.Is("spec", "resources", "requests", "storage"):
		size := c.Old.Scalar() + " → " + c.New.Scalar()
		if trendOf(c.Old, c.New) == more {
			return s.effect(part, GrowsStorage, Notice, "a volume grows", id.String()+": "+size).with("get", "larger volumes").
				helped("the storage class must allow expansion (allowVolumeExpansion)")
		}
		return s.effect(part, ImmutableField, Critical, "a volume cannot shrink: the API server refuses it", id.String()+": "+size).
			with("ask for", "smaller volumes, which the API server refuses").helped(recreate("PersistentVolumeClaim"))
	}
	return s.effect(part, RestartsNothing, Warning, "storage is offered in another way", shownAll(part)).with("offer", "storage in another way")
}

// gone is a volume that is no longer compiled.
func (s *scope) gone(part []*Change) Effect {
	c := part[0]
	if from, to, moved := s.handedOver(c.Before.ID.Namespace); moved && (s.stays(c.Before) || c.Kind() != "PersistentVolumeClaim") {
		return s.effect(part, LeavesObjects, Critical, "a volume stays, with its data, in a namespace that goes to another tenant", c.Before.ID.String()+" of "+from+", "+c.Old.Scalar("spec", "resources", "requests", "storage")).
			helped("copy the data, and delete the volume before this is merged: people of " + to + " can mount it afterwards")
	}
	if s.stays(c.Before) || c.Kind() != "PersistentVolumeClaim" {
		return s.effect(part, LeavesObjects, Warning, "a volume is no longer compiled and stays, with its data, until somebody deletes it", c.Before.ID.String()).
			with("leave", "volumes behind").helped("delete it by hand when nobody needs its data: kubectl delete pvc -n " + c.Before.ID.Namespace + " " + c.Before.ID.Name)
	}
	return s.effect(part, DeletesData, Critical, "a volume is deleted with its data", c.Before.ID.String()+", "+c.Old.Scalar("spec", "resources", "requests", "storage")).
		with("lose", "the data of volumes").to(Hampered)
}
