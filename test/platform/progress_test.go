package platform

import (
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

// TestWatchSaysEveryTenSecondsHowFarItIs: no more often, whatever the work tells, and its end is a line of its own.
func TestWatchSaysEveryTenSecondsHowFarItIs(t *testing.T) {
	lost := errors.New("lost")
	cases := map[string]struct {
		reason string
		err    error
		last   string
	}{
		"Done":   {"the last line says how it ended", nil, "[  25.0s] ok     jobs                                 25.0s  24 done"},
		"Failed": {"so does that of a failure", lost, "[  25.0s] FAILED jobs                                 25.0s  lost"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var out strings.Builder
				err := NewProgress(&out).Watch("jobs", func(now func(string)) error {
					for _, done := range []string{"0 done", "9 done", "18 done", "24 done"} {
						now(done)
						time.Sleep(25 * time.Second / 4)
					}
					return tc.err
				})
				if !errors.Is(err, tc.err) {
					t.Errorf("Watch = %v, want %v", err, tc.err)
				}
				want := []string{
					"[  10.0s] ...    jobs                                 10.0s  9 done",
					"[  20.0s] ...    jobs                                 20.0s  24 done",
					tc.last,
				}
				if diff := cmp.Diff(want, strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n")); diff != "" {
					t.Errorf("%s: (-want +got)\n%s", tc.reason, diff)
				}
			})
		})
	}
}
