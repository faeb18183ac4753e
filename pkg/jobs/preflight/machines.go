package preflight

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	trainer "lockstep.dev/lockstep/api/trainer/v1alpha1"
	"lockstep.dev/lockstep/pkg/mpi/diagnose"
	mpijob "lockstep.dev/lockstep/pkg/mpi/job"
	"lockstep.dev/lockstep/pkg/mpi/job/desired"
)

// MatchingMachines are the machines whose labels and taints suit the nodes of a job.
type MatchingMachines struct {
	Matching, Ready int
	// Whole holds, for each ready machine, its resources without the requests of DaemonSets; Free without the requests
	// of all pods, nil if these could not be read.
	Whole, Free []corev1.ResourceList
}

func (a *Answer) addMachines(in Input) {
	switch m := in.Machines; {
	case m == nil:
	case m.Matching == 0:
		a.addFinding("machines", Never, diagnose.Unschedulable, "no machine has the labels that the runtime asks for, "+
			"and taints that it tolerates: name another runtime, or ask the platform team whether machines are missing")
	case m.Ready == 0:
		a.addFinding("machines", Waits, diagnose.Unschedulable,
			fmt.Sprintf("of the %d machines that suit the runtime none is ready", m.Matching))
	default:
		a.addPlaces(in)
	}
}

// addPlaces reports whether the machines have room for all pods at once, now or if no other job ran.
func (a *Answer) addPlaces(in Input) {
	sets := podSets(in.TrainJob, in)
	if len(sets) == 0 {
		return
	}
	rooms, verdict, when := in.Machines.Free, Waits, "now"
	if neverFit(sets, in.Machines.Whole) {
		rooms, verdict, when = in.Machines.Whole, Never, "even if nothing else ran"
	}
	if rooms == nil || verdict == Waits && haveRoom(sets, rooms) {
		return
	}
	hasRoom := func(job *trainer.TrainJob) bool { return haveRoom(podSets(job, in), rooms) }
	nodes := largestFittingNodes(in, hasRoom)
	if a.LargestNodes == nil || nodes < *a.LargestNodes {
		a.LargestNodes = ptr.To(nodes)
	}
	text := fmt.Sprintf("%d suitable machines have room for %d of %d nodes %s: ask for fewer, or for less on each",
		in.Machines.Ready, nodes, nodesAsked(in), when)
	a.addFinding("machines", verdict, diagnose.Unschedulable, text)
}

// podSets returns the pods of a job, none if its runtime cannot make them.
func podSets(job *trainer.TrainJob, in Input) []desired.PodSet {
	if in.Runtime == nil || !in.Runtime.IsMPI() {
		return nil
	}
	made, err := mpijob.Resolve(job, *in.Runtime)
	if err != nil {
		return nil
	}
	return desired.PodSets(desired.JobSet(made))
}

// haveRoom reports whether machines have room for all pods, placed in the order of the sets or in reverse.
func haveRoom(sets []desired.PodSet, rooms []corev1.ResourceList) bool {
	reversed := slices.Clone(sets)
	slices.Reverse(reversed)
	return place(sets, rooms) || place(reversed, rooms)
}

// neverFit reports whether machines have no room for the pods, wherever they are put. Taking the first machine with
// room is the best way for equal pods. So it judges the pods of each set, and all pods at the size of the smallest.
func neverFit(sets []desired.PodSet, rooms []corev1.ResourceList) bool {
	least, all := desired.PodRequests(sets[0].Spec), int64(0)
	for _, set := range sets {
		wanted := desired.PodRequests(set.Spec)
		if !takeRoom(copyLists(rooms), wanted, set.Count) {
			return true
		}
		all += set.Count
		for name, amount := range least {
			if other := wanted[name]; other.Cmp(amount) < 0 {
				least[name] = other
			}
		}
	}
	return !takeRoom(copyLists(rooms), least, all)
}

// place puts each pod on the first machine that has room for it.
func place(sets []desired.PodSet, rooms []corev1.ResourceList) bool {
	left := copyLists(rooms)
	for _, set := range sets {
		if !takeRoom(left, desired.PodRequests(set.Spec), set.Count) {
			return false
		}
	}
	return true
}

// takeRoom takes the room for equal pods from the first machines that have it.
func takeRoom(rooms []corev1.ResourceList, wanted corev1.ResourceList, pods int64) bool {
	at := 0
	for range pods {
		for at < len(rooms) && !covers(rooms[at], wanted) {
			at++
		}
		if at == len(rooms) {
			return false
		}
		desired.AddTimes(rooms[at], wanted, -1)
	}
	return true
}

func copyLists(lists []corev1.ResourceList) []corev1.ResourceList {
	copies := make([]corev1.ResourceList, len(lists))
	for i := range lists {
		copies[i] = lists[i].DeepCopy()
	}
	return copies
}

func covers(room, wanted corev1.ResourceList) bool {
	for name, amount := range wanted {
		if has := room[name]; has.Cmp(amount) < 0 {
			return false
		}
	}
	return true
}
