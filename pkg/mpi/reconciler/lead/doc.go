// Package lead decides whether this process may work: it holds the lease, the cluster has the kinds that it needs, and
// no other controller of TrainJobs runs beside an executor. Probes show the reason to kubelet.
package lead
