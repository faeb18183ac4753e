package unread_test

import (
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"lockstep.dev/lockstep/pkg/compile/diag"
	"lockstep.dev/lockstep/pkg/compile/unread"
)

const (
	tenant  = "apiVersion: lockstep.dev/v1alpha1\nkind: Tenant\nmetadata: {name: team-cv}\n"
	cluster = "apiVersion: lockstep.dev/v1alpha1\nkind: Cluster\nmetadata: {name: lab}\n"
)

func TestWhatNobodyReads(t *testing.T) {
	for name, tc := range map[string]struct {
		files map[string]string
		want  []string
	}{
		"all in their places": {
			files: map[string]string{
				"catalog/cpu.yaml": "", "tenants/cv.yaml": tenant, "README.md": "", "values.yaml": "a: 1\n",
				"overlays/lab/cluster.yaml": cluster, "overlays/lab/kustomization.yaml": "patches: [{path: p.yaml}]\n", "overlays/lab/p.yaml": "",
				"overlays/README.md": "", "overlays/.cache/x.yaml": cluster, "overlays/lab/.git/x.yaml": tenant, "overlays/lab/.x.yaml": tenant,
				"docs/example.yaml": tenant,
			},
		},
		"a spec beside the folders": {
			files: map[string]string{"cv.yaml": tenant},
			want:  []string{"cv.yaml"},
		},
		"a folder by another name": {
			files: map[string]string{"teams/cv.yaml": tenant, "teams/.git/x.yaml": tenant},
			want:  []string{"teams"},
		},
		"a typo beside the right folder, with a spec": {
			files: map[string]string{"tenants/a.yaml": tenant, "tenant/deep/cv.yaml": tenant, "tenant/.git/x": ""},
			want:  []string{"tenant"},
		},
		"a typo beside the right folder, without": {
			files: map[string]string{"tenants/a.yaml": tenant, "tenant/notes.txt": "", "tenant/.git/cv.yaml": tenant},
		},
		"a typo beside the right folder, with an overlay of patches": {
			files: map[string]string{"overlays/lab/cluster.yaml": cluster, "overlay/prod/kustomization.yaml": "patches: [{path: p.yaml}]\n"},
			want:  []string{"overlay"},
		},
		"a typo beside the right folder, without an overlay": {
			files: map[string]string{"overlays/lab/cluster.yaml": cluster, "overlay/prod/notes.txt": ""},
		},
		"a cluster without a folder": {
			files: map[string]string{"overlays/lab.yaml": cluster},
			want:  []string{"overlays/lab.yaml"},
		},
		"a cluster by another name": {
			files: map[string]string{"overlays/lab/main.yaml": cluster},
			want:  []string{"overlays/lab/main.yaml"},
		},
		"a cluster by nearly the right name, of which others tell": {
			files: map[string]string{"overlays/lab/cluster.yml": cluster, "overlays/lab/p.yaml": ""},
		},
		"an overlay without a cluster": {
			files: map[string]string{"overlays/lab/kustomization.yaml": "resources: [x.yaml]\n"},
			want:  []string{"overlays/lab"},
		},
		"a patch that nothing names": {
			files: map[string]string{"overlays/lab/cluster.yaml": cluster, "overlays/lab/kustomization.yaml": "", "overlays/lab/p.yaml": ""},
			want:  []string{"overlays/lab/p.yaml"},
		},
		"a name that leads nowhere may be what was meant": {
			files: map[string]string{"overlays/lab/cluster.yaml": cluster, "overlays/lab/kustomization.yaml": "patches: [{path: q.yaml}]\n", "overlays/lab/p.yaml": ""},
		},
		"other tools' names are said elsewhere": {
			files: map[string]string{"overlays/lab/cluster.jsonnet": "", "overlays/lab/kustomization.yml": "", "overlays/lab/lib.libsonnet": ""},
		},
	} {
		t.Run(name, func(t *testing.T) {
			root := fstest.MapFS{}
			for file, content := range tc.files {
				root[file] = &fstest.MapFile{Data: []byte(content)}
			}
			var list diag.List
			unread.Find(root, &list)
			var got []string
			for _, d := range list.Sorted() {
				if d.Code != diag.NothingRead || len(d.Help) == 0 {
					t.Errorf("want %s with help: %+v", diag.NothingRead, d)
				}
				got = append(got, d.Span.Path())
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("-want, +got:\n%s", diff)
			}
		})
	}
}
