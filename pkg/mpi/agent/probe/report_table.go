package probe

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
)

// maxMatrix is the number of ranks up to which the table of a report shows every pair.
const maxMatrix = 8

// WriteTable writes a report for people.
func (r Report) WriteTable(w io.Writer) error {
	var b strings.Builder
	verdict := "OK"
	if !r.OK {
		verdict = "NOT OK"
	}
	fmt.Fprintf(&b, "%s: %d ranks on %d hosts, %d pairs, %.1f s\n\n", verdict, len(r.Ranks), len(r.ranksByHost()), len(r.Pairs), r.Seconds)
	for _, problem := range r.Problems {
		fmt.Fprintf(&b, "  ! %s\n", problem)
	}
	if len(r.Problems) > 0 {
		b.WriteString("\n")
	}
	columns := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	r.writeRanks(columns)
	r.writeSummaries(columns)
	if len(r.Ranks) <= maxMatrix {
		r.writePairs(columns)
	}
	if err := columns.Flush(); err != nil {
		return err
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func (r Report) ranksByHost() map[string]int {
	hosts := map[string]int{}
	for _, rank := range r.Ranks {
		hosts[rank.Host]++
	}
	return hosts
}

func (r Report) writeRanks(w io.Writer) {
	fmt.Fprint(w, "HOST\tADDRESS\tRANKS\tCPUS\tGPUS\tUSER\n")
	written := map[string]bool{}
	counts := r.ranksByHost()
	for _, rank := range r.Ranks {
		if !written[rank.Host] {
			written[rank.Host] = true
			fmt.Fprintf(w, "%s\t%s\t%d\t%d\t%d\t%d:%d\n", rank.Host, rank.Address, counts[rank.Host], rank.CPUs, rank.GPUs, rank.UID, rank.GID)
		}
	}
}

func (r Report) writeSummaries(w io.Writer) {
	fmt.Fprint(w, "\nPAIRS\tCOUNT\tROUND TRIP µs\tWORST µs\tBANDWIDTH Mbit/s\tSLOWEST Mbit/s\n")
	for _, part := range []struct {
		name string
		*Summary
	}{{"between hosts", r.BetweenHosts}, {"within a host", r.WithinHosts}} {
		if s := part.Summary; s != nil {
			fmt.Fprintf(w, "%s\t%d\t%.1f\t%.1f (%d-%d)\t%.0f\t%.0f (%d-%d)\n", part.name, s.Pairs, s.RoundTripMedian,
				s.RoundTripWorst, s.RoundTripWorstOf[0], s.RoundTripWorstOf[1], s.BandwidthMedian, s.BandwidthSlowest, s.SlowestFrom, s.SlowestTo)
		}
	}
}

func (r Report) writePairs(w io.Writer) {
	fmt.Fprint(w, "\nRANKS\tMIN µs\tMEDIAN µs\tP99 µs\tTHERE Mbit/s\tBACK Mbit/s\n")
	for _, p := range r.Pairs {
		if p.RoundTrip == nil {
			fmt.Fprintf(w, "%d-%d\t%s\n", p.From, p.To, p.Error)
			continue
		}
		fmt.Fprintf(w, "%d-%d\t%.1f\t%.1f\t%.1f\t%.0f\t%.0f\n", p.From, p.To, p.RoundTrip.Min, p.RoundTrip.Median, p.RoundTrip.P99, p.BandwidthThere, p.BandwidthBack)
	}
}
