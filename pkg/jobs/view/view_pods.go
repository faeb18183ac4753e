package view

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"lockstep.dev/lockstep/pkg/mpi"
	"lockstep.dev/lockstep/pkg/mpi/diagnose"
	"lockstep.dev/lockstep/pkg/mpi/job/observe"
)

// Pod is one pod of a job.
type Pod struct {
	Name string `json:"name"`
	// Role is `launcher` or `node`, Index counts the pods of a role from 0.
	Role  string `json:"role"`
	Index int    `json:"index"`
	// Host is its name in the hostfile.
	Host    string `json:"host,omitempty"`
	Machine string `json:"machine,omitempty"`
	Address string `json:"address,omitempty"`
	// Phase is Kubernetes' own.
	Phase corev1.PodPhase `json:"phase"`
	Ready bool            `json:"ready"`
	// Terminating says that the pod is being deleted.
	Terminating bool `json:"terminating,omitempty"`
	// Restarts is how often containers of the pod were started again.
	Restarts int32 `json:"restarts,omitempty"`
	// Problem is what keeps this pod from running, as far as its own status shows.
	Problem string `json:"problem,omitempty"`
	// ExitCode is that of its main container, nil while it runs.
	ExitCode *int32 `json:"exitCode,omitempty"`
	// Started and Ended are those of the main container.
	Started *metav1.Time `json:"started,omitempty"`
	Ended   *metav1.Time `json:"ended,omitempty"`
	// Slots are the numbers of the slots of the pod in the hostfile, from 0. They are the numbers of its ranks where the launcher fills node
	// after node, as all do unless they are told otherwise. Nil for a pod that runs no ranks.
	Slots *SlotRange `json:"slots,omitempty"`
}

// SlotRange are those of a pod, First and Last among them.
type SlotRange struct {
	First int32 `json:"first"`
	Last  int32 `json:"last"`
}

// viewPods returns launcher and nodes.
func (s *jobView) viewPods() (launcher *Pod, nodes []Pod) {
	for _, pod := range s.all {
		p := s.viewPod(pod)
		if p.Role == mpi.LauncherJob {
			if launcher == nil || launcher.Terminating {
				launcher = &p
			}
			continue
		}
		nodes = append(nodes, p)
	}
	return launcher, nodes
}

func (s *jobView) viewPod(pod *corev1.Pod) Pod {
	p := Pod{
		Name: pod.Name, Role: pod.Labels[mpi.ReplicatedJobLabel], Index: observe.PodIndex(pod),
		Machine: pod.Spec.NodeName, Address: pod.Status.PodIP, Phase: pod.Status.Phase, Terminating: pod.DeletionTimestamp != nil,
	}
	if p.Phase == "" {
		p.Phase = corev1.PodPending
	}
	p.Host = mpi.HostName(s.TrainJob.Name, p.Role, int32(p.Index))
	p.Slots = s.slotsOf(p)
	for _, c := range pod.Status.Conditions {
		p.Ready = p.Ready || c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
	}
	for _, c := range pod.Status.ContainerStatuses {
		p.Restarts += c.RestartCount
		if c.Name == mpi.Container {
			p.setMainContainer(c)
		}
	}
	if problem := diagnose.StartProblem(diagnose.StartState{Pods: []diagnose.Pod{observe.EvidenceOf(pod)}, Want: 1}); problem != nil {
		p.Problem = problem.Message
	}
	return p
}

// setMainContainer notes how the main container is.
func (p *Pod) setMainContainer(c corev1.ContainerStatus) {
	switch {
	case c.State.Running != nil:
		p.Started = nilIfZero(c.State.Running.StartedAt)
	case c.State.Terminated != nil:
		end := c.State.Terminated
		p.Started, p.Ended, p.ExitCode = nilIfZero(end.StartedAt), nilIfZero(end.FinishedAt), &end.ExitCode
	}
}

// nilIfZero is nil for a time that nobody has written.
func nilIfZero(at metav1.Time) *metav1.Time {
	if at.IsZero() {
		return nil
	}
	return &at
}

func (s *jobView) slotsOf(p Pod) *SlotRange {
	if s.world == nil || p.Role == mpi.LauncherJob && !s.world.LauncherRunsRanks {
		return nil
	}
	node := int32(p.Index)
	if p.Role != mpi.LauncherJob && s.world.LauncherRunsRanks {
		node++
	}
	first := node * s.world.SlotsPerNode
	return &SlotRange{First: first, Last: first + s.world.SlotsPerNode - 1}
}
