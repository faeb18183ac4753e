// Package usage measures how much a pod uses: its processors, memory and network.
//
// The kernel counts for the cgroup and the network of the container, so no exporter is needed. Version 2 of cgroups and
// version 1 have different files (https://docs.kernel.org/admin-guide/cgroup-v2.html, .../cgroup-v1/memory.html).
package usage
