package cost

// Rates are what is known of a cluster.
type Rates struct {
	// Tenants are the names of tenants by namespace.
	Tenants map[string]string
	// Runtimes are those that are compiled, by name.
	Runtimes map[string]Runtime
	// Prices are those of a machine in an hour, by profile. A profile that is missing has none.
	Prices map[string]float64
	// Guaranteed is how many machines of a profile a tenant always has. Without queues nothing is guaranteed.
	Guaranteed map[Share]int64
	// Queues says that machines beyond what is guaranteed are borrowed.
	Queues bool
}

// Runtime is what a job of it takes.
type Runtime struct {
	Profile string
	// Nodes is how many machines a job has that names no number.
	Nodes int64
}

// Share is a kind of machine of a tenant.
type Share struct{ Tenant, Profile string }
