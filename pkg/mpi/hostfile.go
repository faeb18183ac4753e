package mpi

import (
	"bufio"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// Host is one line of a hostfile.
type Host struct {
	// Name is the host name as the launcher will use it.
	Name string
	// Slots is the number of ranks that fit the host, at least 1.
	Slots int32
}

// HostsOf returns the hosts of a job in rank order.
func HostsOf(trainJob string, world World) []Host {
	names := world.HostNames(trainJob)
	hosts := make([]Host, len(names))
	for i, name := range names {
		hosts[i] = Host{Name: name, Slots: world.SlotsPerNode}
	}
	return hosts
}

// FormatHostfile writes hosts in a dialect: `host slots=N` for Open MPI, `host:N` for Hydra.
func FormatHostfile(dialect Dialect, hosts []Host) string {
	format := "%s slots=%d\n"
	if dialect.IsHydra() {
		format = "%s:%d\n"
	}
	var b strings.Builder
	for _, h := range hosts {
		fmt.Fprintf(&b, format, h.Name, h.Slots)
	}
	return b.String()
}

// ParseHostfile reads a hostfile in the syntax of Open MPI, which is the one that upstream and our controller write.
// Blank lines and `#` comments are skipped; a host without `slots=` has one slot. Errors name the line.
func ParseHostfile(r io.Reader) ([]Host, error) {
	var hosts []Host
	lines := bufio.NewScanner(r)
	for n := 1; lines.Scan(); n++ {
		text, _, _ := strings.Cut(lines.Text(), "#")
		fields := strings.Fields(text)
		if len(fields) == 0 {
			continue
		}
		host := Host{Name: fields[0], Slots: 1}
		for _, field := range fields[1:] {
			slots, found := strings.CutPrefix(field, "slots=")
			if !found {
				continue
			}
			value, err := strconv.ParseInt(slots, 10, 32)
			if err != nil || value < 1 {
				return nil, fmt.Errorf("hostfile line %d: `%s` must be a number of slots, at least 1", n, field)
			}
			host.Slots = int32(value)
		}
		hosts = append(hosts, host)
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("read hostfile: %w", err)
	}
	return hosts, nil
}
