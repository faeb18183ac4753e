package dirs

import (
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestFind(t *testing.T) {
	cases := map[string]struct {
		reason       string
		cache, state string
		want         Dirs
	}{
		"defaults": {reason: "below the home directory", want: Dirs{Cache: "/home/u/.cache/lockstep", State: "/home/u/.local/state/lockstep/cluster"}},
		"set":      {reason: "the variables win", cache: "/c", state: "/s", want: Dirs{Cache: "/c/lockstep", State: "/s/lockstep/cluster"}},
		"relative": {reason: "the specification says to ignore them", cache: "c", state: "s", want: Dirs{Cache: "/home/u/.cache/lockstep", State: "/home/u/.local/state/lockstep/cluster"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Setenv("HOME", "/home/u")
			t.Setenv("XDG_CACHE_HOME", tc.cache)
			t.Setenv("XDG_STATE_HOME", tc.state)
			got, err := Find()
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s: (-want +got)\n%s", tc.reason, diff)
			}
		})
	}
}

func TestSource(t *testing.T) {
	if _, err := Source(); err != nil {
		t.Errorf("the source folder was not found from inside: %v", err)
	}
	t.Setenv(SourceVariable, t.TempDir())
	if _, err := Source(); err == nil {
		t.Error("a folder without the pins was accepted")
	}
}

// A program knows its checkout by where it lies: below the root, in build/bin.
func TestAbove(t *testing.T) {
	source, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	root := filepath.Dir(filepath.Dir(source))
	for _, dir := range []string{root, filepath.Join(root, "build", "bin"), source, filepath.Join(source, "internal")} {
		if got, found := above(dir); !found || got != source {
			t.Errorf("above(%s) = %s, %v, want %s", dir, got, found, source)
		}
	}
	if got, found := above(t.TempDir()); found {
		t.Errorf("found %s above an empty folder", got)
	}
}
