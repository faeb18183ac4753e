package mpi

// The lines of a log that hold files (`mpi-agent archive`, `kubectl mpi cp`): a part of a .tar.gz in base64 after
// ArchiveMark, and ArchiveEnd after the last part, with the reason if it failed.
const (
	ArchiveMark = "mpi-archive:"
	ArchiveEnd  = "mpi-archive-end:"
)
