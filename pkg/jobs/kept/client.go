package kept

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"

	"lockstep.dev/lockstep/pkg/jobs/logs"
	"lockstep.dev/lockstep/pkg/jobs/logs/podlogs"
	"lockstep.dev/lockstep/pkg/mpi"
	"lockstep.dev/lockstep/pkg/mpi/diagnose"
	mpijob "lockstep.dev/lockstep/pkg/mpi/job"
)

// ErrNoHistory is the answer of a cluster without the API.
var ErrNoHistory = errors.New(
	"this cluster keeps no history of jobs: a platform admin may set `history` of the Cluster, or of the chart",
)

// Client reads the API with the rights of its user. REST may be a client of any group.
type Client struct{ REST rest.Interface }

func path(namespace string, more ...string) []string {
	return append(
		[]string{"/apis", GroupVersion.Group, GroupVersion.Version, "namespaces", namespace, Resource},
		more...)
}

// get reads JSON into an object. The words of a refusal are in Error, and not in the error of Raw or DoRaw.
func get(ctx context.Context, request *rest.Request, object any) error {
	answer := request.Do(ctx)
	if err := answer.Error(); err != nil {
		return err
	}
	text, err := answer.Raw()
	if err != nil {
		return err
	}
	return json.Unmarshal(text, object)
}

// List returns the kept jobs of a namespace without their objects, the oldest first. The selector may be empty.
func (c Client) List(ctx context.Context, namespace string, selector fields.Set) ([]Job, error) {
	var list JobList
	err := get(ctx, c.REST.Get().AbsPath(path(namespace)...).Param("fieldSelector", selector.String()), &list)
	missing := err
	if apierrors.IsForbidden(err) { // rights come first, even those to an API that is not there
		missing = c.REST.Get().AbsPath("/apis", GroupVersion.Group).Do(ctx).Error()
	}
	if apierrors.IsNotFound(missing) {
		return nil, ErrNoHistory
	}
	return list.Items, err
}

// Find returns the youngest kept job of a name, nil without one.
func (c Client) Find(ctx context.Context, namespace, trainJob string) (*Job, error) {
	found, err := c.List(ctx, namespace, fields.Set{"trainJob": trainJob})
	if err != nil || len(found) == 0 {
		return nil, err
	}
	return c.Get(ctx, &found[len(found)-1])
}

// Get returns a listed job with its objects, which lists leave out.
func (c Client) Get(ctx context.Context, listed *Job) (*Job, error) {
	job := &Job{}
	return job, get(ctx, c.REST.Get().AbsPath(path(listed.Namespace, listed.Name)...), job)
}

// Delete removes a kept job.
func (c Client) Delete(ctx context.Context, job *Job) error {
	return c.REST.Delete().AbsPath(path(job.Namespace, job.Name)...).Do(ctx).Error()
}

// readLog gives the lines of the main containers of a kept job, with the pod that printed each.
func (c Client) readLog(ctx context.Context, job *Job, give func(*corev1.Pod, logs.Line) error) error {
	stream, err := c.REST.Get().AbsPath(path(job.Namespace, job.Name, "log")...).Stream(ctx)
	if err != nil {
		return err
	}
	defer stream.Close()
	pods, sources := map[string]*corev1.Pod{}, map[string]*logs.LogSource{}
	for i := range job.Objects.Pods {
		pod := &job.Objects.Pods[i]
		if main := mpijob.MainContainer(&pod.Spec); main != nil {
			name := pod.Name + "/" + main.Name
			pods[name], sources[name] = pod, ptr.To(podlogs.StatusOf(pod, main.Name).LogSource)
		}
	}
	for in := bufio.NewReader(stream); ; {
		text, err := in.ReadString('\n')
		if errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
		at, name, raw := ParseLine(text)
		if pods[name] == nil {
			continue
		}
		line := logs.Line{Time: at, Source: sources[name], Raw: strings.TrimSuffix(raw, "\r")}
		line.Rank, line.Text = diagnose.CutRankTag(line.Raw)
		if err := give(pods[name], line); err != nil {
			return err
		}
	}
}

// LogRequest selects lines of a kept log.
type LogRequest struct {
	// Attempt is the number of restarts before the pods were made; negative for all attempts.
	Attempt int
	// Want chooses among the sources. Since drops earlier lines.
	Want  func(logs.LogSource) bool
	Since time.Time
	// Tail is the number of lines at the end of each source; negative for all.
	Tail int64
}

// ReadLines gives the lines that a request selects. Only a request with a tail holds lines in memory.
func (c Client) ReadLines(ctx context.Context, job *Job, r LogRequest, give func([]logs.Line) error) error {
	var last []logs.Line
	left := map[*logs.LogSource]int64{}
	err := c.readLog(ctx, job, func(pod *corev1.Pod, line logs.Line) error {
		switch {
		case r.Attempt >= 0 && AttemptOf(pod) != r.Attempt, !r.Want(*line.Source), line.Time.Before(r.Since):
			return nil
		case r.Tail < 0:
			return give([]logs.Line{line})
		}
		last = append(last, line)
		left[line.Source]++
		return nil
	})
	last = slices.DeleteFunc(last, func(line logs.Line) bool {
		left[line.Source]--
		return left[line.Source] >= r.Tail
	})
	return errors.Join(err, give(last))
}

// AttemptOf returns after how many restarts of its job a pod was made.
func AttemptOf(pod *corev1.Pod) int {
	attempt, _ := strconv.Atoi(cmp.Or(pod.Labels[mpi.AttemptLabel], pod.Labels[mpi.JobSetAttemptLabel]))
	return attempt
}
