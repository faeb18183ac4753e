package disk

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"
)

// TestMount: an output folder may be a volume of a container, into which nothing can be renamed from beside it.
func TestMount(t *testing.T) {
	for name, mount := range map[string]func(from, to string) error{
		"another file system": func(_, to string) error { return unix.Mount("tmpfs", to, "tmpfs", 0, "size=1m") },
		"a bind mount":        func(from, to string) error { return unix.Mount(from, to, "", unix.MS_BIND, "") },
	} {
		t.Run(name, func(t *testing.T) {
			parent := t.TempDir()
			from, folder := filepath.Join(parent, "from"), filepath.Join(parent, "out")
			put(t, parent, map[string]string{"from/": "", "out/": ""})
			if err := mount(from, folder); err != nil {
				t.Skipf("mounting takes rights that this test does not have: %v", err)
			}
			t.Cleanup(func() {
				if err := unix.Unmount(folder, 0); err != nil {
					t.Error(err)
				}
			})
			put(t, folder, map[string]string{"foreign": "theirs"})
			for _, content := range []string{"first", "second"} {
				files := map[string]string{"a/one.yaml": content, "a/b/two.yaml": content}
				dir := open(t, folder)
				stage(t, dir, files)
				if err := dir.Commit(nil, 0); err != nil {
					t.Fatalf("commit the %s state: %v", content, err)
				}
				if err := dir.Close(); err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(with(files, map[string]string{"foreign": "theirs"}), list(t, folder)); diff != "" {
					t.Errorf("after the %s state (-want +got):\n%s", content, diff)
				}
			}
			if entries, err := os.ReadDir(parent); err != nil || len(entries) != 2 {
				t.Errorf("beside the folder are %v (%v), want nothing new", entries, err)
			}
		})
	}
}
