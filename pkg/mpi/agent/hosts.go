package agent

import (
	"encoding/json"
	"fmt"
	"net/netip"
	"os"
	"slices"
	"strings"

	"lockstep.dev/lockstep/pkg/mpi"
)

// find returns the entry of a host: the one with exactly that name, otherwise the one with the same first label, because
// some launchers cut names and users write cluster domains. The first labels of a job's host names differ.
func find(table mpi.HostTable, name string) (mpi.HostAddress, bool) {
	for _, host := range table.Hosts {
		if host.Name == name {
			return host, true
		}
	}
	for _, host := range table.Hosts {
		if firstLabel(host.Name) == firstLabel(name) {
			return host, true
		}
	}
	return mpi.HostAddress{}, false
}

// findAddress returns the entry of the host that has an IP address.
func findAddress(table mpi.HostTable, address string) (mpi.HostAddress, bool) {
	i := slices.IndexFunc(table.Hosts, func(h mpi.HostAddress) bool { return h.Address == address })
	if i < 0 {
		return mpi.HostAddress{}, false
	}
	return table.Hosts[i], true
}

func firstLabel(name string) string {
	label, _, _ := strings.Cut(name, ".")
	return label
}

// validateTable reports an entry that nobody could connect to, and the first needed host that is missing.
func validateTable(table mpi.HostTable, needed []mpi.Host) error {
	for _, host := range table.Hosts {
		if _, err := netip.ParseAddr(host.Address); err != nil {
			return fmt.Errorf("the table of hosts gives `%s` the address `%s`: an IP address is needed", host.Name, host.Address)
		}
	}
	for _, host := range needed {
		if _, found := find(table, host.Name); !found {
			return fmt.Errorf("the table of hosts lacks `%s`, which the hostfile names", host.Name)
		}
	}
	return nil
}

func decodeTable(text []byte) (mpi.HostTable, error) {
	var table mpi.HostTable
	if err := json.Unmarshal(text, &table); err != nil {
		return mpi.HostTable{}, fmt.Errorf("decode the table of hosts: %w", err)
	}
	return table, nil
}

func readTable(path string) (mpi.HostTable, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return mpi.HostTable{}, fmt.Errorf("read the table of hosts: %w", err)
	}
	return decodeTable(text)
}

func writeTable(path string, table mpi.HostTable) error {
	text, err := json.Marshal(table)
	if err != nil {
		return fmt.Errorf("encode the table of hosts: %w", err)
	}
	if err := replaceFile(path, text, 0o644); err != nil {
		return fmt.Errorf("write the table of hosts: %w", err)
	}
	return nil
}
