package diagnose

import "strings"

// LostDaemonMarker are in what a launcher of Open MPI prints when it has lost a launch daemon.
const LostDaemonMarker = "has lost communication with a remote daemon"

var (
	lostDaemon = rx(`^(?:ORTE|PRTE|PRRTE) ` + LostDaemonMarker)
	remote     = rx(`^\s*Remote daemon:.* on node (\S+)\s*$`)
)

// terminates are the words by which that launcher ends its ranks.
const terminates = "therefore will terminate the job"

// FindLostDaemon returns the node whose launch daemon a launcher of Open MPI has lost for the last time, in its own words, and
// whether it said that it ends the job for it. Open MPI 5 exits with 0 after that.
func FindLostDaemon(lines []string) (host string, found bool) {
	for i := len(lines) - 1; i >= 0; i-- {
		if !lostDaemon.MatchString(StripEscapes(lines[i])) {
			continue
		}
		host, ends := "", false
		for _, line := range lines[i+1 : min(i+1+lostLines, len(lines))] {
			if groups := remote.FindStringSubmatch(StripEscapes(line)); groups != nil && host == "" {
				host = groups[1]
			}
			ends = ends || strings.Contains(line, terminates)
		}
		if ends && host != "" {
			return host, true
		}
	}
	return "", false
}

// lostLines is how many lines the message has, and some that ranks print into it.
const lostLines = 20
