package fetch

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	jobv1 "lockstep.dev/lockstep/api/job/v1"
	"lockstep.dev/lockstep/pkg/jobs/view"
)

// FreeCapacity is what is free where a job waits, as far as it can be read.
type FreeCapacity struct {
	Quotas []FreeQuota `json:"quotas,omitempty"`
	// Queue is the local queue of the job, or nil.
	Queue    *QueueLoad      `json:"queue,omitempty"`
	Withheld []view.Withheld `json:"withheld,omitempty"`
}

// FreeQuota is what a quota of the namespace leaves.
type FreeQuota struct {
	Name string       `json:"name"`
	Free []FreeAmount `json:"free"`
}

// FreeAmount is what is free of a resource: `2 of 8`.
type FreeAmount struct {
	Resource string `json:"resource"`
	Free     string `json:"free"`
	Of       string `json:"of"`
}

// QueueLoad is how busy a local queue of Kueue is.
type QueueLoad struct {
	Name string `json:"name"`
	// Pending is how many jobs wait in it, Admitted how many have their room.
	Pending  int64 `json:"pending"`
	Admitted int64 `json:"admitted"`
	// ClusterQueue is where it gets its room from.
	ClusterQueue string `json:"clusterQueue,omitempty"`
}

// FreeCapacityIn reads what is free in a namespace, and how long the queue of a job is. Queue may be nil.
func FreeCapacityIn(ctx context.Context, c client.Reader, namespace string, queue *jobv1.Queue) *FreeCapacity {
	room, noted := &FreeCapacity{}, &view.JobObjects{}
	var quotas corev1.ResourceQuotaList
	err := c.List(ctx, &quotas, client.InNamespace(namespace))
	noteWithheld(noted, "resourcequotas", err)
	for _, quota := range quotas.Items {
		room.Quotas = append(room.Quotas, FreeQuota{Name: quota.Name, Free: freeRemainders(&quota)})
	}
	if queue != nil {
		found := &unstructured.Unstructured{}
		found.SetGroupVersionKind(LocalQueueKind)
		err := c.Get(ctx, client.ObjectKey{Namespace: namespace, Name: queue.Name}, found)
		noteWithheld(noted, "queue "+queue.Name, err)
		if err == nil {
			room.Queue = queueLoad(found)
		}
	}
	room.Withheld = noted.Withheld
	return room
}

// noteWithheld notes why something could not be read, whatever the reason is: an answer without it is better than none.
func noteWithheld(noted *view.JobObjects, what string, err error) {
	if withholdOrFail(noted, what, &err) != nil {
		noted.Withheld = append(noted.Withheld, view.Withheld{What: what, Why: err.Error()})
	}
}

func freeRemainders(quota *corev1.ResourceQuota) []FreeAmount {
	var list []FreeAmount
	for _, name := range slices.Sorted(maps.Keys(quota.Status.Hard)) {
		hard := quota.Status.Hard[name]
		free := hard.DeepCopy()
		if used, known := quota.Status.Used[name]; known {
			free.Sub(used)
		}
		list = append(list, FreeAmount{Resource: string(name), Free: free.String(), Of: hard.String()})
	}
	return list
}

func queueLoad(found *unstructured.Unstructured) *QueueLoad {
	q := &QueueLoad{Name: found.GetName()}
	q.Pending, _, _ = unstructured.NestedInt64(found.Object, "status", "pendingWorkloads")
	q.Admitted, _, _ = unstructured.NestedInt64(found.Object, "status", "admittedWorkloads")
	q.ClusterQueue, _, _ = unstructured.NestedString(found.Object, "spec", "clusterQueue")
	return q
}

// shortNames are for people: requests and limits of a quota are the same.
var shortNames = strings.NewReplacer("count/trainjobs.trainer.kubeflow.org", "jobs", "requests.", "", "limits.", "", "cpu", "CPU")

// DescribeLines are the same for people.
func (r *FreeCapacity) DescribeLines() []string {
	var lines []string
	for _, quota := range r.Quotas {
		var parts []string
		for _, f := range quota.Free {
			parts = append(parts, fmt.Sprintf("%s %s of %s", shortNames.Replace(f.Resource), f.Free, f.Of))
		}
		slices.Sort(parts)
		lines = append(lines, fmt.Sprintf("Free in quota `%s`: %s", quota.Name, strings.Join(slices.Compact(parts), ", ")))
	}
	if r.Queue != nil {
		lines = append(lines, fmt.Sprintf("Queue `%s`: %d waiting, %d admitted; it gets its room from ClusterQueue `%s`", r.Queue.Name, r.Queue.Pending, r.Queue.Admitted, r.Queue.ClusterQueue))
	}
	return lines
}
