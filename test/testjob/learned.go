package testjob

import (
	"fmt"
	"regexp"
	"strconv"
)

// What each rank of mpi-train and torch-train says, and what rank 0 says besides (test/images).
var (
	trained    = regexp.MustCompile(`(?m)^\W*(?:\S+[:>]\s*)?rank=(\d+) size=(\d+) host=(\S+) loss=\S+ accuracy=(\S+) weights=(\S+)\r?$`)
	difference = regexp.MustCompile(`(?m)^\W*(?:\S+[:>]\s*)?difference=(\S+) from one process\r?$`)
)

// CheckLearned says why the log of a launcher, whose lines may begin with the rank or the host that wrote them, is not that of a training on
// nodes × slots ranks, or nil: all ranks on their nodes in one world, one result, which is good, and that of one process within a tolerance.
func CheckLearned(log string, nodes, slots int, tolerance float64) error {
	ranks, hosts, weights := map[string]bool{}, map[string]int{}, map[string]bool{}
	for _, line := range trained.FindAllStringSubmatch(log, -1) {
		ranks[line[1]], weights[line[5]] = true, true
		hosts[line[3]]++
		if line[2] != strconv.Itoa(nodes*slots) {
			return fmt.Errorf("rank %s lives in a world of %s, want %d", line[1], line[2], nodes*slots)
		}
		if accuracy, err := strconv.ParseFloat(line[4], 64); err != nil || accuracy <= 0.98 {
			return fmt.Errorf("rank %s has the accuracy %s, want more than 0.98", line[1], line[4])
		}
	}
	if len(ranks) != nodes*slots {
		return fmt.Errorf("%d ranks have learned, want %d", len(ranks), nodes*slots)
	}
	if len(weights) != 1 {
		return fmt.Errorf("ranks have %d different weights: they did not learn together", len(weights))
	}
	for host, n := range hosts {
		if n != slots {
			return fmt.Errorf("host %s ran %d ranks, want %d", host, n, slots)
		}
	}
	found := difference.FindStringSubmatch(log)
	if found == nil {
		return fmt.Errorf("rank 0 has not compared with one process")
	}
	if d, err := strconv.ParseFloat(found[1], 64); err != nil || d >= tolerance {
		return fmt.Errorf("the weights differ by %s from those of one process, want less than %g", found[1], tolerance)
	}
	return nil
}
