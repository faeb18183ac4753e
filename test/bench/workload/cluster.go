package workload

import "fmt"

// cluster is what a cluster's spec says.
type cluster struct {
	Name, Comment, Version string
	OpenShift              bool
	RequireDigests         bool
	// DNSPort is that of a DNS which is not where the platform has it, or 0.
	DNSPort  int
	Capacity []capacity
}

type capacity struct {
	Profile string
	Nodes   int
}

// AgentImage returns the image of the agent.
func (cluster) AgentImage() string { return image("lockstep/mpi-agent:1.4.0") }

// sites are the first clusters; further ones repeat them under other names.
var sites = []cluster{
	{Name: "frankfurt", Version: "1.36", Comment: "Our own machines in Frankfurt."},
	{Name: "dallas", Version: "1.34", OpenShift: true, Comment: "OpenShift of the group, run by its own team."},
	{Name: "osaka", Version: "1.35", RequireDigests: true, DNSPort: 1053, Comment: "Audited: images are named by digest only."},
}

func site(i int) cluster {
	c := sites[i%len(sites)]
	if i >= len(sites) {
		c.Name = fmt.Sprintf("%s-%d", c.Name, i/len(sites)+1)
	}
	return c
}

func clusterNames(n int) []string {
	names := make([]string, n)
	for i := range names {
		names[i] = site(i).Name
	}
	return names
}

// spare machines of each kind stand ready for repairs.
const spare = 4

// maxNodes is the most machines of a profile that a spec may name. Many tenants share fewer than their quotas add up to.
const maxNodes = 10_000

// clusters returns clusters with room for the quotas of all tenants, each kind of machine for all of them.
func clusters(o Options, tenants []*tenant) []cluster {
	result := make([]cluster, o.Clusters)
	for i := range result {
		result[i] = site(i)
		for _, p := range profiles {
			result[i].Capacity = append(result[i].Capacity, capacity{Profile: p.Name, Nodes: min(machines(p, tenants)+spare, maxNodes)})
		}
	}
	return result
}

// machines returns how many machines of a kind hold the quotas of the tenants that use accelerators as the kind does.
func machines(p profile, tenants []*tenant) int {
	cpu, memory, accelerators := 0, 0, 0
	for _, t := range tenants {
		if (t.Accelerators > 0) == (p.Accelerators > 0) {
			cpu += t.CPU * len(t.Namespaces)
			memory += t.Memory * len(t.Namespaces)
			accelerators += t.Accelerators * len(t.Namespaces)
		}
	}
	most := max(ceil(cpu, p.CPU), ceil(memory, p.Memory))
	if p.Accelerators > 0 {
		most = max(most, ceil(accelerators, p.Accelerators))
	}
	return most
}

func ceil(amount, unit int) int { return (amount + unit - 1) / unit }
