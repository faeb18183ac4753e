package v1

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Usage is how much a job has used. Its end measures all but the machines: the kernel counts for each pod, and the
// launcher adds up the pods with ranks. A program of the job could have written other numbers.
type Usage struct {
	// MachineSeconds are the nodes of the job times the seconds from the start of its command to its end. Restarts
	// count, suspensions do not; the span that is still open is not in it yet.
	MachineSeconds int64 `json:"machineSeconds"`
	// Since is when the open span began; zero while the job has no machines.
	Since metav1.Time `json:"since,omitzero"`
	// NodePrice is the price of a node in an hour, 0 for none, in the platform's currency.
	NodePrice float64 `json:"nodePrice,omitempty"`
	// Pods is how many pods with ranks reported at the end of the latest attempt; without any the rest is 0.
	Pods int `json:"pods,omitempty"`
	// CPUPerPod is how many processors each of them kept busy, on average.
	CPUPerPod float64 `json:"cpuPerPod,omitempty"`
	// MemoryPeak is the most bytes that one of them needed, file cache excluded, MemoryLimit its limit or 0, and
	// MemoryPod its host name, such as `train-node-0-2`.
	MemoryPeak  int64  `json:"memoryPeak,omitempty"`
	MemoryLimit int64  `json:"memoryLimit,omitempty"`
	MemoryPod   string `json:"memoryPod,omitempty"`
	// SentBytes is how much they sent over the network of the cluster, RDMA excluded.
	SentBytes int64 `json:"sentBytes,omitempty"`
}

// MachineHours are those until now of a job with so many nodes.
func (u Usage) MachineHours(nodes int32, now time.Time) float64 {
	seconds := u.MachineSeconds
	if !u.Since.IsZero() {
		seconds += int64(nodes) * max(0, int64(now.Sub(u.Since.Time)/time.Second))
	}
	return float64(seconds) / time.Hour.Seconds()
}
