package usage

import (
	"testing"
	"testing/fstest"
)

func TestOOMKills(t *testing.T) {
	cases := map[string]struct {
		reason string
		files  fstest.MapFS
		want   int64
		found  bool
	}{
		"v2": {"a container sees its own cgroup at the root", fstest.MapFS{
			"proc/self/cgroup":            file("0::/\n"),
			"sys/fs/cgroup/memory.events": file("low 0\noom 3\noom_kill 2\noom_group_kill 0\n"),
		}, 2, true},
		"v1 in a container": {"the path is the host's, the mount is the container's", fstest.MapFS{
			"proc/self/cgroup":                        file("9:cpu,cpuacct:/kubepods/a\n4:memory:/kubepods/a\n0::/\n"),
			"sys/fs/cgroup/memory/memory.oom_control": file("oom_kill_disable 0\nunder_oom 0\noom_kill 5\n"),
		}, 5, true},
		"v1 on a host": {"the own cgroup, not the whole machine", fstest.MapFS{
			"proc/self/cgroup":                            file("4:memory:/a/b\n"),
			"sys/fs/cgroup/memory/memory.oom_control":     file("oom_kill 99\n"),
			"sys/fs/cgroup/memory/a/b/memory.oom_control": file("oom_kill 1\n"),
		}, 1, true},
		"v2 nested": {"the own cgroup", fstest.MapFS{
			"proc/self/cgroup": file("0::/x\n"), "sys/fs/cgroup/x/memory.events": file("oom_kill 4\n"),
		}, 4, true},
		"old kernel": {"no counter", fstest.MapFS{
			"sys/fs/cgroup/memory/memory.oom_control": file("under_oom 0\n"),
		}, 0, false},
		"nothing": {"no cgroup file system", fstest.MapFS{}, 0, false},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			if got, found := findCgroup(c.files).oomKills(); got != c.want || found != c.found {
				t.Errorf("%s: got %d, %v", c.reason, got, found)
			}
		})
	}
}
