package diagnose

import (
	"slices"
	"strings"
	"testing"
)

func TestLostDaemon(t *testing.T) {
	const message = `--------
PRTE has lost communication with a remote daemon.

  HNP daemon   : [prterun-a-launcher-0-0-16@0,0] on node a-launcher-0-0
  Remote daemon: [prterun-a-launcher-0-0-16@0,2] on node a-node-0-1

This is usually due to either a failure of the TCP network
connection to the node, or possibly an internal failure of
the daemon itself. We cannot recover from this failure, and
therefore will terminate the job.
--------`
	cases := map[string]struct{ reason, text, want string }{
		"Open MPI 5":    {"", message, "a-node-0-1"},
		"Open MPI 4":    {"the same words of ORTE", strings.Replace(message, "PRTE", "ORTE", 1), "a-node-0-1"},
		"interrupted":   {"ranks print into it", strings.Replace(message, "\n\nThis", "\nrank 0 step 3\nrank 1 step 3\n\nThis", 1), "a-node-0-1"},
		"two":           {"the last one counts", message + "\n" + strings.Replace(message, "0-1\n", "0-7\n", 1), "a-node-0-7"},
		"goes on":       {"it does not end the job", strings.Replace(message, "terminate", "recover", 1), ""},
		"no node":       {"", strings.Replace(message, "Remote daemon", "daemon", 1), ""},
		"cut":           {"", strings.Join(strings.Split(message, "\n")[2:], "\n"), ""},
		"of a rank":     {"a program that quotes it", strings.ReplaceAll(message, "PRTE has", "log: PRTE has"), ""},
		"nothing":       {"", "", ""},
		"after carrier": {"terminals", strings.ReplaceAll(message, "\n", "\r\n"), "a-node-0-1"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			lines := strings.Split(c.text, "\n")
			if host, found := FindLostDaemon(slices.Clone(lines)); host != c.want || found != (c.want != "") {
				t.Errorf("%s: %q, %v", c.reason, host, found)
			}
		})
	}
}
