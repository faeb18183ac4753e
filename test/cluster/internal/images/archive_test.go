package images

import (
	"archive/tar"
	"bytes"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// pack makes a tar archive; a name that ends in ".layer" becomes big.
func pack(files ...[2]string) []byte {
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, f := range files {
		content := []byte(f[1])
		if f[0] == "big.layer" {
			content = make([]byte, small+1)
		}
		_ = w.WriteHeader(&tar.Header{Name: f[0], Mode: 0o644, Size: int64(len(content)), Typeflag: tar.TypeReg})
		_, _ = w.Write(content)
	}
	_ = w.Close()
	return b.Bytes()
}

func TestParse(t *testing.T) {
	const config = `{"rootfs":{"diff_ids":["sha256:1"]}}`
	id := digest([]byte(config))
	manifest := `{"config":{"digest":"` + id + `"}}`
	type want struct {
		Images []Image
		Err    bool
	}
	cases := map[string]struct {
		reason string
		in     []byte
		want   want
	}{
		"docker": {
			reason: "two names of one image; layers are skipped",
			in: pack([2]string{"big.layer", ""}, [2]string{"./c.json", config},
				[2]string{"manifest.json", `[{"Config":"c.json","RepoTags":["r/a:1","r/b:2"],"Layers":["big.layer"]}]`}),
			want: want{Images: []Image{{Name: "r/a:1", ID: id}, {Name: "r/b:2", ID: id}}},
		},
		"oci": {
			reason: "containerd's annotation wins; a bare tag names no image",
			in: pack([2]string{"index.json", `{"manifests":[
				{"digest":"sha256:m","annotations":{"io.containerd.image.name":"r/a:1","org.opencontainers.image.ref.name":"1"}},
				{"digest":"sha256:m","annotations":{"org.opencontainers.image.ref.name":"r/b:2"}},
				{"digest":"sha256:m","annotations":{"org.opencontainers.image.ref.name":"latest"}}]}`},
				[2]string{"blobs/sha256/m", manifest}),
			want: want{Images: []Image{{Name: "r/a:1", ID: id}, {Name: "r/b:2", ID: id}}},
		},
		"no name":           {reason: "nothing could ever use it", in: pack([2]string{"c.json", config}, [2]string{"manifest.json", `[{"Config":"c.json"}]`}), want: want{Err: true}},
		"no configuration":  {reason: "cut off", in: pack([2]string{"manifest.json", `[{"Config":"c.json","RepoTags":["a:1"]}]`}), want: want{Err: true}},
		"something else":    {reason: "a tar archive of other things", in: pack([2]string{"x", "y"}), want: want{Err: true}},
		"not a tar archive": {reason: "compressed, for example", in: []byte("\x1f\x8b not tar"), want: want{Err: true}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			images, err := parse(bytes.NewReader(tc.in))
			if diff := cmp.Diff(tc.want, want{Images: images, Err: err != nil}); diff != "" {
				t.Errorf("%s: (-want +got)\n%s\n%v", tc.reason, diff, err)
			}
		})
	}
}

func FuzzParse(f *testing.F) {
	f.Add(pack([2]string{"c.json", "{}"}, [2]string{"manifest.json", `[{"Config":"c.json","RepoTags":["a:1"]}]`}))
	f.Fuzz(func(_ *testing.T, in []byte) { _, _ = parse(bytes.NewReader(in)) })
}
