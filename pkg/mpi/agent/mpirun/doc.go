// Package mpirun is the agent under the names mpirun and mpiexec, which come first in the PATH of a user's command. It finds
// the MPI launcher of the image, records which world the command line asks for, writes what that launcher would misread in
// its own terms, and becomes it. The verdict compares the record with what ran: a launcher that runs alone exits 0.
package mpirun
