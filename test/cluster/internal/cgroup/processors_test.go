package cgroup

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestProcessorsOfNodes(t *testing.T) {
	cases := map[string]struct {
		reason, list string
		nodes        int
		want         []string
		err          string
	}{
		"one each":    {"two of two", "0-1", 2, []string{"0", "1"}, ""},
		"uneven":      {"nobody has none, and all are used", "0-2", 2, []string{"0", "1,2"}, ""},
		"with gaps":   {"a container may have some of the machine's", "1,4-6,9", 2, []string{"1,4", "5,6,9"}, ""},
		"one node":    {"it has all", "0-3", 1, []string{"0,1,2,3"}, ""},
		"too few":     {"all pods share them", "0-1", 3, nil, ""},
		"no list":     {"not what the kernel writes", "all", 1, nil, "`all` is not a list of processors such as `0-3,8`"},
		"backwards":   {"neither is this", "3-1", 1, nil, "`3-1` is not a list of processors such as `0-3,8`"},
		"nothing yet": {"an empty group", "", 1, nil, "`` is not a list of processors such as `0-3,8`"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			got, err := divide(c.list, c.nodes)
			text := ""
			if err != nil {
				text = err.Error()
			}
			if diff := cmp.Diff(c.want, got); diff != "" || text != c.err {
				t.Errorf("%s: (-want +got)\n%s%s", c.reason, diff, text)
			}
		})
	}
}

func FuzzDivide(f *testing.F) {
	f.Add("0-3,8", 2)
	f.Fuzz(func(_ *testing.T, list string, nodes int) {
		if nodes > 0 && nodes < 100 {
			_, _ = divide(list, nodes)
		}
	})
}

func TestPodsOfANodeHaveProcessorsOfTheirOwn(t *testing.T) {
	for name, c := range map[string]struct {
		mount  Mount
		list   string
		groups []string
	}{
		"v1": {Mount{Controllers: []string{"cpuset"}}, "cpuset.cpus", []string{pods, pods + "/burstable"}},
		"v2": {Mount{V2: true}, "cpuset.cpus.effective", []string{pods}},
	} {
		t.Run(name, func(t *testing.T) {
			c.mount.Path = t.TempDir()
			write(t, filepath.Join(c.mount.Path, top, c.list), "0-3\n")
			for _, node := range []string{"node0", "node1"} {
				write(t, filepath.Join(c.mount.Path, top, node, pods, "burstable", "cpuset.cpus"), "0-3\n")
			}
			other := Mount{Path: t.TempDir(), Controllers: []string{"memory"}}
			if err := (Tree{Mounts: []Mount{other, c.mount}}).Confine([]string{"node0", "node1"}); err != nil {
				t.Fatal(err)
			}
			for node, want := range map[string]string{"node0": "0,1", "node1": "2,3"} {
				for _, group := range c.groups {
					if got, err := os.ReadFile(filepath.Join(c.mount.Path, top, node, group, "cpuset.cpus")); err != nil || string(got) != want {
						t.Errorf("%s of %s: %q, %v", group, node, got, err)
					}
				}
			}
		})
	}
}
