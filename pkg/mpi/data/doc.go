// Package data fetches what spec.initializer of a TrainJob names onto a volume, each version once for all jobs of a
// namespace. It runs as mpi-data in pods of Jobs; pkg/mpi/job/desired makes them.
package data
