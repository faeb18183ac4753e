package fetch

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestDescribeLines(t *testing.T) {
	free := FreeCapacity{Quotas: []FreeQuota{{Name: "lockstep-quota", Free: []FreeAmount{
		{Resource: "count/trainjobs.trainer.kubeflow.org", Free: "10", Of: "20"}, {Resource: "limits.memory", Free: "1Gi", Of: "2Gi"},
		{Resource: "requests.cpu", Free: "4", Of: "8"}, {Resource: "requests.memory", Free: "1Gi", Of: "2Gi"}, {Resource: "requests.nvidia.com/gpu", Free: "0", Of: "8"},
	}}}}
	want := []string{"Free in quota `lockstep-quota`: CPU 4 of 8, jobs 10 of 20, memory 1Gi of 2Gi, nvidia.com/gpu 0 of 8"}
	if diff := cmp.Diff(want, free.DescribeLines()); diff != "" {
		t.Error(diff)
	}
}
