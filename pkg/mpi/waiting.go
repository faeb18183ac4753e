package mpi

// WaitingSubsystem is by what the launcher's agent asks a node's agent how long its ranks have been inside of MPI: the request is a
// WaitingRequest, the answer a NodeWaiting.
const WaitingSubsystem = "lockstep-waiting"

// MaxWaitingRanks is how many ranks a launcher keeps, whose memory is small. Of more, the lowest of each pod.
const MaxWaitingRanks = 1 << 14

// WaitingRequest says what a NodeWaiting shall hold.
type WaitingRequest struct {
	// Ranks is how many ranks it may have.
	Ranks int `json:"ranks"`
}

// NodeWaiting is how long the ranks of a pod have been inside of MPI.
type NodeWaiting struct {
	Ranks []RankWaiting `json:"ranks,omitempty"`
}

// RankWaiting is how long a rank has been inside of MPI.
type RankWaiting struct {
	Rank int `json:"rank"`
	// Age is how many seconds ago it called MPI_Init, Seconds how long it has run since then, or ran.
	Age     float64 `json:"age"`
	Seconds float64 `json:"seconds"`
	// Finalized reports whether it came through MPI_Finalize, Inside in which kind of call it is, or was at its end, empty for none.
	Finalized bool   `json:"finalized,omitempty"`
	Inside    string `json:"inside,omitempty"`
	// Kinds are its calls, by their kinds.
	Kinds [MPICallKinds]CallKind `json:"kinds"`
}

// CallKind is how often a rank has called MPI for something, and how long that took.
type CallKind struct {
	Calls   uint64  `json:"calls"`
	Seconds float64 `json:"seconds"`
}

// The kinds of calls, in the order of the library (enum kind of waiting.c).
const (
	MPIStart = iota
	MPICollective
	MPIMessage
	MPIOneSided
	MPIFile
	MPIEnd
	MPICallKinds
)

// CallKindNames are how people read them.
var CallKindNames = [MPICallKinds]string{"MPI_Init", "collectives", "messages", "one-sided", "files", "MPI_Finalize"}
