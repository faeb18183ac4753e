package diagnose

import (
	"slices"

	"lockstep.dev/lockstep/pkg/mpi"
)

// endsBy are the codes with which a process ends by a cause, for causes of which programs often print the name and go on: a
// script looks whether a module or a tool is there, a cache does without memory. What is missing never makes a process die of a
// signal. Python ends with 1, or with 2 where the script is missing, the loader with 127, shells with 126 and 127, and 255 is what
// a child returns that could not start its program. An allocation that fails ends with the code that the program chooses, most
// often 1, -1 or ENOMEM, or with SIGABRT (std::terminate); shells end with 254 when they cannot fork.
var endsBy = map[mpi.Reason][]int{
	PythonModuleMissing: {1, 2, 126, 127, 255},
	LibraryMissing:      {1, 2, 126, 127, 255},
	CommandNotFound:     {1, 2, 126, 127, 255},
	ArgumentTooLong:     {1, 2, 126, 127, 255},
	OutOfMemory:         {1, 2, 12, 128 + 6, 254, 255},
}

// peerLost are the codes with which MPICH and Open MPI end a rank because another one is gone: MPI_ERR_OTHER.
var peerLost = []int{15, 16}

// explainsEnd reports whether a rank that failed first may have ended so by what was found. Nobody knows who printed a line without a
// tag: then the code has to be one that such a cause has. Of a rank's own line it is enough that no other signal killed it, and a code of 0 says nothing.
func (f OutputFinding) explainsEnd(end mpi.RankEnd) bool {
	codes, known := endsBy[f.Reason]
	switch {
	case !known, f.Weight < suspect, end.Code == 0, slices.Contains(codes, end.Code), slices.Contains(peerLost, end.Code):
		return true
	case f.Rank == nil || end.Rank == nil:
		return false
	}
	return *f.Rank != *end.Rank || end.Signal == ""
}
