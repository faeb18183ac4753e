package cluster

import "lockstep.dev/lockstep/test/cluster/internal/sysctl"

// machineSysctls are saved before anything starts.
var machineSysctls = sysctl.Machine

// raisedSysctls are raised by this program: every kubelet, containerd and
// controller in a pod watches files, and all of them are the same user.
var raisedSysctls = map[string]int{
	"fs/inotify/max_user_instances": 8192,
	"fs/inotify/max_user_watches":   524288,
}
