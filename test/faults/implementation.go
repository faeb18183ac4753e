package main

// implementation is an MPI that faults are injected into.
type implementation struct {
	// title is what the titles of rows call it, label what the names of jobs do.
	title, label string
	// runtime is one of the catalog.
	runtime string
	// starter and daemon are the names of its processes in the launcher and on each node, as the kernel keeps them.
	starter, daemon string
}

var (
	openMPI4 = implementation{"Open MPI 4", "ompi4", "openmpi4-cpu", "mpirun", "orted"}
	// mpirun of Open MPI 5 becomes prterun.
	openMPI5 = implementation{"Open MPI 5", "ompi5", "openmpi5-cpu", "prterun", "prted"}
	mpich    = implementation{"MPICH", "mpich", "mpich-cpu", "mpirun", "hydra_pmi_proxy"}
)

// rankOfShell is the number of a rank in the words of a shell: Open MPI's variable, else Hydra's.
const rankOfShell = `${OMPI_COMM_WORLD_RANK:-$PMI_RANK}`

// suffix tells the row of an implementation from that of Open MPI 4, which has none.
func (i implementation) suffix() string {
	if i == openMPI4 {
		return ""
	}
	return " for " + i.title
}

// mpi is the implementation that a fault is injected into.
func (f Fault) mpi() implementation {
	if f.MPI == nil {
		return openMPI4
	}
	return *f.MPI
}

// everywhere makes a row of each fault for each implementation.
func everywhere(faults ...Fault) []Fault {
	var rows []Fault
	for _, f := range faults {
		rows = append(rows, f.in(openMPI4, openMPI5, mpich)...)
	}
	return rows
}

// in makes a row of the fault for each of some implementations.
func (f Fault) in(all ...implementation) []Fault {
	rows := make([]Fault, 0, len(all))
	for _, i := range all {
		row := f
		row.Name, row.MPI = f.Name+i.suffix(), &i
		rows = append(rows, row)
	}
	return rows
}
