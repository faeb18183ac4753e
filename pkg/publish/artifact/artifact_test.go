package artifact_test

import (
	"archive/tar"
	"compress/gzip"
	"encoding/base64"
	"errors"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/validate"

	"lockstep.dev/lockstep/pkg/compile/emit"
	"lockstep.dev/lockstep/pkg/publish"
	"lockstep.dev/lockstep/pkg/publish/artifact"
)

func tree() *publish.Tree {
	return &publish.Tree{
		Source: publish.Source{Repository: "https://git.example.com/platform.git", Commit: strings.Repeat("ab", 20), Time: time.Date(2026, 1, 2, 3, 4, 5, 0, time.FixedZone("", 3600))},
		Folder: "dist",
		Files:  []emit.File{{Path: "local/a.yaml", Data: []byte("a: 1\n")}, {Path: "local/tenants/vision/tenant.yaml", Data: []byte("b: 2\n")}},
	}
}

func start(t *testing.T, handler http.Handler) string {
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	return strings.TrimPrefix(server.URL, "http://")
}

func quiet() http.Handler { return registry.New(registry.Logger(log.New(io.Discard, "", 0))) }

// TestFlux reads the artifact as Flux's source-controller does (internal/controller/ocirepository_controller.go): the manifest's annotations,
// and the first layer, or the one of a media type, as a compressed tar.
func TestFlux(t *testing.T) {
	reference := start(t, quiet()) + "/platform/mpi:main"
	made, err := artifact.New(tree())
	if err != nil {
		t.Fatal(err)
	}
	repository, err := artifact.OpenRepository("oci://" + reference)
	if err != nil {
		t.Fatal(err)
	}
	if pushed, err := repository.Push(t.Context(), made); err != nil || !pushed {
		t.Fatalf("push: %v, %v", pushed, err)
	}
	parsed, err := name.ParseReference(reference)
	if err != nil {
		t.Fatal(err)
	}
	image, err := remote.Image(parsed)
	if err != nil {
		t.Fatal(err)
	}
	if err := validate.Image(image); err != nil {
		t.Errorf("the artifact is not well formed: %v", err)
	}
	manifest, err := image.Manifest()
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[string]string{
		"org.opencontainers.image.created":  "2026-01-02T02:04:05Z",
		"org.opencontainers.image.revision": "sha1:" + strings.Repeat("ab", 20),
		"org.opencontainers.image.source":   "https://git.example.com/platform.git",
	}, manifest.Annotations); diff != "" {
		t.Errorf("annotations (-want +got):\n%s", diff)
	}
	if got := string(manifest.Config.MediaType); got != "application/vnd.cncf.flux.config.v1+json" {
		t.Errorf("the config is %s", got)
	}
	layers, err := image.Layers()
	if err != nil || len(layers) != 1 {
		t.Fatalf("%d layers, %v", len(layers), err)
	}
	if media, _ := layers[0].MediaType(); media != "application/vnd.cncf.flux.content.v1.tar+gzip" {
		t.Errorf("the layer is %s", media)
	}
	blob, err := layers[0].Compressed()
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{"dist/": "", "dist/local/": "", "dist/local/a.yaml": "a: 1\n", "dist/local/tenants/": "", "dist/local/tenants/vision/": "", "dist/local/tenants/vision/tenant.yaml": "b: 2\n"}
	if diff := cmp.Diff(want, unpacked(t, blob)); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}
}

func unpacked(t *testing.T, blob io.Reader) map[string]string {
	files := map[string]string{}
	plain, err := gzip.NewReader(blob)
	if err != nil {
		t.Fatal(err)
	}
	for r := tar.NewReader(plain); ; {
		header, err := r.Next()
		if errors.Is(err, io.EOF) {
			return files
		}
		if err != nil {
			t.Fatal(err)
		}
		if header.Uid != 0 || header.Uname != "" {
			t.Errorf("%s belongs to somebody: %+v", header.Name, header)
		}
		data, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		files[header.Name] = string(data)
	}
}

// TestSameDigest: the same tree is the same artifact; another content, source or folder is another one.
func TestSameDigest(t *testing.T) {
	digest := func(change func(*publish.Tree)) string {
		own := tree()
		change(own)
		made, err := artifact.New(own)
		if err != nil {
			t.Fatal(err)
		}
		return made.Digest()
	}
	same := digest(func(*publish.Tree) {})
	if got := digest(func(own *publish.Tree) { own.Source.Time = own.Source.Time.UTC() }); got != same {
		t.Error("the time zone of a commit changes the digest")
	}
	for name, change := range map[string]func(*publish.Tree){
		"content": func(own *publish.Tree) { own.Files[0].Data = []byte("a: 2\n") },
		"source":  func(own *publish.Tree) { own.Source.Commit = strings.Repeat("cd", 20) },
		"folder":  func(own *publish.Tree) { own.Folder = "." },
	} {
		if digest(change) == same {
			t.Errorf("another %s has the same digest", name)
		}
	}
}

// TestAgain: what the registry has already is not pushed, and credentials are those of docker.
func TestAgain(t *testing.T) {
	var writes int
	inner := quiet()
	host := start(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		user, password, _ := r.BasicAuth()
		if user != "ada" || password != "good" {
			w.Header().Set("WWW-Authenticate", `Basic realm="registry"`)
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		if r.Method != http.MethodGet && r.Method != http.MethodHead {
			writes++
		}
		inner.ServeHTTP(w, r)
	}))
	config := t.TempDir()
	t.Setenv("DOCKER_CONFIG", config)
	made, err := artifact.New(tree())
	if err != nil {
		t.Fatal(err)
	}
	push := func() (bool, error) {
		repository, err := artifact.OpenRepository(host + "/platform/mpi:main")
		if err != nil {
			t.Fatal(err)
		}
		return repository.Push(t.Context(), made)
	}
	if _, err := push(); err == nil || !strings.Contains(err.Error(), "ask the registry for `main`") {
		t.Errorf("without credentials: got %v", err)
	}
	auth := base64.StdEncoding.EncodeToString([]byte("ada:good"))
	if err := os.WriteFile(filepath.Join(config, "config.json"), []byte(`{"auths": {"`+host+`": {"auth": "`+auth+`"}}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	if pushed, err := push(); err != nil || !pushed {
		t.Fatalf("got %v, %v", pushed, err)
	}
	before := writes
	if pushed, err := push(); err != nil || pushed || writes != before {
		t.Errorf("got %v, %v and %d more writes, want none", pushed, err, writes-before)
	}
}
