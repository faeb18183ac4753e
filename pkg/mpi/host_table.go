package mpi

// HostTable says where the pods of a job are, so that nobody has to ask DNS.
type HostTable struct {
	// Hosts holds every pod of the job, in the order launcher, node 0, node 1, ….
	Hosts []HostAddress `json:"hosts"`
	// Up says that the containers of all nodes run for longer than their agents take to listen: a node that refuses
	// connections is not one that still starts.
	Up bool `json:"up,omitempty"`
}

// HostAddress is the address of one pod.
type HostAddress struct {
	// Name is the name in the hostfile (see HostName).
	Name string `json:"name"`
	// Address is the IP address of the pod.
	Address string `json:"address"`
}
