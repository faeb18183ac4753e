package rule

import (
	"slices"

	"lockstep.dev/lockstep/pkg/compile/semdiff/match"
)

var renamesRule = &Rule{
	Name: "renames", Title: "Objects that have another name",
	Doc: "Kubernetes knows no renaming: the object under the old name goes, or stays behind where nothing deletes it, and one under the new name comes. Objects are found again by their " +
		"content, but for names; a tenant or a namespace that is renamed is one entry, whatever the number of its objects. The entry has its price: with a namespace go running jobs " +
		"and, unless it is kept, the data of its volumes; jobs that name the old runtime are refused. What stays of a tenant under the old " +
		"name is an entry of the rule for ownership.",
	Says:   []Consequence{Renames, DeletesData, LeavesObjects, OpensNetwork},
	claims: func(c *match.Change) bool { return c.Renamed() },
	judge: func(c *Cluster, changes []*match.Change) []Effect {
		var effects []Effect
		for _, change := range changes {
			effects = append(effects, c.deletedClosingPolicy(change))
			for _, e := range []Effect{c.renamedEffect(change), c.lostDataEffect(change)} {
				// It happens to those who had the old name.
				if was := c.tenantOf(change.Before); was != "" {
					e.Subject.Tenant = was
				}
				if e.Subject.Namespace = change.Before.ID.Namespace; change.Before.ID.Kind == "Namespace" {
					e.Subject.Namespace = change.Before.ID.Name
				}
				effects = append(effects, e)
			}
		}
		return slices.DeleteFunc(effects, func(e Effect) bool { return len(e.Changes) == 0 })
	},
}

func (c *Cluster) renamedEffect(change *match.Change) Effect {
	part := []*match.Change{change}
	before, after := change.Before.ID, change.After.ID
	was, is := c.tenantOf(change.Before), c.tenantOf(change.After)
	stays := c.staysOnCluster(change.Before)
	become := "its objects go and come again"
	if stays {
		become = "its objects come again, and the old ones stay until somebody deletes them"
	}
	switch {
	case before.Kind == "Namespace":
		return c.renamedNamespace(change)
	case before.Kind == "PersistentVolumeClaim" && !c.goesWithNamespace(before.Namespace):
		return c.renamedVolume(change, stays)
	case was != is && len(c.left[was]) > 0:
		return c.effect(part, Renames, Warning, "a tenant has another name: "+become) // the entry of what stays has the clause
	case was != is && was != "":
		return c.effect(part, Renames, Warning, "a tenant has another name: "+become).withClauseOf(was, "are", "renamed to "+is)
	case before.Namespace != after.Namespace:
		return c.effect(part, Renames, Warning, "a namespace has another name: "+become).withClauseOf("namespace "+before.Namespace, "are", "renamed to "+after.Namespace)
	case isRuntime(change) && stays:
		return c.effect(part, Renames, Notice, "a runtime has another name: the old one stays until somebody deletes it").withClauseOf("runtime "+before.Name, "are", "renamed to "+after.Name)
	case isRuntime(change):
		return c.effect(part, Renames, Warning, "a runtime has another name: new jobs that name the old one are refused").withClauseOf("runtime "+before.Name, "are", "renamed to "+after.Name)
	}
	return c.effect(part, Renames, Notice, "objects have another name: "+before.Kind).withClause("have", "objects with another name")
}

// renamedVolume is a volume under another name, or in another namespace: the new one is empty.
func (c *Cluster) renamedVolume(change *match.Change, stays bool) Effect {
	size := change.Old.Scalar("spec", "resources", "requests", "storage")
	detail := change.Before.ID.String() + " (" + size + ") → " + change.After.ID.String()
	if stays {
		return c.effect([]*match.Change{change}, LeavesObjects, Warning, "a volume has another name: the new one is empty, the old one stays with its data").withDetail(detail).
			withClause("get", "empty volumes in place of others, whose data stays in the old ones").
			withHelp("copy the data from the old volume to the new one; then delete the old one by hand: kubectl delete pvc -n " + change.Before.ID.Namespace + " " + change.Before.ID.Name)
	}
	return c.effect([]*match.Change{change}, DeletesData, Critical, "a volume has another name: the old one is deleted with its data, the new one is empty").withDetail(detail).
		withClause("lose", "the data of volumes").withJobs(JobsHampered)
}

// goesWithNamespace reports whether a namespace is deleted, which tells what becomes of the volumes in it.
func (c *Cluster) goesWithNamespace(name string) bool {
	space := c.was.namespaces[name]
	if space == nil || c.is.namespaces[name] != nil || space.kept || c.appliedByHand() {
		return false
	}
	return c.prunesFolder(space.folder)
}

func (c *Cluster) renamedNamespace(change *match.Change) Effect {
	part := []*match.Change{change}
	before, after := change.Before.ID, change.After.ID
	was, is := c.tenantOf(change.Before), c.tenantOf(change.After)
	of, to := "namespace "+before.Name, after.Name
	if was != is && was != "" {
		of, to = was, is
	}
	if c.staysOnCluster(change.Before) {
		return c.effect(part, Renames, Warning, "a namespace has another name: the new one is empty, the old one stays with what nobody deletes in it").
			withClauseOf(of, "are", "renamed to "+to).withJobs(JobsHampered).withHelp("let jobs end, copy the data, delete the old namespace by hand")
	}
	return c.effect(part, Renames, Critical, "a namespace has another name: the old one is deleted with everything in it, running jobs too").
		withClauseOf(of, "are", "renamed to "+to).withJobs(JobsStopped)
}
