package v1alpha1

// Certification is what `kubectl mpi certify` measured of a runtime on a cluster. The command writes it.
type Certification struct {
	// Runtime names an MPIRuntime that is compiled for the cluster.
	Runtime string `json:"runtime" jsonschema:"required,format=dns-label"`
	// Fingerprint is that of the pods that were tested: the annotation lockstep.dev/fingerprint of the ClusterTrainingRuntime. When the pods of the
	// runtime become others, it has another one, and the certification is stale.
	Fingerprint string `json:"fingerprint" jsonschema:"required,format=sha256"`
	// Date is the day of the test, as 2026-11-26.
	Date string `json:"date" jsonschema:"required,format=date"`
	// By is who tested it, as the API server knows them.
	By string `json:"by" jsonschema:"required"`
	// Image is the digest of the image that ran, as the container runtime reported it.
	Image string `json:"image" jsonschema:"required,format=sha256"`
	// Nodes is on how many nodes it was tested, 2 to 128.
	Nodes int32 `json:"nodes" jsonschema:"required,minimum=2,maximum=128"`
	// Ranks is how many ranks ran on them together, 2 to 128.
	Ranks int32 `json:"ranks" jsonschema:"required,minimum=2,maximum=128"`
	// Pairs is how many pairs of ranks on different nodes were measured; the numbers below are theirs.
	Pairs int32 `json:"pairs" jsonschema:"required,minimum=1,maximum=8128"`
	// RoundTripMicroseconds is the median of their round trips.
	RoundTripMicroseconds int32 `json:"roundTripMicroseconds" jsonschema:"required,minimum=1"`
	// BandwidthMbps is the median of their bandwidths, in Mbit/s over one TCP connection.
	BandwidthMbps int32 `json:"bandwidthMbps" jsonschema:"required,minimum=1"`
	// SlowestMbps is the bandwidth of the slowest of them.
	SlowestMbps int32 `json:"slowestMbps" jsonschema:"required,minimum=1"`
}
