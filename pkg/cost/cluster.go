package cost

// Cluster is what a bill needs of a cluster: whose namespaces are, what runtimes take, what machines cost and are guaranteed.
type Cluster struct {
	// Tenants are the names of tenants by namespace.
	Tenants map[string]string
	// Runtimes are those that are compiled, by name.
	Runtimes map[string]Runtime
	// Prices are those of a machine in an hour, by profile. A profile that is missing has none.
	Prices map[string]float64
	// Guaranteed is how many machines of a profile a tenant always has. Without queues nothing is guaranteed.
	Guaranteed map[ShareKey]int64
	// Queues says that machines beyond what is guaranteed are borrowed.
	Queues bool
}

// Runtime is what a job of a runtime takes.
type Runtime struct {
	Profile string
	// Nodes is how many machines a job has that names no number.
	Nodes int64
}

// ShareKey names the share that a tenant has of a kind of machine.
type ShareKey struct{ Tenant, Profile string }
