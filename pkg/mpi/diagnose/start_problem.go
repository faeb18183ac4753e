package diagnose

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"lockstep.dev/lockstep/pkg/mpi"
)

// StartState is what shows of a job that does not run yet.
type StartState struct {
	// Pods are those that exist, launcher first, then by index, so that the message does not change from pass to pass.
	Pods []Pod
	// Want is how many pods there should be.
	Want int
	// Refused holds what the Job and JobSet controllers say about objects that they could not create.
	Refused []string
	// Warnings holds what kubelet says about pods of the job.
	Warnings []Warning
}

// Warning is a warning event about a pod.
type Warning struct{ Pod, Reason, Message string }

// StartProblem returns what keeps a job from starting, as far as it shows, or nil.
func StartProblem(s StartState) *Cause {
	if len(s.Pods) < s.Want {
		if c := apiRefusalCause(s.Refused); c != nil {
			return c
		}
	}
	for _, pod := range s.Pods {
		if c := s.problemOfPod(pod); c != nil {
			return c
		}
	}
	return nil
}

func (s StartState) problemOfPod(pod Pod) *Cause {
	if pod.Unschedulable != "" {
		return s.unschedulableCause(pod)
	}
	if len(pod.Gates) > 0 {
		return s.gatedCause(pod)
	}
	for _, container := range pod.Containers {
		if c := containerWaitingProblem(pod, container); c != nil {
			return c
		}
		if c := crashLoopProblem(pod, container); c != nil {
			return c
		}
	}
	return s.unmountedCause(pod)
}

// gatedCause names what holds pods back that are not to be scheduled yet, and how many more there are of them.
func (s StartState) gatedCause(first Pod) *Cause {
	var names []string
	held := -1
	for _, pod := range s.Pods {
		names = append(names, pod.Gates...)
		if len(pod.Gates) > 0 {
			held++
		}
	}
	slices.Sort(names)
	names = slices.Compact(names)
	gates, verb := "scheduling gate", "is"
	if len(names) > 1 {
		gates = "scheduling gates"
	}
	who := first.fullName()
	if held > 0 {
		who, verb = fmt.Sprintf("%s and %d more of %d pods", who, held, s.Want), "are"
	}
	return causeWithRemedy(SchedulingGated, fmt.Sprintf("%s %s not to be scheduled yet: held back by the %s `%s`", who, verb, gates, strings.Join(names, "`, `"))).withPod(first)
}

// claimProblems are what the scheduler says about volumes.
var claimProblems = regexp.MustCompile(`(?i)persistentvolumeclaim "([^"]*)" (not found|is being deleted)|unbound immediate PersistentVolumeClaims`)

// unschedulableCause says with numbers what the scheduler says without.
func (s StartState) unschedulableCause(pod Pod) *Cause {
	words := pod.fullName() + " cannot be scheduled: " + pod.Unschedulable
	if found := claimProblems.FindString(pod.Unschedulable); found != "" {
		return causeWithRemedy(VolumeClaimMissing, words).withPod(pod).withEvidence(pod.Unschedulable)
	}
	return causeWithRemedy(Unschedulable, s.requestedAndAvailable(pod)+words).withPod(pod).withEvidence(pod.Unschedulable)
}

// requestedAndAvailable counts what was asked for and what was had. What is available to a job is what its pods got.
func (s StartState) requestedAndAvailable(lacking Pod) string {
	var text string
	var requested, available int64
	var workers, placed int
	for _, pod := range s.Pods {
		requested += pod.GPUs
		if pod.Machine != "" {
			available += pod.GPUs
		}
		if pod.isLauncher() && !pod.RunsRanks {
			continue
		}
		workers++
		if pod.Machine != "" {
			placed++
		}
	}
	if lacking.GPUs > 0 && strings.Contains(lacking.Unschedulable, "Insufficient "+lacking.GPUResource) {
		text = fmt.Sprintf("Insufficient GPUs: requested %d, available %d. ", requested, available)
	}
	if placed < workers {
		nodes := "nodes"
		if placed == 1 {
			nodes = "node"
		}
		text += fmt.Sprintf("Waiting for %d worker pods. Only %d %s available. ", workers, placed, nodes)
	}
	return text
}

// missingObjectPattern are objects that a container or a volume names and that do not exist, in kubelet's words.
var missingObjectPattern = regexp.MustCompile(`(?:(secret|configmap) "([^"]+)" not found|couldn't find key ([^ ]+) in (Secret|ConfigMap) ([^ ]+))`)

func reasonOfMissingObject(text string) (reason mpi.Reason, found bool) {
	match := missingObjectPattern.FindStringSubmatch(text)
	if match == nil {
		return "", false
	}
	if strings.EqualFold(match[1]+match[4], "secret") {
		return SecretMissing, true
	}
	return ConfigMapMissing, true
}

func containerWaitingProblem(pod Pod, c Container) *Cause {
	if c.Waiting == nil {
		return nil
	}
	switch c.Waiting.Reason {
	case "ErrImagePull", "ImagePullBackOff", "InvalidImageName", "ErrImageNeverPull", "ImageInspectError", "RegistryUnavailable":
		return imagePullProblem(pod, c)
	case "CreateContainerConfigError", "CreateContainerError", "RunContainerError":
		reason, found := reasonOfMissingObject(c.Waiting.Message)
		if !found {
			reason = ContainerConfig
		}
		message := fmt.Sprintf("%s: container `%s` cannot be made: %s", pod.fullName(), c.Name, c.Waiting.Message)
		return causeWithRemedy(reason, message).withPod(pod).withEvidence(c.Waiting.Message)
	}
	return nil
}

// crashLoopProblem blames a container that ends each time kubelet starts it. It does so until the container is ready.
func crashLoopProblem(pod Pod, c Container) *Cause {
	last, kind := cmp.Or(c.End, c.LastEnd), "container"
	backsOff := c.Waiting != nil && c.Waiting.Reason == "CrashLoopBackOff"
	if last == nil || !backsOff && (c.Restarts < 2 || c.Ready || last.Code == 0 && last.Signal == 0) {
		return nil
	}
	if c.Init {
		kind = "init container"
	}
	message := fmt.Sprintf("%s: %s `%s` is started again and again, and ends each time: it %s",
		pod.fullName(), kind, c.Name, last)
	cause := causeWithRemedy(CrashLoopBackOff, message).withPod(pod).withContainerEnd(*last)
	cause.Lines, cause.Remedy = last.lastLines(), crashLoopRemedy(pod, c)
	return cause
}

// crashLoopRemedy names the command that shows why a container ended the last time.
func crashLoopRemedy(pod Pod, c Container) string {
	return fmt.Sprintf("`kubectl logs %s -c %s --previous` shows why it ends, as long as the pod exists; correct its "+
		"command, its files, its volumes or its memory limit in the TrainJob or runtime", pod.Name, c.Name)
}

// mounts are the events by which kubelet says that a volume is not there.
var mounts = map[string]bool{"FailedMount": true, "FailedAttachVolume": true, "FailedMapVolume": true}

// unmountedCause returns what kubelet says about the volumes of a pod whose containers are being made. Among several events the
// first in order of the alphabet counts, so that the message stays; those that only say that time ran out come last.
func (s StartState) unmountedCause(pod Pod) *Cause {
	if !slices.ContainsFunc(pod.Containers, func(c Container) bool { return c.Waiting != nil }) {
		return nil
	}
	var words []string
	for _, w := range s.Warnings {
		if w.Pod == pod.Name && mounts[w.Reason] {
			words = append(words, w.Message)
		}
	}
	if len(words) == 0 {
		return nil
	}
	first := slices.MinFunc(words, func(a, b string) int {
		return cmp.Or(strings.Compare(sortKeyOfMountMessage(a), sortKeyOfMountMessage(b)), strings.Compare(a, b))
	})
	reason, found := reasonOfMissingObject(first)
	if !found {
		reason = VolumeFailed
	}
	return causeWithRemedy(reason, fmt.Sprintf("%s: %s", pod.fullName(), first)).withPod(pod).withEvidence(first)
}

// sortKeyOfMountMessage sorts messages that name no cause behind those that do.
func sortKeyOfMountMessage(message string) string {
	if strings.HasPrefix(message, "Unable to attach or mount volumes") {
		return "1"
	}
	return "0"
}
