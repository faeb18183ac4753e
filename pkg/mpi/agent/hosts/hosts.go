package hosts

import (
	"encoding/json"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"lockstep.dev/lockstep/pkg/mpi"
)

// FindHost returns the entry of a host: the one with exactly that name, otherwise the one with the same first label, because
// some launchers cut names and users write cluster domains. The first labels of a job's host names differ.
func FindHost(table mpi.HostTable, name string) (mpi.HostAddress, bool) {
	for _, host := range table.Hosts {
		if host.Name == name {
			return host, true
		}
	}
	for _, host := range table.Hosts {
		if FirstLabel(host.Name) == FirstLabel(name) {
			return host, true
		}
	}
	return mpi.HostAddress{}, false
}

// FindAddress returns the entry of the host that has an IP address.
func FindAddress(table mpi.HostTable, address string) (mpi.HostAddress, bool) {
	i := slices.IndexFunc(table.Hosts, func(h mpi.HostAddress) bool { return h.Address == address })
	if i < 0 {
		return mpi.HostAddress{}, false
	}
	return table.Hosts[i], true
}

// FirstLabel is the first label of a host name, by which agents know a pod.
func FirstLabel(name string) string {
	label, _, _ := strings.Cut(name, ".")
	return label
}

// ValidateTable reports an entry that nobody could connect to, and the first needed host that is missing.
func ValidateTable(table mpi.HostTable, needed []mpi.Host) error {
	for _, host := range table.Hosts {
		if _, err := netip.ParseAddr(host.Address); err != nil {
			return fmt.Errorf("the table of hosts gives `%s` the address `%s`: an IP address is needed", host.Name, host.Address)
		}
	}
	for _, host := range needed {
		if _, found := FindHost(table, host.Name); !found {
			return fmt.Errorf("the table of hosts lacks `%s`, which the hostfile names", host.Name)
		}
	}
	return nil
}

// DecodeTable reads a table as it comes over the wire or from a file.
func DecodeTable(text []byte) (mpi.HostTable, error) {
	var table mpi.HostTable
	if err := json.Unmarshal(text, &table); err != nil {
		return mpi.HostTable{}, fmt.Errorf("decode the table of hosts: %w", err)
	}
	return table, nil
}
