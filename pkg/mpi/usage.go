package mpi

import "fmt"

// PodUsage is how much one pod of a job has used since its agent began.
type PodUsage struct {
	// Seconds is for how long the agent has measured.
	Seconds float64 `json:"seconds"`
	// CPUSeconds is the processor time of all programs of the container.
	CPUSeconds float64 `json:"cpuSeconds"`
	// MemoryPeak is the most bytes that the container had in use at one of the looks, a second apart, without the file
	// cache that the kernel may drop. MemoryLimit is its limit in bytes, 0 for none.
	MemoryPeak  int64 `json:"memoryPeak"`
	MemoryLimit int64 `json:"memoryLimit,omitempty"`
	// SentBytes counts what the pod has sent over its network, loopback and RDMA not included.
	SentBytes int64 `json:"sentBytes,omitempty"`
}

// JobUsage is how much the pods of a job have used together.
type JobUsage struct {
	// Pods is how many of them have reported.
	Pods int `json:"pods"`
	// CPUPerPod is how many processors each has kept busy, on average.
	CPUPerPod float64 `json:"cpuPerPod"`
	// MemoryPeak is the highest of all pods, Host the name of its pod in the hostfile.
	MemoryPeak  int64  `json:"memoryPeak"`
	MemoryLimit int64  `json:"memoryLimit,omitempty"`
	Host        string `json:"host,omitempty"`
	// SentBytes is the sum over all pods.
	SentBytes int64 `json:"sentBytes,omitempty"`
}

// AddUp returns what pods have used together, nil if none has reported.
func AddUp(reports []NodeReport) *JobUsage {
	var sum JobUsage
	for _, r := range reports {
		u := r.Usage
		if u == nil {
			continue
		}
		sum.Pods++
		sum.SentBytes += u.SentBytes
		if u.Seconds > 0 {
			sum.CPUPerPod += u.CPUSeconds / u.Seconds
		}
		if u.MemoryPeak >= sum.MemoryPeak {
			sum.MemoryPeak, sum.MemoryLimit, sum.Host = u.MemoryPeak, u.MemoryLimit, r.Name
		}
	}
	if sum.Pods == 0 {
		return nil
	}
	sum.CPUPerPod = RoundSeconds(sum.CPUPerPod / float64(sum.Pods))
	return &sum
}

// FormatBytes returns a size with three digits or more and a unit, such as `3.97 GiB`.
func FormatBytes[N int64 | uint64](n N) string {
	value, units := float64(n), []string{"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"}
	for ; value >= 1000 && len(units) > 1; units = units[1:] {
		value /= 1024
	}
	switch {
	case value == float64(int64(value)), value >= 100:
		return fmt.Sprintf("%.0f %s", value, units[0])
	case value >= 10:
		return fmt.Sprintf("%.1f %s", value, units[0])
	}
	return fmt.Sprintf("%.2f %s", value, units[0])
}
