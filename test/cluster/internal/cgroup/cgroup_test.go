package cgroup

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"
)

func TestParse(t *testing.T) {
	const (
		v2 = "30 23 0:26 / /sys/fs/cgroup rw,nosuid shared:9 - cgroup2 cgroup2 rw,nsdelegate\n"
		v1 = "31 23 0:27 / /sys/fs/cgroup rw - tmpfs tmpfs rw,mode=755\n" +
			"32 31 0:28 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct\n" +
			"33 31 0:29 / /sys/fs/cgroup/systemd rw - cgroup systemd rw,xattr,name=systemd\n" +
			"34 31 0:30 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n"
	)
	type want struct {
		Tree    Tree
		Version int
		Err     bool
	}
	cases := map[string]struct {
		reason string
		in     string
		want   want
	}{
		"v2": {
			reason: "one unified hierarchy",
			in:     "1 0 0:1 / / rw - ext4 /dev/vda rw\n" + v2,
			want:   want{Tree: Tree{Mounts: []Mount{{Path: "/sys/fs/cgroup", V2: true}}}, Version: 2},
		},
		"hybrid": {
			reason: "joint, named and unified hierarchies each count once; a v2 mount beside v1 ones is not a v2 machine",
			in:     v1,
			want: want{Version: 1, Tree: Tree{Mounts: []Mount{
				{Path: "/sys/fs/cgroup/cpu,cpuacct", Controllers: []string{"cpu", "cpuacct"}},
				{Path: "/sys/fs/cgroup/systemd"},
				{Path: "/sys/fs/cgroup/unified", V2: true},
			}}},
		},
		"mounted twice": {
			reason: "a second mount of the same hierarchy adds nothing",
			in:     v2 + "99 30 0:26 / /sys/fs/cgroup/again rw - cgroup2 cgroup2 rw\n",
			want:   want{Tree: Tree{Mounts: []Mount{{Path: "/sys/fs/cgroup", V2: true}}}, Version: 2},
		},
		"elsewhere": {
			reason: "kubelet looks below /sys/fs/cgroup only",
			in:     "30 23 0:26 / /mnt/cg rw - cgroup2 cgroup2 rw\n",
			want:   want{Version: 1, Err: true},
		},
		"nothing": {reason: "no cgroups, no kubelet", in: "", want: want{Version: 1, Err: true}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			tree, err := parse(strings.NewReader(tc.in))
			got := want{Tree: tree, Version: tree.Version(), Err: err != nil}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s: (-want +got)\n%s", tc.reason, diff)
			}
		})
	}
}

func FuzzParse(f *testing.F) {
	f.Add("30 23 0:26 / /sys/fs/cgroup rw,nosuid shared:9 - cgroup2 cgroup2 rw,nsdelegate\n")
	f.Fuzz(func(_ *testing.T, in string) { _, _ = parse(strings.NewReader(in)) })
}

func write(t *testing.T, path, content string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
}

func TestCreateFillsCpusetOnEveryLevel(t *testing.T) {
	root := t.TempDir()
	write(t, filepath.Join(root, "cpuset.cpus"), "0-3\n")
	write(t, filepath.Join(root, "cpuset.mems"), "0\n")
	tree := Tree{Mounts: []Mount{{Path: root, Controllers: []string{"cpuset"}}}}
	if err := tree.Create("node0"); err != nil {
		t.Fatal(err)
	}
	for _, level := range []string{"lockstep", "lockstep/node0", "lockstep/node0/system"} {
		got, err := os.ReadFile(filepath.Join(root, level, "cpuset.cpus"))
		if err != nil || string(got) != "0-3\n" {
			t.Errorf("%s/cpuset.cpus = %q, %v, want the parent's", level, got, err)
		}
	}
}

func TestWeightsOfGroups(t *testing.T) {
	cases := map[string]struct {
		reason    string
		v2        bool
		file      string
		processes int
		want      string
	}{
		"v1":          {"kubelet gives all pods 1024 for each processor", false, "cpu.shares", 8, "8192"},
		"v2":          {"another file and another scale", true, "cpu.weight", 8, "800"},
		"v2 is full":  {"the kernel refuses more than 10000", true, "cpu.weight", 192, "10000"},
		"v1 is large": {"pods have 98304", false, "cpu.shares", 192, "196608"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), tc.file)
			write(t, path, "1024\n")
			if err := (Mount{V2: tc.v2}).weigh(filepath.Dir(path), tc.processes); err != nil {
				t.Fatal(err)
			}
			if got, err := os.ReadFile(path); err != nil || string(got) != tc.want {
				t.Errorf("%s: %s = %q, %v, want %s", tc.reason, tc.file, got, err, tc.want)
			}
		})
	}
	if err := (Mount{V2: true}).weigh(t.TempDir(), 4); err != nil {
		t.Errorf("a machine without the controller: %v", err)
	}
}

// Beside a compiler the cluster is more than one process, and its daemons are more than its pods.
func TestAClusterHasItsShareOfTheMachine(t *testing.T) {
	root := t.TempDir()
	for _, level := range []string{"lockstep", "lockstep/node0/system"} {
		write(t, filepath.Join(root, level, "cpu.shares"), "1024\n")
	}
	if err := (Mount{Path: root, Controllers: []string{"cpu"}}).create("node0", false); err != nil {
		t.Fatal(err)
	}
	for level, times := range map[string]int{"lockstep": 1, "lockstep/node0/system": 2} {
		got, err := os.ReadFile(filepath.Join(root, level, "cpu.shares"))
		if want := strconv.Itoa(times * 1024 * runtime.NumCPU()); err != nil || string(got) != want {
			t.Errorf("%s: %q, %v, want %s", level, got, err, want)
		}
	}
}

func TestMissingIsWhatTheRootKeepsForItself(t *testing.T) {
	root := t.TempDir()
	write(t, filepath.Join(root, "cgroup.controllers"), "cpuset cpu io memory pids rdma misc\n")
	write(t, filepath.Join(root, "cgroup.subtree_control"), "cpu memory\n")
	got, err := Tree{Mounts: []Mount{{Path: root, V2: true}}}.Missing()
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"cpuset", "io", "pids"}, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

// TestBusy: the kernel has one word for two things, and neither may be lost.
func TestBusy(t *testing.T) {
	cases := map[string]struct{ change, want string }{
		"to others": {"-cpu", "must go on handing down cpu"},
		"to itself": {"+cpu", "processes run directly in it"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			err := explain(&fs.PathError{Op: "write", Err: unix.EBUSY}, "/sys/fs/cgroup", tc.change)
			if !strings.Contains(err.Error(), tc.want) || !errors.Is(err, unix.EBUSY) {
				t.Errorf("got %v, want %q", err, tc.want)
			}
		})
	}
}

func TestProcesses(t *testing.T) {
	root := t.TempDir()
	write(t, filepath.Join(root, "cgroup.procs"), "2\n3\n")
	write(t, filepath.Join(root, "lockstep/node0/system/cgroup.procs"), "40\n41\n")
	write(t, filepath.Join(root, "lockstep/node0/kubepods/pod1/cgroup.procs"), "42\n40\n")
	got := Tree{Mounts: []Mount{{Path: root}}}.Processes()
	if diff := cmp.Diff([]int{40, 41, 42}, got); diff != "" {
		t.Errorf("only processes below lockstep/ are the cluster's: (-want +got)\n%s", diff)
	}
}
