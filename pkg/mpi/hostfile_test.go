package mpi

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestFormatHostfile(t *testing.T) {
	hosts := HostsOf("job", World{Nodes: 2, SlotsPerNode: 4})
	want := map[Dialect]string{
		ORTE:       "job-node-0-0.job slots=4\njob-node-0-1.job slots=4\n",
		PRRTE:      "job-node-0-0.job slots=4\njob-node-0-1.job slots=4\n",
		Hydra:      "job-node-0-0.job:4\njob-node-0-1.job:4\n",
		IntelHydra: "job-node-0-0.job:4\njob-node-0-1.job:4\n",
	}
	for dialect, text := range want {
		if diff := cmp.Diff(text, FormatHostfile(dialect, hosts)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", dialect, diff)
		}
	}
}

func TestParseHostfile(t *testing.T) {
	cases := map[string]struct {
		reason string
		text   string
		want   []Host
		err    string
	}{
		"Upstream": {
			reason: "the form that Kubeflow Trainer and our controller write",
			text:   "a.job slots=2\nb.job slots=8\n",
			want:   []Host{{"a.job", 2}, {"b.job", 8}},
		},
		"CommentsAndBlanks": {
			reason: "both are allowed by Open MPI",
			text:   "# nodes\n\na # first\n  b slots=3 max_slots=3  \r\n",
			want:   []Host{{"a", 1}, {"b", 3}},
		},
		"Empty":    {reason: "no host is not a mistake of the syntax", text: ""},
		"BadSlots": {reason: "the line is named", text: "a\nb slots=two\n", err: "line 2"},
		"ZeroSlots": {
			reason: "a host without slots runs nothing", text: "a slots=0\n", err: "at least 1",
		},
		"HugeSlots": {reason: "no overflow", text: "a slots=99999999999\n", err: "line 1"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got, err := ParseHostfile(strings.NewReader(tc.text))
			if tc.err != "" {
				if err == nil || !strings.Contains(err.Error(), tc.err) {
					t.Fatalf("%s: error = %v, want one with %q", tc.reason, err, tc.err)
				}
				return
			}
			if diff := cmp.Diff(tc.want, got); err != nil || diff != "" {
				t.Errorf("%s: error = %v (-want +got):\n%s", tc.reason, err, diff)
			}
		})
	}
}

func FuzzParseHostfile(f *testing.F) {
	f.Add("a slots=2\n# x\nb\n")
	f.Add("a slots=\x00\n")
	f.Fuzz(func(t *testing.T, text string) {
		hosts, err := ParseHostfile(strings.NewReader(text))
		if err != nil {
			return
		}
		again, err := ParseHostfile(strings.NewReader(FormatHostfile(ORTE, hosts)))
		if diff := cmp.Diff(hosts, again); err != nil || diff != "" {
			t.Errorf("what was read does not survive writing: %v\n%s", err, diff)
		}
	})
}
