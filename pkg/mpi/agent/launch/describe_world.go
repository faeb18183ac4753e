package launch

import (
	"fmt"

	"lockstep.dev/lockstep/pkg/mpi"
)

// describeWorld returns how many slots the hosts have together, for example "8 slots on 4 nodes".
func describeWorld(all []mpi.Host) string {
	slots := int32(0)
	for _, host := range all {
		slots += host.Slots
	}
	return counted(int(slots), "slot") + " on " + counted(len(all), "node")
}

func counted(n int, noun string) string {
	if n != 1 {
		noun += "s"
	}
	return fmt.Sprintf("%d %s", n, noun)
}
