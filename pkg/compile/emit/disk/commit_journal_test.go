package disk

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// TestRecover: an interrupted build is finished if its journal is whole and it has changed something, and forgotten otherwise.
func TestRecover(t *testing.T) {
	present := map[string]string{"c/a.yaml": "1", "c/b.yaml": "1", "c/old.yaml": "1", "mine": "m"}
	staged := map[string]string{"c/a.yaml": "2", "c/new/n.yaml": "2"}
	renamed := map[string]string{"c/a.yaml": "2", "c/b.yaml": "1", "c/new/n.yaml": "2", "mine": "m"}
	j := commitJournal{written: []string{"c/a.yaml", "c/new/n.yaml"}, removed: []string{"c/old.yaml"}}
	cases := map[string]struct {
		reason string
		// left makes what the build has left in its staging area, and what it has done to the folder.
		left func(t *testing.T, folder, place string)
		want map[string]string
	}{
		"Staging": {
			"it was killed before it changed anything",
			func(*testing.T, string, string) {}, present,
		},
		"Torn": {
			"it was killed while it wrote its journal",
			func(t *testing.T, _, place string) {
				put(t, place, map[string]string{journalFile: "rename\n+c/a.yaml\n"})
			}, present,
		},
		"Foreign": {
			"a journal that leads out of the folder is none",
			func(t *testing.T, _, place string) {
				put(t, place, map[string]string{journalFile: "rename\n-../../x\nend\n"})
			}, present,
		},
		"Before": {
			"its journal is there, and nothing is renamed yet",
			func(t *testing.T, _, place string) { mustWrite(t, j, place) }, renamed,
		},
		"Between": {
			"one file is renamed",
			func(t *testing.T, folder, place string) {
				mustWrite(t, j, place)
				mustRename(t, filepath.Join(place, treeFolder, "c/a.yaml"), filepath.Join(folder, "c/a.yaml"))
			}, renamed,
		},
		"After": {
			"all is done but the cleaning",
			func(t *testing.T, folder, place string) {
				mustWrite(t, j, place)
				dir := &Dir{path: folder}
				dir.root, _ = os.OpenRoot(folder)
				if err := dir.commitByRename(filepath.Join(place, treeFolder), j.written, j.removed); err != nil {
					t.Fatal(err)
				}
			}, renamed,
		},
		"NotExchanged": {
			"the next generation is ready, the old one in its place; a file that somebody removed meanwhile does not come back",
			func(t *testing.T, folder, place string) {
				mustLink(t, folder, place, "mine")
				exchanging := j
				exchanging.folder, exchanging.inode = ".", inode(stat(t, filepath.Join(place, treeFolder)))
				mustWrite(t, exchanging, place)
				if err := os.Remove(filepath.Join(folder, "mine")); err != nil {
					t.Fatal(err)
				}
			}, without(present, "mine"),
		},
		"Exchanged": {
			"the new generation is in place; what somebody wrote into the old one is not lost",
			func(t *testing.T, folder, place string) {
				for _, name := range []string{"mine", "c/b.yaml"} {
					mustLink(t, folder, place, name)
				}
				exchanging := j
				exchanging.folder, exchanging.inode = ".", inode(stat(t, filepath.Join(place, treeFolder)))
				mustWrite(t, exchanging, place)
				put(t, folder, map[string]string{"late/note": "mine", "edited": "mine"})
				mustRename(t, filepath.Join(folder, "edited"), filepath.Join(folder, "mine"))
				future := time.Now().Add(time.Hour)
				if err := os.Chtimes(filepath.Join(folder, "mine"), future, future); err != nil {
					t.Fatal(err)
				}
				if err := exchangeFolders(folder, filepath.Join(place, treeFolder)); err != nil {
					t.Fatal(err)
				}
			}, with(renamed, map[string]string{"late/note": "mine", "mine": "mine"}),
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			parent := t.TempDir()
			folder, place := filepath.Join(parent, "dist"), filepath.Join(parent, ".dist.lockstep")
			put(t, folder, present)
			put(t, filepath.Join(place, treeFolder), staged)
			tc.left(t, folder, place)
			if !WasInterrupted(folder) {
				t.Error("nobody notices that there is something to finish")
			}
			open(t, folder)
			if WasInterrupted(folder) {
				t.Error("there is still something to finish")
			}
			if diff := cmp.Diff(tc.want, list(t, folder)); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
			onlyChild(t, folder)
		})
	}
}

func mustWrite(t *testing.T, j commitJournal, place string) {
	t.Helper()
	if err := j.write(place); err != nil {
		t.Fatal(err)
	}
}

func mustRename(t *testing.T, from, to string) {
	t.Helper()
	if err := os.Rename(from, to); err != nil {
		t.Fatal(err)
	}
}

func mustLink(t *testing.T, folder, place, name string) {
	t.Helper()
	if err := os.Link(filepath.Join(folder, name), filepath.Join(place, treeFolder, name)); err != nil {
		t.Fatal(err)
	}
}

func with(files, more map[string]string) map[string]string {
	all := maps.Clone(files)
	maps.Copy(all, more)
	return all
}

func without(files map[string]string, name string) map[string]string {
	rest := maps.Clone(files)
	delete(rest, name)
	return rest
}

// TestJournal: what is written is read back.
func TestJournal(t *testing.T) {
	for _, j := range []commitJournal{
		{written: []string{"a", "b/c d"}, removed: []string{"+e"}},
		{folder: "c1/t x", inode: 1<<63 + 1, written: []string{"c1/t x/a"}},
		{folder: ".", inode: 1, removed: []string{"a"}},
	} {
		place := t.TempDir()
		mustWrite(t, j, place)
		got, whole := readJournal(place)
		if diff := cmp.Diff(fmt.Sprint(j), fmt.Sprint(got)); diff != "" || !whole {
			t.Errorf("whole %t (-want +got):\n%s", whole, diff)
		}
	}
}
