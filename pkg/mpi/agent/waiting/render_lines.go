package waiting

import (
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"

	"lockstep.dev/lockstep/pkg/mpi"
)

// A log is read by people: so many rows has a table, and so many ranks are named of a job that has more.
const (
	maxRows  = 16
	maxLeast = 5
)

// Lines say how long the ranks were inside of MPI: each of them, or where there are many, those of each node and those that waited least. Then
// they name the one for which the others waited.
func (l Launch) Lines() []string {
	if len(l) == 0 {
		return []string{"no rank was counted: programs that load MPI as a shared library are, from MPI_Init on, where nothing sets LD_PRELOAD anew"}
	}
	shares := l.shares()
	lines := []string{fmt.Sprintf("counted of %d ranks: inside of MPI for %s to %s of their run after MPI_Init, the median for %s",
		len(l), percent(shares[0].part), percent(shares[len(shares)-1].part), percent(medianOf(shares)))}
	switch nodes := l.byHost(); {
	case len(l) <= maxRows:
		lines = append(lines, rankTable(l)...)
	case len(nodes) <= maxRows:
		lines = append(lines, nodeTable(nodes)...)
		fallthrough
	default:
		var least []placedRank
		for _, s := range shares[:maxLeast] {
			least = append(least, s.placedRank)
		}
		lines = append(lines, rankTable(least)...)
	}
	if straggler, found := findStraggler(shares); found {
		lines = append(lines, describeStraggler(straggler, shares, "its run"))
	}
	return lines
}

func describeStraggler(straggler rankShare, shares []rankShare, when string) string {
	return fmt.Sprintf("rank %d (%s) keeps the others waiting: it was inside of MPI for %s of %s, the median of %d ranks for %s; it has more to do than they have, or is slower at it",
		straggler.Rank, straggler.host, percent(straggler.part), when, len(shares), percent(medianOf(shares)))
}

// byHost are the ranks of each pod, in the order of the lowest.
func (l Launch) byHost() []Launch {
	var hosts []Launch
	for _, rank := range l {
		if i := slices.IndexFunc(hosts, func(h Launch) bool { return h[0].host == rank.host }); i >= 0 {
			hosts[i] = append(hosts[i], rank)
		} else {
			hosts = append(hosts, Launch{rank})
		}
	}
	return hosts
}

// rankTable has a row for each rank, and a column for each kind of call that any of them made.
func rankTable(ranks []placedRank) []string {
	var kinds []int
	for kind := range mpi.MPICallKinds {
		if slices.ContainsFunc(ranks, func(r placedRank) bool { return r.Kinds[kind].Calls > 0 }) {
			kinds = append(kinds, kind)
		}
	}
	head := []string{"", "run", "in MPI"}
	for _, kind := range kinds {
		head = append(head, mpi.CallKindNames[kind])
	}
	rows, notes := [][]string{append(head, "calls")}, []string{""}
	for _, r := range ranks {
		row := []string{fmt.Sprintf("rank %d", r.Rank), formatSeconds(r.Seconds), percent(r.share())}
		for _, kind := range kinds {
			cell := "-"
			if r.Kinds[kind].Calls > 0 {
				cell = formatSeconds(r.Kinds[kind].Seconds)
			}
			row = append(row, cell)
		}
		rows, notes = append(rows, append(row, fmt.Sprint(r.calls()))), append(notes, r.describeEnd())
	}
	return align(rows, notes)
}

// describeEnd is where the rank ran, and what it was at when it ended without MPI_Finalize.
func (r placedRank) describeEnd() string {
	switch {
	case r.Finalized:
		return r.host
	case r.Inside != "":
		return r.host + ", without MPI_Finalize, at last in " + r.Inside
	}
	return r.host + ", without MPI_Finalize, at last outside of MPI"
}

func nodeTable(nodes []Launch) []string {
	rows := [][]string{{"", "ranks", "in MPI: least", "median", "most"}}
	for _, node := range nodes {
		shares := node.shares()
		rows = append(rows, []string{
			node[0].host, fmt.Sprint(len(node)), percent(shares[0].part), percent(medianOf(shares)), percent(shares[len(shares)-1].part),
		})
	}
	return align(rows, make([]string, len(rows)))
}

// align makes columns of rows, and sets a note behind each.
func align(rows [][]string, notes []string) []string {
	var text strings.Builder
	w := tabwriter.NewWriter(&text, 0, 0, 2, ' ', tabwriter.AlignRight)
	for i, row := range rows {
		fmt.Fprintf(w, "%s\t  %s\n", strings.Join(row, "\t"), notes[i])
	}
	_ = w.Flush() // into memory
	lines := strings.Split(strings.TrimSuffix(text.String(), "\n"), "\n")
	for i := range lines {
		lines[i] = strings.TrimRight(lines[i], " ")
	}
	return lines
}

func percent(share float64) string { return fmt.Sprintf("%.0f %%", 100*share) }

func formatSeconds(seconds float64) string {
	switch {
	case seconds < 10:
		return fmt.Sprintf("%.2f s", seconds)
	case seconds < 1000:
		return fmt.Sprintf("%.1f s", seconds)
	}
	return fmt.Sprintf("%.0f s", seconds)
}
