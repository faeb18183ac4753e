package diagnose

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// ncclLastError returns what NCCL itself says behind an error of NCCL, as PyTorch quotes it, as the end of a sentence; nothing where it says nothing.
func ncclLastError(behind []string) string {
	for i, line := range behind[:max(0, len(behind)-1)] {
		rank, line := CutRankTag(StripEscapes(line))
		by, next := CutRankTag(StripEscapes(behind[i+1]))
		if line == "Last error:" && next != "" && (rank == nil) == (by == nil) && (rank == nil || *rank == *by) {
			return ": " + next
		}
	}
	return ""
}

// lastWork is what each rank says when PyTorch's watchdog has waited for too long: how many operations it has given to NCCL.
var lastWork = rx(`\[PG ID 0 .*Rank (?P<rank>\d+)\] Received a dump signal due to a collective timeout.* Last enqueued NCCL work: (?P<work>-?\d+),`)

// maxLate is how many late ranks are named.
const maxLate = 8

// lateRanks says which ranks did not come to a collective operation of all ranks that did not end in time, as the end of a sentence: those that have given fewer
// operations to NCCL than another. It says nothing where all have given as many, or where too little is known.
func lateRanks(lines []string) string {
	works := map[int]int{}
	last := 0
	for _, line := range lines {
		if !strings.Contains(line, "Last enqueued NCCL work") {
			continue
		}
		rank := parseRankNumber(namedGroup(lastWork, line, "rank"))
		work, err := strconv.Atoi(namedGroup(lastWork, line, "work"))
		if rank == nil || err != nil {
			continue
		}
		works[*rank], last = work, max(last, work)
	}
	var late []string
	for _, rank := range slices.Sorted(maps.Keys(works)) {
		if works[rank] < last {
			late = append(late, strconv.Itoa(rank))
		}
	}
	switch {
	case len(late) == 0:
		return ""
	case len(late) == 1:
		return fmt.Sprintf(": rank %s did not come to it", late[0])
	case len(late) > maxLate:
		return fmt.Sprintf(": ranks %s and %d more did not come to it", strings.Join(late[:maxLate], ", "), len(late)-maxLate)
	}
	return fmt.Sprintf(": ranks %s did not come to it", strings.Join(late, ", "))
}
