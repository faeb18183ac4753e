package rule

import (
	"slices"

	"lockstep.dev/lockstep/pkg/compile/semdiff/match"
)

var storageKinds = []string{"PersistentVolumeClaim", "PersistentVolume", "StorageClass", "VolumeSnapshotClass"}

var storageRule = &Rule{
	Name: "storage", Title: "Volumes and their data",
	Doc: "Volumes that come, grow, shrink or go. A volume never shrinks: the API server refuses it. One that is no longer compiled is deleted, " +
		"with its data, by an engine that prunes; those that carry the annotations of the bundle stay until they are deleted by hand. The rules for " +
		"ownership and for renames have what goes with a namespace.",
	Says: []Consequence{AddsObjects, GrowsStorage, ImmutableField, DeletesData, LeavesObjects, RestartsNothing},
	claims: func(c *match.Change) bool {
		return slices.Contains(storageKinds, c.Kind()) && (c.Whole() || c.Path[0] != "metadata")
	},
	judge: judgeByCause((*Cluster).storageEffect),
}

func (c *Cluster) storageEffect(part []*match.Change) Effect {
	change := part[0]
	id := change.Object().ID
	switch {
	case change.Whole() && change.Added():
		return c.effect(part, AddsObjects, Info, "a "+id.Kind+" is new").withClause("get", "storage")
	case change.Whole():
		return c.volumeRemoved(part)
	case id.Kind == "PersistentVolumeClaim" && change.Path.Is("spec", "resources", "requests", "storage"):
		size := change.Old.Scalar() + " → " + change.New.Scalar()
		if trendOf(change.Old, change.New) == more {
			return c.effect(part, GrowsStorage, Notice, "a volume grows").withDetail(id.String()+": "+size).withClause("get", "larger volumes").
				withHelp("the storage class must allow expansion (allowVolumeExpansion)")
		}
		if c.isForceSynced(change.After) {
			return c.recreatedEffect(part).withDetail(id.String() + ": " + size)
		}
		return c.effect(part, ImmutableField, Critical, "a volume cannot shrink: the API server refuses it").withDetail(id.String()+": "+size).
			withClause("ask for", "smaller volumes, which the API server refuses").withHelp(recreationSteps("PersistentVolumeClaim"))
	case slices.ContainsFunc(part, func(p *match.Change) bool {
		return p.Path.Is("spec", "persistentVolumeReclaimPolicy") && p.New.Scalar() == "Delete"
	}):
		return c.effect(part, DeletesData, Critical, "the data of a volume is deleted as soon as its claim is").withDetail(id.String()+": "+changeText(change)).
			withClause("lose", "the data of volumes whose claims go")
	}
	return c.effect(part, RestartsNothing, Warning, "storage is offered in another way").withClause("offer", "storage in another way")
}

// volumeRemoved is a volume that is no longer compiled.
func (c *Cluster) volumeRemoved(part []*match.Change) Effect {
	change := part[0]
	if from, to, moved := c.namespaceHandover(change.Before.ID.Namespace); moved && (c.staysOnCluster(change.Before) || change.Kind() != "PersistentVolumeClaim") {
		return c.effect(part, LeavesObjects, Critical, "a volume stays, with its data, in a namespace that goes to another tenant").withDetail(change.Before.ID.String() + " of " + from + ", " + change.Old.Scalar("spec", "resources", "requests", "storage")).
			withHelp("copy the data, and delete the volume before " + to + " gets the namespace: people of " + to + " can mount it afterwards")
	}
	if c.staysOnCluster(change.Before) || change.Kind() != "PersistentVolumeClaim" {
		return c.effect(part, LeavesObjects, Warning, "a volume is no longer compiled and stays, with its data, until somebody deletes it").
			withClause("leave", "volumes behind").withHelp("delete it by hand when nobody needs its data: kubectl delete pvc -n " + change.Before.ID.Namespace + " " + change.Before.ID.Name)
	}
	return c.effect(part, DeletesData, Critical, "a volume is deleted with its data").withDetail(change.Before.ID.String()+", "+change.Old.Scalar("spec", "resources", "requests", "storage")).
		withClause("lose", "the data of volumes").withJobs(JobsHampered)
}
