package build

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-containerregistry/pkg/v1/tarball"

	"lockstep.dev/lockstep/test/images/internal/image"
)

const hello = "package main\n\nfunc main() { println(\"hello\") }\n"

// The go command really runs here, on a module of two lines.
func TestBuildOfGoImages(t *testing.T) {
	b := builder(t, map[string]string{"go.mod": "module example.org/x\n\ngo 1.26\n", "cmd/good/main.go": hello, "cmd/bad/main.go": "nonsense"})
	good := goImage("good")
	good.Links = map[string]string{"/bin/rsh": "good"}

	first, err := b.Build(t.Context(), []image.Image{goImage("bad"), good})
	if err == nil || !strings.Contains(err.Error(), "image bad: go build ./cmd/bad") || !strings.Contains(err.Error(), "main.go:1:1") {
		t.Errorf("the compiler's message is not in the error: %v", err)
	}
	if len(first) != 1 || first[0].Name != "good" || first[0].Cached {
		t.Fatalf("one image that fails takes others along: %+v", first)
	}
	img, err := tarball.ImageFromPath(first[0].Archive, nil)
	if err != nil {
		t.Fatal(err)
	}
	if id, err := img.ConfigName(); err != nil || id.String() != first[0].Digest {
		t.Errorf("digest %s, the archive has %s (%v)", first[0].Digest, id, err)
	}

	second := mustBuild(t, b, good)
	if !second.Cached || second.Digest != first[0].Digest || second.Archive != first[0].Archive || second.Bytes != first[0].Bytes {
		t.Errorf("second build gives %+v, first %+v", second, first[0])
	}

	write(t, b.Repository, "cmd/good/main.go", strings.Replace(hello, "hello", "hallo", 1))
	if third := mustBuild(t, b, good); third.Cached || third.Digest == first[0].Digest {
		t.Errorf("a changed program gives the old image: %+v", third)
	}
	write(t, b.Repository, "cmd/good/main.go", hello)
	if fourth := mustBuild(t, b, good); !fourth.Cached || fourth.Digest != first[0].Digest {
		t.Errorf("going back does not find the first image: %+v", fourth)
	}
	if left := names(t, b.Cache.dir); slices.ContainsFunc(left, func(n string) bool { return strings.HasPrefix(n, tempPrefix) }) {
		t.Errorf("temporary folders are left: %v", left)
	}
}

// Two checkouts in different folders give the same bytes.
func TestGoImagesDoNotDependOnWhereTheyAreBuilt(t *testing.T) {
	files := map[string]string{"go.mod": "module example.org/x\n\ngo 1.26\n", "cmd/good/main.go": hello}
	one, two := mustBuild(t, builder(t, files), goImage("good")), mustBuild(t, builder(t, files), goImage("good"))
	if one.Digest != two.Digest {
		t.Errorf("digests %s and %s", one.Digest, two.Digest)
	}
}

func TestDamagedEntryIsNamed(t *testing.T) {
	b := builder(t, map[string]string{"go.mod": "module example.org/x\n\ngo 1.26\n", "cmd/good/main.go": hello})
	r := mustBuild(t, b, goImage("good"))
	if err := os.Remove(r.Archive); err != nil {
		t.Fatal(err)
	}
	if _, err := b.Build(t.Context(), []image.Image{goImage("good")}); err == nil || !strings.Contains(err.Error(), filepath.Dir(r.Archive)+" is damaged") {
		t.Errorf("error %v", err)
	}
}

func goImage(name string) image.Image {
	return image.Image{
		Name: name, Reference: "lockstep.test/" + name + ":dev",
		Go: &image.Go{Package: "./cmd/" + name, Path: "/bin/" + name},
	}
}

func builder(t *testing.T, files map[string]string) *Builder {
	t.Helper()
	repository := t.TempDir()
	for path, text := range files {
		write(t, repository, path, text)
	}
	var lock sync.Mutex
	return &Builder{
		Repository: repository, Definitions: repository, Cache: openCache(t, t.TempDir()),
		Report: func(image, step string) { lock.Lock(); defer lock.Unlock(); t.Log(image, step) },
	}
}

func mustBuild(t *testing.T, b *Builder, img image.Image) Result {
	t.Helper()
	r, err := b.Build(t.Context(), []image.Image{img})
	if err != nil || len(r) != 1 {
		t.Fatalf("%d results, %v", len(r), err)
	}
	return r[0]
}

func write(t *testing.T, dir, path, text string) {
	t.Helper()
	path = filepath.Join(dir, path)
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o600)); err != nil {
		t.Fatal(err)
	}
}
