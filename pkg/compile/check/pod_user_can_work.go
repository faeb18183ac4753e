package check

import (
	"lockstep.dev/lockstep/pkg/compile/diag"
	"lockstep.dev/lockstep/pkg/compile/plan"
)

// podUserCanWork refuses a user on OpenShift, where restricted-v2 assigns one and refuses any other, and a user who cannot
// read the key of the job: it is mounted with mode 0640 for the group root, or for fsGroup where that is set.
func podUserCanWork(c *plan.Cluster, list *diag.List) {
	switch user := c.User; {
	case user.V == nil:
	case c.OpenShift:
		list.Errorf(diag.PodUser, user.At, "`podUser` must not be set on OpenShift, which assigns users itself").
			Helpf("remove the key")
	case user.V.GID.V != 0 && user.V.FSGroup.V == 0:
		list.Errorf(diag.PodUser, user.At, "a pod with group %d and fsGroup 0 cannot read the key of its job", user.V.GID.V).
			Helpf("set gid to 0, or fsGroup to a group of the pod's own, for example %d", user.V.UID.V)
	}
}
