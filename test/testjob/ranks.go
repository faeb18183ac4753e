package testjob

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
)

// Rank is what one rank of mpi-hello printed.
type Rank struct {
	Rank, Size    int
	Host          string
	Sum, Expected int
	// Right is the rank's own word on its sum.
	Right bool
}

var rankLine = regexp.MustCompile(`^rank=(\d+) size=(\d+) host=(\S+) sum=(\d+) expected=(\d+) (ok|mismatch)$`)

// ParseRank reads a line of mpi-hello. It is false for any other line.
func ParseRank(line string) (Rank, bool) {
	m := rankLine.FindStringSubmatch(line)
	if m == nil {
		return Rank{}, false
	}
	var numbers [4]int
	for i, group := range []int{1, 2, 4, 5} {
		n, err := strconv.Atoi(m[group])
		if err != nil {
			return Rank{}, false
		}
		numbers[i] = n
	}
	return Rank{
		Rank: numbers[0], Size: numbers[1], Host: m[3], Sum: numbers[2], Expected: numbers[3], Right: m[6] == "ok",
	}, true
}

// checkRanks says why the ranks are not a complete world of nodes × slots whose Allreduce is right, or nil.
func checkRanks(ranks []Rank, nodes, slots int) error {
	size := nodes * slots
	if len(ranks) != size {
		return fmt.Errorf("%d ranks reported, want %d (%d nodes × %d slots)", len(ranks), size, nodes, slots)
	}
	seen := make([]bool, size)
	perHost := map[string]int{}
	for _, r := range ranks {
		switch {
		case r.Size != size:
			return fmt.Errorf("rank %d lives in a world of %d, want %d", r.Rank, r.Size, size)
		case r.Rank >= size || seen[r.Rank]:
			return fmt.Errorf("rank %d reported twice or is out of range", r.Rank)
		case !r.Right || r.Sum != size*(size+1)/2:
			return fmt.Errorf("rank %d has the sum %d, want %d", r.Rank, r.Sum, size*(size+1)/2)
		}
		seen[r.Rank] = true
		perHost[r.Host]++
	}
	for host, n := range perHost {
		if n != slots {
			return fmt.Errorf("host %s ran %d ranks, want %d", host, n, slots)
		}
	}
	return nil
}

func hostsOf(ranks []Rank) []string {
	var hosts []string
	for _, r := range ranks {
		if !slices.Contains(hosts, r.Host) {
			hosts = append(hosts, r.Host)
		}
	}
	slices.Sort(hosts)
	return hosts
}
