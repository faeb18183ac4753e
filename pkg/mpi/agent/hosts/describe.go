package hosts

import (
	"fmt"
	"strings"

	"lockstep.dev/lockstep/pkg/mpi"
)

// ListNames lists some names and counts the rest.
func ListNames(names []string) string {
	if len(names) <= maxNamed {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:maxNamed], ", "), len(names)-maxNamed)
}

// maxNamed is the number of nodes that a sentence names.
const maxNamed = 3

// DescribeFailures names some nodes, for example `demo-node-0-1 (10.244.1.5): connection refused; and 4 more`.
func DescribeFailures(failures []mpi.NodeFailure) string {
	text := ""
	for i, f := range failures {
		if i == maxNamed {
			return fmt.Sprintf("%s; and %d more", text, len(failures)-maxNamed)
		}
		if i > 0 {
			text += "; "
		}
		text += DescribeHost(f.Name, f.Address) + ": " + f.Error
	}
	return text
}

// DescribeHost names a host, for example `demo-node-0-1 (10.244.1.5)`.
func DescribeHost(name, address string) string {
	if address == "" {
		return FirstLabel(name)
	}
	return fmt.Sprintf("%s (%s)", FirstLabel(name), address)
}
