package traffic

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"

	"lockstep.dev/lockstep/pkg/mpi"
)

// A log is read by people: so many rows and columns have a table, and so many pairs are named beside it.
const (
	maxRows  = 16
	maxPairs = 5
)

// Lines say what was sent: all of it, who to whom, and a rank that has more than others. Who to whom is a table of ranks, where there are few;
// otherwise one of nodes, where these are few, and the largest pairs of ranks.
func (m Matrix) Lines() []string {
	if len(m.hosts) == 0 {
		return []string{"no rank left a count of its messages: programs of Open MPI do in MPI_Finalize, where OMPI_MCA_pml does not leave out `monitoring`"}
	}
	lines := []string{fmt.Sprintf("counted by %d of %d ranks: %s in %d messages, %s of it between nodes, %s inside of collectives",
		len(m.hosts), m.worldSize(), mpi.FormatBytes(m.total.bytes), m.total.messages, share(m.betweenPods, m.total.bytes), share(m.collective, m.total.bytes))}
	if ranks := m.worldSize(); ranks <= maxRows {
		return slices.Concat(lines, m.rankTable(ranks), m.describeBusiest())
	}
	if nodes := m.nodes(); len(nodes) <= maxRows {
		lines = append(lines, table(nodes, m.between(func(rank int) string { return m.hosts[rank] }), nil)...)
	}
	for _, p := range m.largestPairs(maxPairs) {
		lines = append(lines, fmt.Sprintf("%s to %s: %s in %d messages", m.describeRank(p.from), m.describeRank(p.to), mpi.FormatBytes(m.pairs[p].bytes), m.pairs[p].messages))
	}
	return append(lines, m.describeBusiest()...)
}

func (m Matrix) rankTable(size int) []string {
	names, hosts := make([]string, size), map[string]string{}
	for rank := range size {
		names[rank] = rankName(rank)
		hosts[names[rank]] = cmp.Or(m.hosts[rank], "no count")
	}
	return table(names, m.between(rankName), hosts)
}

// unlike is how much more than the median makes a rank one to name.
const unlike = 1.1

// describeBusiest names the rank that sent and received most, nothing where it is like the others.
func (m Matrix) describeBusiest() []string {
	both := func(rank int) uint64 { return sum(m.sent[rank].bytes, m.received[rank].bytes) }
	ranks := slices.SortedFunc(maps.Keys(m.hosts), func(a, b int) int { return cmp.Or(cmp.Compare(both(b), both(a)), cmp.Compare(a, b)) })
	first, median := ranks[0], both(ranks[len(ranks)/2])
	factor := float64(both(first)) / float64(max(1, median))
	if factor < unlike {
		return nil
	}
	return []string{fmt.Sprintf("%s has most of it: sent %s, received %s, %.1f times the median", m.describeRank(first), mpi.FormatBytes(m.sent[first].bytes), mpi.FormatBytes(m.received[first].bytes), factor)}
}

func (m Matrix) nodes() []string {
	var nodes []string
	for _, rank := range slices.Sorted(maps.Keys(m.hosts)) {
		if host := m.hosts[rank]; !slices.Contains(nodes, host) {
			nodes = append(nodes, host)
		}
	}
	return nodes
}

func (m Matrix) describeRank(rank int) string {
	if host, known := m.hosts[rank]; known {
		return fmt.Sprintf("rank %d (%s)", rank, host)
	}
	return rankName(rank)
}

func rankName(rank int) string { return fmt.Sprintf("rank %d", rank) }

// table has a row for who sent and a column for who received, and notes at the ends of rows.
func table(names []string, sums map[[2]string]uint64, notes map[string]string) []string {
	var text strings.Builder
	w := tabwriter.NewWriter(&text, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintf(w, "from \\ to\t%s\t\n", strings.Join(names, "\t"))
	for _, from := range names {
		fmt.Fprint(w, from)
		for _, to := range names {
			cell := "-"
			if bytes, any := sums[[2]string{from, to}]; any {
				cell = mpi.FormatBytes(bytes)
			}
			fmt.Fprint(w, "\t", cell)
		}
		fmt.Fprintf(w, "\t  %s\n", notes[from])
	}
	_ = w.Flush() // into memory
	lines := strings.Split(strings.TrimSuffix(text.String(), "\n"), "\n")
	for i := range lines {
		lines[i] = strings.TrimRight(lines[i], " ")
	}
	return lines
}

func share(part, whole uint64) string {
	if whole == 0 {
		return "0 %"
	}
	return fmt.Sprintf("%.0f %%", 100*float64(part)/float64(whole))
}
