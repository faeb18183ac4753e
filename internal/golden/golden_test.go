package golden

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"
)

// TestRead: sections below out/ are what is wanted, all others are input, and what is not there is wanted empty.
func TestRead(t *testing.T) {
	archive := txtar.Parse([]byte("Why.\n-- a/b.yaml --\nin\n-- out/x --\nwanted\n"))
	c, want := readCase("testdata/some.txtar", archive)
	if c.Name != "some" || c.Comment != "Why." || string(c.Files["a/b.yaml"].Data) != "in\n" || len(c.Files) != 1 {
		t.Errorf("read %+v", c)
	}
	c.Output("x", "wanted\n")
	c.Output("empty", "")
	if diff := cmp.Diff(want, c.produced); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
