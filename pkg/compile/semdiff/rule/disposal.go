package rule

import (
	"slices"
	"strings"

	"lockstep.dev/lockstep/pkg/compile/object"
	"lockstep.dev/lockstep/pkg/compile/semdiff/match"
	"lockstep.dev/lockstep/pkg/mpi"
)

// decideDisposal says what becomes of an object that only one state has.
func (c *Cluster) decideDisposal(change *match.Change) {
	change.Disposal = match.Disposal{}
	if !change.Whole() || change.Renamed() {
		return
	}
	if c.was.exists != c.is.exists {
		change.Disposal = match.Disposal{WithTenant: true, WithCluster: true}
		return
	}
	id := change.Object().ID
	change.Disposal.Stays = change.Removed() && id.Kind != "PersistentVolumeClaim" && c.staysOnCluster(change.Before)
	if slices.Contains([]string{"ClusterQueue", "Cohort", "PersistentVolumeClaim", "Namespace"}, id.Kind) {
		// They have words of their own.
		return
	}
	with, without := c.was, c.is
	if change.Added() {
		with, without = c.is, c.was
	}
	tenant := change.Object().Root.Scalar("metadata", "labels", mpi.TenantLabel)
	withNamespace := id.Namespace != "" && with.namespaces[id.Namespace] != nil && without.namespaces[id.Namespace] == nil
	change.Disposal.WithTenant = withNamespace || tenant != "" && with.tenants[tenant] && !without.tenants[tenant]
}

// namespaceHandover are the tenants that a namespace belonged to and belongs to, where another one has it now.
func (c *Cluster) namespaceHandover(namespace string) (from, to string, moved bool) {
	was, is := c.was.namespaces[namespace], c.is.namespaces[namespace]
	if was == nil || is == nil || was.tenant == "" || is.tenant == "" || was.tenant == is.tenant {
		return "", "", false
	}
	return was.tenant, is.tenant, true
}

// isDeletedFirst reports whether the stage of the tenant that a namespace belonged to deletes it before that of another one can have it.
func (c *Cluster) isDeletedFirst(namespace string) bool {
	_, _, moved := c.namespaceHandover(namespace)
	was, is := c.was.namespaces[namespace], c.is.namespaces[namespace]
	if !moved || was.kept || !c.prunesFolder(was.folder) {
		return false
	}
	former, next := c.was.engine.stageOfFolder(c.Name, was.folder), c.is.engine.stageOfFolder(c.Name, is.folder)
	return former != nil && (next == nil || former.object != next.object)
}

// volumesOf names the volumes that a namespace had, with their sizes.
func (c *Cluster) volumesOf(namespace string) string {
	var names []string
	for _, volume := range c.was.claims[namespace] {
		names = append(names, volume.name+" ("+volume.size+")")
	}
	return strings.Join(sortedDistinct(names), ", ")
}

// staysOnCluster reports whether an object stays on the cluster when it is no longer compiled.
func (c *Cluster) staysOnCluster(o *object.Object) bool {
	return isKeptByEngine(o) || c.appliedByHand() || !c.prunesFolder(o.Folder)
}

// prunesFolder reports whether the GitOps engine deletes what is no longer compiled into a folder. What decides is the stage as it is told
// afterwards; where the stage goes, too, whether what it applied goes with it. An engine that finds no folder any more stops, and deletes
// nothing (https://fluxcd.io/flux/components/kustomize/kustomizations/#path,
// https://argo-cd.readthedocs.io/en/stable/user-guide/app_deletion/). It is true where no stage is known that applies the folder.
func (c *Cluster) prunesFolder(folder string) bool {
	s := c.was.engine.stageOfFolder(c.Name, folder)
	switch {
	case s == nil:
		return true
	case c.keepsAfterEngine():
		// The stages stay on the cluster, and go on with the folders that there still are.
		return s.prunes && c.stageHasObjects(s)
	}
	if later := c.is.engine.sameStage(s); later != nil {
		return later.prunes && c.stageHasObjects(later)
	}
	if s.kept || c.was.engine.stageOfFolder(c.Name, s.in) != s && !c.prunesFolder(s.in) {
		// It goes on as it was told last: another engine may follow it.
		return s.prunes && c.stageHasObjects(s)
	}
	return s.cascades
}

// keepsAfterEngine reports whether no stage of the GitOps engine is compiled any more that applied the cluster. Nothing deletes the stages: the one
// that applied them finds no folder any more.
func (c *Cluster) keepsAfterEngine() bool { return len(c.was.engine) > 0 && len(c.is.engine) == 0 }

// stageHasObjects reports whether something is compiled into the folder of a stage.
func (c *Cluster) stageHasObjects(s *engineStage) bool {
	tail, within := s.folderBelow(c.Name)
	if !within {
		return true
	}
	for folder := range c.is.folders {
		if strings.HasPrefix(folder+"/", tail) {
			return true
		}
	}
	return false
}

// appliedByHand reports whether no GitOps engine of the specs applied the cluster: what is no longer compiled stays until the one who applies the
// cluster deletes it. An engine that comes with the change does not know what was applied before.
func (c *Cluster) appliedByHand() bool { return len(c.was.engine) == 0 }
