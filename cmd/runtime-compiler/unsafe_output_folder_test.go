package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestUnsafeOutputFolder(t *testing.T) {
	root := t.TempDir()
	for _, folder := range []string{"catalog", "tenants/deep", "overlays", "templates",
		"charts/a/templates", "dist", ".git/objects"} {
		if err := os.MkdirAll(filepath.Join(root, folder), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(root, "charts/a/Chart.yaml"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("tenants", filepath.Join(root, "link")); err != nil {
		t.Fatal(err)
	}
	cases := map[string]struct{ reason, out, want string }{
		"beside":        {"a folder beside the inputs is what is meant", root + "/dist", ""},
		"root":          {"compiled files would lie among specs", root, "is the repository itself"},
		"the same root": {"however it is written", root + "/dist/..", "is the repository itself"},
		"above":         {"what is around it even more", root + "/..", "is around the repository"},
		"file system":   {"nothing is more around it", "/", "is the root of the file system"},
		"git":           {"git would have no repository any more", root + "/.git", "in a folder .git"},
		"below git":     {"", root + "/.git/objects/new", "in a folder .git"},
		"like git":      {"this is none of git's", root + "/.github", ""},
		"elsewhere":     {"so is one elsewhere, which need not exist", t.TempDir() + "/a/b", ""},
		"similar":       {"a name that only begins like an input is another folder", root + "/tenants-dist", ""},
		"charts":        {"charts/ itself is no chart", root + "/charts/dist", ""},
		"input":         {"an input folder itself", root + "/catalog", "is in the input folder catalog/"},
		"below":         {"below an input folder, not there yet", root + "/overlays/local/dist", "is in the input folder overlays/"},
		"not clean":     {"dots do not hide it", root + "/dist/../tenants", "is in the input folder tenants/"},
		"link":          {"nor does a link", root + "/link/dist", "is in the input folder tenants/"},
		"chart":         {"a chart is an input too", root + "/charts/a", "is in a Helm chart"},
		"below a chart": {"with its templates", root + "/charts/a/templates/x", "is in a Helm chart"},
		"empty":         {"an empty variable in a script", "", "--out is empty"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			err := rejectUnsafeOutputFolder(root, c.out)
			if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
				t.Errorf("%s: got %v, want %q", c.reason, err, c.want)
			}
		})
	}
}
