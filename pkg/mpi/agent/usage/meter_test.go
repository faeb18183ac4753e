package usage

import (
	"testing"
	"testing/fstest"
)

func file(text string) *fstest.MapFile { return &fstest.MapFile{Data: []byte(text)} }

// A pod uses what it has beyond the first look; file cache that the kernel may drop is not needed.
func TestUsageInBothVersionsOfCgroups(t *testing.T) {
	sent := func(bytes string) *fstest.MapFile {
		return file("head|\n lo: 900 1 0 0 0 0 0 0 900 1 0\n eth0: 100 1 0 0 0 0 0 0 " + bytes + " 1 0\n")
	}
	cases := map[string]struct {
		before, after fstest.MapFS
	}{
		"2": {
			fstest.MapFS{
				"proc/self/cgroup":             file("0::/\n"),
				"sys/fs/cgroup/memory.current": file("5000\n"),
				"sys/fs/cgroup/memory.max":     file("8000\n"),
				"sys/fs/cgroup/memory.stat":    file("anon 1000\ninactive_file 1000\n"),
				"sys/fs/cgroup/cpu.stat":       file("usage_usec 2000000\n"),
				"proc/net/dev":                 sent("50"),
			},
			fstest.MapFS{
				"sys/fs/cgroup/memory.current": file("7000\n"), "sys/fs/cgroup/memory.stat": file("inactive_file 6000\n"),
				"sys/fs/cgroup/cpu.stat": file("usage_usec 3500000\n"), "proc/net/dev": sent("80"),
			},
		},
		"1": {
			fstest.MapFS{
				"proc/self/cgroup":                           file("4:memory:/kubepods/a\n3:cpu,cpuacct:/kubepods/a\n"),
				"sys/fs/cgroup/memory/memory.usage_in_bytes": file("5000\n"),
				"sys/fs/cgroup/memory/memory.limit_in_bytes": file("8000\n"),
				"sys/fs/cgroup/memory/memory.stat":           file("inactive_file 1\ntotal_inactive_file 1000\n"),
				"sys/fs/cgroup/cpuacct/cpuacct.usage":        file("2000000000\n"), "proc/net/dev": sent("50"),
			},
			fstest.MapFS{
				"sys/fs/cgroup/memory/memory.stat":    file("total_inactive_file 4999\n"),
				"sys/fs/cgroup/cpuacct/cpuacct.usage": file("3500000000\n"), "proc/net/dev": sent("80"),
			},
		},
	}
	for version, c := range cases {
		t.Run("version "+version, func(t *testing.T) {
			meter := NewMeter(c.before)
			for name, text := range c.after {
				c.before[name] = text
			}
			u := meter.Usage()
			if u.MemoryPeak != 4000 || u.MemoryLimit != 8000 || u.CPUSeconds != 1.5 || u.SentBytes != 30 {
				t.Errorf("got %+v, want a peak of 4000 of 8000 bytes, 1.5 s and 30 bytes", *u)
			}
		})
	}
}

// Memory that grows from one look to its limit is seen by what the kernel did.
func TestPeakBetweenLooks(t *testing.T) {
	pod := fstest.MapFS{
		"proc/self/cgroup":             file("0::/\n"),
		"sys/fs/cgroup/memory.current": file("10\n"),
		"sys/fs/cgroup/memory.max":     file("8000\n"),
		"sys/fs/cgroup/memory.events":  file("oom_kill 0\n"), "sys/fs/cgroup/memory.peak": file("8000\n"),
	}
	meter := NewMeter(pod)
	if u := meter.Usage(); u.MemoryPeak != 10 {
		t.Errorf("a peak of %d bytes, want 10: file cache is in the peak of the kernel", u.MemoryPeak)
	}
	pod["sys/fs/cgroup/memory.events"] = file("oom_kill 1\n")
	if u := meter.Usage(); u.MemoryPeak != 8000 {
		t.Errorf("a peak of %d bytes, want 8000", u.MemoryPeak)
	}
}

// A machine without such files, and limits that are none.
func TestUnknownUsage(t *testing.T) {
	none := fstest.MapFS{
		"sys/fs/cgroup/memory/memory.usage_in_bytes": file("5000\n"),
		"sys/fs/cgroup/memory/memory.limit_in_bytes": file("9223372036854771712\n"),
	}
	for _, pod := range []fstest.MapFS{none, {}, {"proc/net/dev": file("eth0: 1 x\neth1 2\n: 1 2 3 4 5 6 7 8 x\n")}} {
		if u := NewMeter(pod).Usage(); u.MemoryLimit != 0 || u.SentBytes != 0 || u.CPUSeconds != 0 {
			t.Errorf("got %+v", *u)
		}
	}
}
