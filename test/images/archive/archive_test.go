package archive_test

import (
	"archive/tar"
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/validate"

	"lockstep.dev/lockstep/test/images/archive"
)

const reference = "lockstep.test/agent:dev"

// tarEntry is what a test cares about in one tar entry.
type tarEntry struct {
	Mode     int64
	Link     string
	Contents string
}

func TestScratchHoldsWhatWasAskedFor(t *testing.T) {
	dir := t.TempDir()
	out := filepath.Join(dir, "image.tar")
	digest, err := archive.Scratch(archive.Spec{
		Reference: reference,
		Files: []archive.File{
			{Path: "/bin/rsh", Link: "agent"},
			{Path: "/bin/agent", Source: write(t, dir, "agent", "program"), Mode: 0o755},
			{Path: "/var/secret", Source: write(t, dir, "secret", "s"), Mode: 0o440},
			{Path: "/var/spool", Mode: 0o700 | fs.ModeSticky},
		},
		Entrypoint: []string{"/bin/agent"},
		Cmd:        []string{"serve"},
		Env:        []string{"PATH=/bin"},
		User:       "65532",
		WorkingDir: "/tmp",
	}, out)
	if err != nil {
		t.Fatal(err)
	}
	img := read(t, out)
	if id, err := img.ConfigName(); err != nil || id.String() != digest {
		t.Errorf("digest is %s, the image ID in the archive is %s (%v)", digest, id, err)
	}
	config, err := img.ConfigFile()
	if err != nil {
		t.Fatal(err)
	}
	want := v1.Config{
		Entrypoint: []string{"/bin/agent"}, Cmd: []string{"serve"},
		Env: []string{"PATH=/bin"}, User: "65532", WorkingDir: "/tmp",
	}
	if diff := cmp.Diff(want, config.Config); diff != "" {
		t.Errorf("configuration (-want +got):\n%s", diff)
	}
	passwd := "root:x:0:0:root:/:/sbin/nologin\nnonroot:x:65532:65532:nonroot:/:/sbin/nologin\n"
	wantFiles := map[string]tarEntry{
		"bin":        {Mode: 0o755},
		"bin/agent":  {Mode: 0o755, Contents: "program"},
		"bin/rsh":    {Mode: 0o777, Link: "agent"},
		"etc":        {Mode: 0o755},
		"etc/group":  {Mode: 0o644, Contents: "root:x:0:\nnonroot:x:65532:\n"},
		"etc/passwd": {Mode: 0o644, Contents: passwd},
		"tmp":        {Mode: 0o1777},
		"var":        {Mode: 0o755},
		"var/secret": {Mode: 0o440, Contents: "s"},
		"var/spool":  {Mode: 0o1700},
	}
	if diff := cmp.Diff(wantFiles, contents(t, img)); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}
}

func TestEqualInputsGiveEqualBytes(t *testing.T) {
	build := func(t *testing.T, reverse bool, age time.Duration, mode fs.FileMode) ([]byte, string) {
		dir := t.TempDir()
		source := write(t, dir, "agent", "program")
		then := time.Now().Add(-age)
		if err := errors.Join(os.Chtimes(source, then, then), os.Chmod(source, mode)); err != nil {
			t.Fatal(err)
		}
		files := []archive.File{{Path: "/a/b/agent", Source: source}, {Path: "/a/rsh", Link: "b/agent"}, {Path: "/z"}}
		if reverse {
			slices.Reverse(files)
		}
		out := filepath.Join(dir, "image.tar")
		digest, err := archive.Scratch(archive.Spec{Reference: reference, Files: files}, out)
		if err != nil {
			t.Fatal(err)
		}
		raw, err := os.ReadFile(out)
		if err != nil {
			t.Fatal(err)
		}
		return raw, digest
	}
	one, oneDigest := build(t, false, 0, 0o600)
	two, twoDigest := build(t, true, 1000*time.Hour, 0o755)
	if !bytes.Equal(one, two) || oneDigest != twoDigest {
		t.Errorf("two builds of the same image differ: %s and %s", oneDigest, twoDigest)
	}
}

func TestDigestChangesWithContents(t *testing.T) {
	dir := t.TempDir()
	digest := func(spec archive.Spec) string {
		t.Helper()
		d, err := archive.Scratch(spec, filepath.Join(dir, "image.tar"))
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	source := write(t, dir, "agent", "one")
	spec := archive.Spec{Reference: reference, Files: []archive.File{{Path: "/agent", Source: source}}}
	seen := map[string]bool{digest(spec): true}
	spec.User = "1"
	seen[digest(spec)] = true
	write(t, dir, "agent", "two")
	seen[digest(spec)] = true
	if len(seen) != 3 {
		t.Errorf("three different images have %d digests", len(seen))
	}
}

func TestRootFSKeepsLayersAndPutsFilesOnTop(t *testing.T) {
	dir := t.TempDir()
	base := filepath.Join(dir, "base.tar")
	if err := archive.Layer([]archive.File{
		{Path: "/etc/hostname", Source: write(t, dir, "hostname", "base")},
		{Path: "/bin/sh", Source: write(t, dir, "sh", "shell")},
	}, base); err != nil {
		t.Fatal(err)
	}
	upper := writeTar(t, dir, "upper.tar", map[string]string{"etc/hostname": "upper"})
	out := filepath.Join(dir, "image.tar")
	if _, err := archive.RootFS(archive.Spec{
		Reference: reference,
		Files:     []archive.File{{Path: "/bin/hello", Source: write(t, dir, "hello", "hello")}},
	}, []string{base, upper}, out); err != nil {
		t.Fatal(err)
	}
	img := read(t, out)
	got := contents(t, img)
	for path, want := range map[string]string{"bin/sh": "shell", "etc/hostname": "upper", "bin/hello": "hello"} {
		if got[path].Contents != want {
			t.Errorf("%s holds %q, want %q", path, got[path].Contents, want)
		}
	}
	if _, found := got["etc/passwd"]; found {
		t.Error("a root file system image got an /etc/passwd that nobody asked for")
	}
	layers, err := img.Layers()
	if err != nil {
		t.Fatal(err)
	}
	if len(layers) != 3 {
		t.Errorf("image has %d layers, want 3", len(layers))
	}
}

// A container runtime that imports the archive must not have to decompress anything.
func TestLayersAreStoredUncompressed(t *testing.T) {
	dir := t.TempDir()
	out := filepath.Join(dir, "image.tar")
	payload := strings.Repeat("compressible ", 10_000)
	source := write(t, dir, "payload", payload)
	if _, err := archive.Scratch(archive.Spec{Reference: reference, Files: []archive.File{{Path: "/p", Source: source}}}, out); err != nil {
		t.Fatal(err)
	}
	raw, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Contains(raw, []byte(payload)) {
		t.Error("the archive does not hold the file as it is")
	}
}

func TestRefusals(t *testing.T) {
	dir := t.TempDir()
	source := write(t, dir, "file", "x")
	cases := map[string]struct {
		reason string
		spec   archive.Spec
		layers []string
		rootfs bool
		want   string
	}{
		"NoTag": {
			reason: "an implied :latest would hide which image a test runs",
			spec:   archive.Spec{Reference: "lockstep.test/agent"},
			want:   "registry/repository:tag",
		},
		"Climbs": {
			reason: "a path must stay inside the image",
			spec:   archive.Spec{Reference: reference, Files: []archive.File{{Path: "/../etc/shadow", Source: source}}},
			want:   `"/../etc/shadow" must name something below the root`,
		},
		"Root": {
			reason: "the root itself is not a file",
			spec:   archive.Spec{Reference: reference, Files: []archive.File{{Path: "/"}}},
			want:   "below the root",
		},
		"Twice": {
			reason: "two files with one path: one of them is a mistake",
			spec:   archive.Spec{Reference: reference, Files: []archive.File{{Path: "/a", Source: source}, {Path: "a", Link: "b"}}},
			want:   "file /a is given twice",
		},
		"LinkAndSource": {
			reason: "an entry is a link or a copy",
			spec:   archive.Spec{Reference: reference, Files: []archive.File{{Path: "/a", Source: source, Link: "b"}}},
			want:   "both a link",
		},
		"BelowFile": {
			reason: "nothing can lie below a file",
			spec:   archive.Spec{Reference: reference, Files: []archive.File{{Path: "/a", Source: source}, {Path: "/a/b", Source: source}}},
			want:   "file /a/b lies below /a, which is not a directory",
		},
		"MissingSource": {
			reason: "the error names the image and the file",
			spec:   archive.Spec{Reference: reference, Files: []archive.File{{Path: "/a", Source: filepath.Join(dir, "none")}}},
			want:   "image lockstep.test/agent:dev: read layer: file /a: open",
		},
		"SourceIsDirectory": {
			reason: "directories are not copied recursively",
			spec:   archive.Spec{Reference: reference, Files: []archive.File{{Path: "/a", Source: dir}}},
			want:   "is not a regular file",
		},
		"NoLayers": {
			reason: "an empty root file system is a mistake",
			spec:   archive.Spec{Reference: reference},
			rootfs: true,
			want:   "no root file system given",
		},
		"CompressedLayer": {
			reason: "a compressed layer would be recorded under a wrong diff ID",
			spec:   archive.Spec{Reference: reference},
			layers: []string{source},
			rootfs: true,
			want:   "is not an uncompressed tar file",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			folder := t.TempDir()
			out := filepath.Join(folder, "image.tar")
			var err error
			if tc.rootfs {
				_, err = archive.RootFS(tc.spec, tc.layers, out)
			} else {
				_, err = archive.Scratch(tc.spec, out)
			}
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("%s: error %v, want one with %q", tc.reason, err, tc.want)
			}
			left, err := os.ReadDir(folder)
			if err != nil || len(left) != 0 {
				t.Errorf("%s: a refused image left %v behind (%v)", tc.reason, left, err)
			}
		})
	}
}

// An archive that is being replaced stays whole when its successor fails.
func TestFailureKeepsOldArchive(t *testing.T) {
	dir := t.TempDir()
	out := write(t, dir, "image.tar", "old")
	bad := archive.Spec{Reference: reference, Files: []archive.File{{Path: "/a", Source: filepath.Join(dir, "none")}}}
	if _, err := archive.Scratch(bad, out); err == nil {
		t.Fatal("no error for a missing source")
	}
	if raw, err := os.ReadFile(out); err != nil || string(raw) != "old" {
		t.Errorf("old archive is now %q (%v)", raw, err)
	}
}

func write(t *testing.T, dir, name, contents string) string {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := os.WriteFile(path, []byte(contents), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func writeTar(t *testing.T, dir, name string, files map[string]string) string {
	t.Helper()
	var buf bytes.Buffer
	w := tar.NewWriter(&buf)
	for path, contents := range files {
		h := &tar.Header{Name: path, Mode: 0o644, Size: int64(len(contents)), Typeflag: tar.TypeReg}
		if err := w.WriteHeader(h); err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(w, contents); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return write(t, dir, name, buf.String())
}

// read opens the archive as a container tool would and checks every digest and size in it.
func read(t *testing.T, path string) v1.Image {
	t.Helper()
	tag, err := name.NewTag(reference)
	if err != nil {
		t.Fatal(err)
	}
	img, err := tarball.ImageFromPath(path, &tag)
	if err != nil {
		t.Fatal(err)
	}
	if err := validate.Image(img); err != nil {
		t.Fatal(err)
	}
	return img
}

// contents are the files of the image with its layers applied one over the other.
func contents(t *testing.T, img v1.Image) map[string]tarEntry {
	t.Helper()
	r := mutate.Extract(img)
	defer func() { _ = r.Close() }()
	files := map[string]tarEntry{}
	tr := tar.NewReader(r)
	for {
		h, err := tr.Next()
		if errors.Is(err, io.EOF) {
			return files
		}
		if err != nil {
			t.Fatal(err)
		}
		raw, err := io.ReadAll(tr)
		if err != nil {
			t.Fatal(err)
		}
		if h.Uid != 0 || h.Gid != 0 || h.ModTime.Unix() > 0 {
			t.Errorf("%s belongs to %d:%d at %v", h.Name, h.Uid, h.Gid, h.ModTime)
		}
		files[h.Name] = tarEntry{Mode: h.Mode, Link: h.Linkname, Contents: string(raw)}
	}
}
