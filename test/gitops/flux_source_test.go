package gitops

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// fluxSource brings commits of a repository to Flux as source-controller would: as an archive behind HTTP, named in the status of the
// GitRepository.
type fluxSource struct {
	*repository
	server  *httptest.Server
	commits int

	mu       sync.Mutex
	archives map[string][]byte
}

func newFluxSource(r *repository) *fluxSource {
	f := &fluxSource{repository: r, archives: map[string][]byte{}}
	f.server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
		f.mu.Lock()
		defer f.mu.Unlock()
		archive, found := f.archives[request.URL.Path]
		if !found {
			http.NotFound(w, request)
			return
		}
		_, _ = w.Write(archive)
	}))
	DeferCleanup(f.server.Close)
	return f
}

// commit brings the compiled tree to Flux and returns the revision, and when Flux could know of it.
func (f *fluxSource) commit(ctx context.Context) (string, time.Time) {
	GinkgoHelper()
	f.commits++
	revision := fmt.Sprintf("main@sha1:%040x", f.commits)
	f.publish(ctx, get(ctx, fluxSourceAPI, "GitRepository", "flux-system", "lockstep"), f.archive("dist"), revision)
	return revision, time.Now()
}

const fluxSourceAPI = "source.toolkit.fluxcd.io/v1"

// publish serves an archive and writes it into the status of a source.
func (f *fluxSource) publish(ctx context.Context, source *unstructured.Unstructured, archive []byte, revision string) {
	GinkgoHelper()
	name := fmt.Sprintf("/%s/%x.tar.gz", source.GetName(), sha256.Sum256([]byte(revision)))
	f.mu.Lock()
	f.archives[name] = archive
	f.mu.Unlock()
	before := source.DeepCopy()
	ready := condition("Ready", "Succeeded")
	ready["observedGeneration"] = source.GetGeneration()
	source.Object["status"] = map[string]any{
		"observedGeneration": source.GetGeneration(),
		"conditions":         []any{ready},
		"artifact": map[string]any{
			"path": strings.TrimPrefix(name, "/"), "url": f.server.URL + name, "revision": revision, "size": int64(len(archive)),
			"digest": fmt.Sprintf("sha256:%x", sha256.Sum256(archive)), "lastUpdateTime": time.Now().UTC().Format(time.RFC3339),
		},
	}
	Expect(admin.Status().Patch(ctx, source, client.MergeFrom(before))).To(Succeed())
}

// archive packs a folder of the repository.
func (f *fluxSource) archive(folder string) []byte {
	GinkgoHelper()
	var out bytes.Buffer
	compressed := gzip.NewWriter(&out)
	archive := tar.NewWriter(compressed)
	Expect(filepath.WalkDir(filepath.Join(f.root, folder), func(path string, entry os.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		name, err := filepath.Rel(f.root, path)
		if err != nil {
			return err
		}
		data, err := os.ReadFile(path) //nolint:gosec // a folder of the test
		if err != nil {
			return err
		}
		if err := archive.WriteHeader(&tar.Header{Name: name, Mode: 0o644, Size: int64(len(data))}); err != nil {
			return err
		}
		_, err = archive.Write(data)
		return err
	})).To(Succeed())
	Expect(archive.Close()).To(Succeed())
	Expect(compressed.Close()).To(Succeed())
	return out.Bytes()
}
