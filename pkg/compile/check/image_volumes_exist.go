package check

import (
	"lockstep.dev/lockstep/pkg/compile/diag"
	"lockstep.dev/lockstep/pkg/compile/plan"
)

// firstImageVolumes is the Kubernetes minor version in which image volumes appeared, switched off.
const firstImageVolumes = 31

// imageVolumesExist refuses image volumes on versions that do not know them.
func imageVolumesExist(c *plan.Cluster, list *diag.List) {
	if c.ImageVolumes.V && c.Minor < firstImageVolumes {
		list.Errorf(diag.ImageVolumesTooEarly, c.ImageVolumes.At, "Kubernetes %s has no image volumes", c.Version.V).
			Notef("they appeared in 1.%d and are switched on from 1.35", firstImageVolumes).
			Helpf("remove `imageVolumes`: an init container then brings the agent")
	}
}
