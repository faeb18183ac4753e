package main

import (
	"os"
	"path/filepath"
	"testing"

	"lockstep.dev/lockstep/internal/cli/compiling"
	"lockstep.dev/lockstep/pkg/compile/incremental"
)

// goneFor is a repository in which something is gone for so many looks.
type goneFor struct{ looks, asked int }

func (*goneFor) isRelevant(string) bool               { return false }
func (g *goneFor) removedInputs(map[string]bool) bool { g.asked++; return g.asked <= g.looks }
func (*goneFor) outputIntact() bool                   { return true }

// TestNextWaitsForWhatIsGone: a change counts when what was gone is there again, or when it stays away.
func TestNextWaitsForWhatIsGone(t *testing.T) {
	c, err := newFileWatcher(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer c.close()
	moment := &goneFor{looks: 3}
	if why, more := c.waitForChange(t.Context(), "a.yaml", moment); why != "a.yaml" || !more || moment.asked != 4 {
		t.Errorf("got %q, %v after %d looks", why, more, moment.asked)
	}
	good := &goneFor{looks: 1 << 30}
	if why, more := c.waitForChange(t.Context(), "a.yaml", good); why != "a.yaml" || !more || good.asked < 2 {
		t.Errorf("what is gone for good: got %q, %v", why, more)
	}
}

// TestGone: files are gone that had a content and have none now.
func TestGone(t *testing.T) {
	root := t.TempDir()
	folder, err := (&compiling.Input{Root: root}).OpenRoot()
	if err != nil {
		t.Fatal(err)
	}
	defer folder.Close()
	name := filepath.Join(root, "a.yaml")
	for _, c := range []struct {
		reason string
		before int64
		change func() error
		want   bool
	}{
		{"it is there", 3, func() error { return os.WriteFile(name, []byte("a: 1"), 0o600) }, false},
		{"it is empty now", 3, func() error { return os.Truncate(name, 0) }, true},
		{"it was empty before", 0, func() error { return nil }, false},
		{"it is removed", 3, func() error { return os.Remove(name) }, true},
		{"it was missed before", 0, func() error { return nil }, false},
	} {
		if err := c.change(); err != nil {
			t.Fatal(err)
		}
		w := buildWatcher{
			builder: &outputBuilder{cache: buildCache{root: root, files: folder}},
			inputs:  []incremental.Input{{Path: "a.yaml", Kind: incremental.File, Stamp: incremental.Stamp{Size: c.before}}},
		}
		if got := w.removedInputs(nil); got != c.want {
			t.Errorf("%s: got %v", c.reason, got)
		}
		if w.removedInputs(map[string]bool{"b.yaml": true}) {
			t.Errorf("%s: another file is gone", c.reason)
		}
	}
}
