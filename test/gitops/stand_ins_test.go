package gitops

import (
	"context"
	"sync"
	"time"

	. "github.com/onsi/ginkgo/v2"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// standInsPause is how long they wait before they look again.
var standInsPause = 100 * time.Millisecond

// standIns reports every queue to be active, the pods of every Deployment to run and every claim to have its volume, for the specs of an engine.
func standIns() {
	ctx, stop := context.WithCancel(context.Background())
	var done sync.WaitGroup
	done.Go(func() {
		for ctx.Err() == nil {
			for kind, status := range map[schema.GroupVersionKind]func(*unstructured.Unstructured) map[string]any{
				{Group: "kueue.x-k8s.io", Version: "v1beta2", Kind: "ClusterQueue"}: active,
				{Group: "kueue.x-k8s.io", Version: "v1beta2", Kind: "LocalQueue"}:   active,
				{Group: "apps", Version: "v1", Kind: "Deployment"}:                  running,
				{Version: "v1", Kind: "PersistentVolumeClaim"}:                      bound,
			} {
				report(ctx, kind, status)
			}
			select {
			case <-ctx.Done():
			case <-time.After(standInsPause):
			}
		}
	})
	DeferCleanup(func() { stop(); done.Wait() })
}

// report writes a status to objects that have none of their generation. Errors pass: the next turn comes.
func report(ctx context.Context, kind schema.GroupVersionKind, status func(*unstructured.Unstructured) map[string]any) {
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(kind)
	if admin.List(ctx, list) != nil {
		return
	}
	for i := range list.Items {
		o := &list.Items[i]
		_, done, _ := unstructured.NestedSlice(o.Object, "status", "conditions")
		seen, counted, _ := unstructured.NestedInt64(o.Object, "status", "observedGeneration")
		if phase, _, _ := unstructured.NestedString(o.Object, "status", "phase"); done && (!counted || seen == o.GetGeneration()) || phase == "Bound" {
			continue
		}
		before := o.DeepCopy()
		o.Object["status"] = status(o)
		_ = admin.Status().Patch(ctx, o, client.MergeFrom(before))
	}
}

func active(*unstructured.Unstructured) map[string]any {
	return map[string]any{"conditions": []any{condition("Active", "Ready")}}
}

func bound(*unstructured.Unstructured) map[string]any { return map[string]any{"phase": "Bound"} }

func running(o *unstructured.Unstructured) map[string]any {
	pods, _, _ := unstructured.NestedInt64(o.Object, "spec", "replicas")
	return map[string]any{
		"observedGeneration": o.GetGeneration(), "replicas": pods, "updatedReplicas": pods, "readyReplicas": pods, "availableReplicas": pods,
		"conditions": []any{condition("Available", "MinimumReplicasAvailable"), condition("Progressing", "NewReplicaSetAvailable")},
	}
}

func condition(kind, reason string) map[string]any {
	return map[string]any{"type": kind, "status": "True", "reason": reason, "message": "", "lastTransitionTime": time.Now().UTC().Format(time.RFC3339)}
}
