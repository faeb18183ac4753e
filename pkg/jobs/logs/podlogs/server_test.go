package podlogs_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	trainer "lockstep.dev/lockstep/api/trainer/v1alpha1"
	"lockstep.dev/lockstep/pkg/mpi"
)

// fakeServer answers like an API server with kubelets behind it, as far as logs are concerned, and breaks connections.
type fakeServer struct {
	url string
	// breakAfter is after how many lines of a pod its stream breaks, 0 for never: in turn at the end of a line, in the middle of one, and, where
	// it is followed, as if the log had ended.
	breakAfter            int
	forbidden, unreadable bool

	mu      sync.Mutex
	changed *sync.Cond
	pods    []*fakePod
	over    bool
	breaks  int
	unknown int
}

type fakePod struct {
	server  *fakeServer
	name    string
	command string
	index   int
	runs    [][]stamped
	ended   bool
	gone    bool
	waiting bool
	// sent is how many lines were sent before the last break.
	sent int
}

type stamped struct {
	at   time.Time
	text string
}

func newServer(t *testing.T) *fakeServer {
	t.Helper()
	s := &fakeServer{}
	s.changed = sync.NewCond(&s.mu)
	mux := http.NewServeMux()
	mux.HandleFunc("GET /apis/trainer.kubeflow.org/v1alpha1/namespaces/team/trainjobs/train", s.trainJob)
	mux.HandleFunc("GET /api/v1/namespaces/team/pods", s.list)
	mux.HandleFunc("GET /api/v1/namespaces/team/pods/{pod}/log", s.log)
	server := httptest.NewServer(mux)
	t.Cleanup(func() { s.finish(); server.CloseClientConnections(); server.Close() })
	s.url = server.URL
	return s
}

func podName(i int) string { return fmt.Sprintf("train-%d", i) }

func (s *fakeServer) addPod(i int) *fakePod {
	s.mu.Lock()
	defer s.mu.Unlock()
	p := &fakePod{server: s, name: podName(i), index: i, runs: [][]stamped{nil}}
	s.pods = append(s.pods, p)
	return p
}

// finish ends all containers and the job.
func (s *fakeServer) finish() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.over = true
	for _, p := range s.pods {
		p.ended = true
	}
	s.changed.Broadcast()
}

// forget makes kubelet deny that it knows a pod, for so many requests, as one does that has just started.
func (s *fakeServer) forget(requests int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.unknown = requests
}

func (s *fakeServer) broken() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.breaks
}

func (p *fakePod) write(text string) {
	p.server.mu.Lock()
	defer p.server.mu.Unlock()
	last := len(p.runs) - 1
	p.runs[last] = append(p.runs[last], stamped{time.Now().UTC(), text})
	p.server.changed.Broadcast()
}

func (p *fakePod) restart() {
	p.server.mu.Lock()
	defer p.server.mu.Unlock()
	p.runs = append(p.runs, nil)
	p.server.changed.Broadcast()
}

// kill ends a pod; its object is gone a moment later, as with kubelet's grace.
func (p *fakePod) kill() {
	p.server.mu.Lock()
	p.ended = true
	p.server.changed.Broadcast()
	p.server.mu.Unlock()
	time.AfterFunc(10*time.Second, func() {
		p.server.mu.Lock()
		defer p.server.mu.Unlock()
		p.gone = true
	})
}

func (s *fakeServer) trainJob(w http.ResponseWriter, _ *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	job := trainer.TrainJob{
		TypeMeta:   metav1.TypeMeta{APIVersion: trainer.GroupVersion.String(), Kind: "TrainJob"},
		ObjectMeta: metav1.ObjectMeta{Name: "train", Namespace: "team"},
	}
	if s.over {
		job.Status.Conditions = []metav1.Condition{{Type: trainer.TrainJobComplete, Status: metav1.ConditionTrue}}
	}
	answer(w, http.StatusOK, job)
}

func (s *fakeServer) list(w http.ResponseWriter, _ *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	list := corev1.PodList{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "PodList"}}
	for _, p := range s.pods {
		if !p.gone {
			list.Items = append(list.Items, p.object())
		}
	}
	answer(w, http.StatusOK, list)
}

func (p *fakePod) object() corev1.Pod {
	role, index := mpi.NodeJob, p.index-1
	if p.index == 0 {
		role, index = mpi.LauncherJob, 0
	}
	status := corev1.ContainerStatus{Name: mpi.Container, RestartCount: int32(len(p.runs) - 1)}
	switch {
	case p.waiting:
		status.State.Waiting = &corev1.ContainerStateWaiting{Reason: "ContainerCreating"}
	case p.ended:
		status.State.Terminated = &corev1.ContainerStateTerminated{}
	default:
		status.State.Running = &corev1.ContainerStateRunning{}
	}
	return corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Name: p.name, Namespace: "team", UID: types.UID(p.name),
			Labels: map[string]string{mpi.ReplicatedJobLabel: role, mpi.CompletionIndexLabel: strconv.Itoa(index)},
		},
		Spec:   corev1.PodSpec{RestartPolicy: corev1.RestartPolicyOnFailure, Containers: []corev1.Container{{Name: mpi.Container, Command: []string{p.command}}}},
		Status: corev1.PodStatus{Phase: corev1.PodRunning, ContainerStatuses: []corev1.ContainerStatus{status}},
	}
}

func (s *fakeServer) log(w http.ResponseWriter, r *http.Request) {
	resource := schema.GroupResource{Resource: "pods"}
	s.mu.Lock()
	i := slices.IndexFunc(s.pods, func(p *fakePod) bool { return p.name == r.PathValue("pod") && !p.gone })
	switch {
	case s.forbidden:
		s.mu.Unlock()
		refuse(w, apierrors.NewForbidden(resource, r.PathValue("pod"), nil))
		return
	case s.unknown > 0:
		s.unknown--
		s.mu.Unlock()
		refuse(w, apierrors.NewNotFound(resource, r.PathValue("pod")))
		return
	case s.unreadable:
		s.mu.Unlock()
		refuse(w, apierrors.NewInternalError(fmt.Errorf("no kubelet")))
		return
	case i < 0:
		s.mu.Unlock()
		refuse(w, apierrors.NewNotFound(resource, r.PathValue("pod")))
		return
	}
	p, q := s.pods[i], r.URL.Query()
	run := len(p.runs) - 1
	if q.Get("previous") == "true" {
		run--
	}
	waiting := p.waiting
	s.mu.Unlock()
	if run < 0 || waiting {
		refuse(w, apierrors.NewBadRequest("previous terminated container not found"))
		return
	}
	p.stream(w, r, run, q.Get("follow") == "true")
}

// stream writes a run of a container, as kubelet does.
func (p *fakePod) stream(w http.ResponseWriter, r *http.Request, run int, follow bool) {
	since, _ := time.Parse(time.RFC3339, r.URL.Query().Get("sinceTime"))
	tail, err := strconv.Atoi(r.URL.Query().Get("tailLines"))
	w.WriteHeader(http.StatusOK)
	s, next := p.server, 0
	if err == nil {
		s.mu.Lock()
		next = max(len(p.runs[run])-tail, 0)
		s.mu.Unlock()
	}
	for {
		s.mu.Lock()
		for follow && next == len(p.runs[run]) && !p.ended && len(p.runs)-1 == run && r.Context().Err() == nil {
			s.changed.Wait()
		}
		lines := p.runs[run][next:]
		s.mu.Unlock()
		var text strings.Builder
		for _, line := range lines {
			next++
			if line.at.Before(since) {
				continue
			}
			fmt.Fprintf(&text, "%s %s\n", line.at.Format(time.RFC3339Nano), line.text)
			if s.breakAfter > 0 && p.before(run)+next >= p.sent+s.breakAfter {
				p.sent = p.before(run) + next
				s.cut(w, text.String(), follow)
				return
			}
		}
		if _, err := w.Write([]byte(text.String())); err != nil || !follow || len(lines) == 0 {
			return
		}
		w.(http.Flusher).Flush()
	}
}

// before is how many lines were printed in the runs before this one.
func (p *fakePod) before(run int) int {
	p.server.mu.Lock()
	defer p.server.mu.Unlock()
	n := 0
	for _, lines := range p.runs[:run] {
		n += len(lines)
	}
	return n
}

// cut breaks a stream.
func (s *fakeServer) cut(w http.ResponseWriter, text string, follow bool) {
	s.mu.Lock()
	s.breaks++
	how := s.breaks % 3
	s.mu.Unlock()
	if how == 1 {
		text = text[:len(text)-5]
	}
	_, _ = w.Write([]byte(text))
	w.(http.Flusher).Flush()
	if how > 0 || !follow {
		panic(http.ErrAbortHandler)
	}
}

func answer(w http.ResponseWriter, code int, object any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_ = json.NewEncoder(w).Encode(object)
}

func refuse(w http.ResponseWriter, err *apierrors.StatusError) {
	answer(w, int(err.ErrStatus.Code), err.ErrStatus)
}
