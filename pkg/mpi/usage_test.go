package mpi

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestFormatBytes(t *testing.T) {
	for n, want := range map[int64]string{
		0: "0 B", 512: "512 B", 1000: "0.98 KiB", 1536: "1.50 KiB", 4 << 30: "4 GiB", 4262068224: "3.97 GiB",
		12<<20 + 1<<19: "12.5 MiB", 130 << 40: "130 TiB",
	} {
		if got := FormatBytes(n); got != want {
			t.Errorf("%d bytes are `%s`, want `%s`", n, got, want)
		}
	}
}

func TestAddUp(t *testing.T) {
	reports := []NodeReport{
		{Name: "a", Usage: &PodUsage{Seconds: 10, CPUSeconds: 20, MemoryPeak: 5, MemoryLimit: 9, SentBytes: 1}},
		{Name: "lost", Error: "no answer"},
		{Name: "b", Usage: &PodUsage{Seconds: 10, CPUSeconds: 10, MemoryPeak: 7, MemoryLimit: 9, SentBytes: 2}},
	}
	want := &JobUsage{Pods: 2, CPUPerPod: 1.5, MemoryPeak: 7, MemoryLimit: 9, Host: "b", SentBytes: 3}
	if diff := cmp.Diff(want, AddUp(reports)); diff != "" {
		t.Error(diff)
	}
	if got := AddUp(reports[1:2]); got != nil {
		t.Errorf("no pod has reported: %+v", *got)
	}
}
