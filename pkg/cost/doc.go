// Package cost says what the jobs of a month cost: machine-hours of each tenant, person, runtime and queue, guaranteed and borrowed apart, at the prices of
// a cluster's spec.
//
// Flow: ReadJobSteps reads what `kubectl mpi audit -o json` prints → MachineUses makes the spans of time in which a job had its machines → NewBill divides them and adds them up →
// WriteCSV, WriteHTML. The package is pure. It knows neither specs nor clusters: Cluster has what it needs of them.
package cost
