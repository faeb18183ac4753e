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

// repository is a git repository with the specs of this one for the cluster onprem, and with another tenant. Its commits reach Flux as
// source-controller would bring them: as an archive behind HTTP, named in the status of the GitRepository.
type repository struct {
	root    string
	server  *httptest.Server
	commits int

	mu       sync.Mutex
	archives map[string][]byte
}

func newRepository() *repository {
	GinkgoHelper()
	r := &repository{root: GinkgoT().TempDir(), archives: map[string][]byte{}}
	for _, part := range []string{"catalog", "charts", "overlays/onprem", "tenants/climate.yaml"} {
		from, to := filepath.Join("../..", part), filepath.Join(r.root, part)
		if info, err := os.Stat(from); err == nil && info.IsDir() {
			Expect(os.CopyFS(to, os.DirFS(from))).To(Succeed())
			continue
		}
		data, err := os.ReadFile(from) //nolint:gosec // a spec of this repository
		Expect(err).NotTo(HaveOccurred())
		r.write(part, string(data))
	}
	r.server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
		r.mu.Lock()
		defer r.mu.Unlock()
		archive, found := r.archives[request.URL.Path]
		if !found {
			http.NotFound(w, request)
			return
		}
		_, _ = w.Write(archive)
	}))
	DeferCleanup(r.server.Close)
	return r
}

func (r *repository) write(path, content string) {
	GinkgoHelper()
	path = filepath.Join(r.root, path)
	Expect(os.MkdirAll(filepath.Dir(path), 0o750)).To(Succeed())
	Expect(os.WriteFile(path, []byte(content), 0o600)).To(Succeed())
}

// replace changes a file where a text is.
func (r *repository) replace(path, old, replacement string) {
	GinkgoHelper()
	data, err := os.ReadFile(filepath.Join(r.root, path))
	Expect(err).NotTo(HaveOccurred())
	Expect(string(data)).To(ContainSubstring(old))
	r.write(path, strings.Replace(string(data), old, replacement, 1))
}

// build compiles the specs, as the guide tells.
func (r *repository) build() {
	GinkgoHelper()
	run(programs["RUNTIME_COMPILER"], "build", "--cluster", "onprem", "--root", r.root, "--out", filepath.Join(r.root, "dist"))
}

// smuggle puts an object beside what is compiled into a folder.
func (r *repository) smuggle(folder, object string) {
	GinkgoHelper()
	r.write(filepath.Join(folder, "smuggled.yaml"), object)
	if _, err := os.Stat(filepath.Join(r.root, folder, "kustomization.yaml")); os.IsNotExist(err) {
		r.write(filepath.Join(folder, "kustomization.yaml"), "apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\nresources: []\n")
		r.replace(filepath.Join(folder, "kustomization.yaml"), "resources: []", "resources:")
	}
	data, err := os.ReadFile(filepath.Join(r.root, folder, "kustomization.yaml"))
	Expect(err).NotTo(HaveOccurred())
	r.write(filepath.Join(folder, "kustomization.yaml"), string(data)+"- smuggled.yaml\n")
}

// commit brings the compiled tree to Flux and returns the revision, and when Flux could know of it.
func (r *repository) commit(ctx context.Context) (string, time.Time) {
	GinkgoHelper()
	r.commits++
	name := fmt.Sprintf("/%d.tar.gz", r.commits)
	archive := r.archive()
	r.mu.Lock()
	r.archives[name] = archive
	r.mu.Unlock()
	revision := fmt.Sprintf("main@sha1:%040x", r.commits)
	source := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "source.toolkit.fluxcd.io/v1", "kind": "GitRepository"}}
	Expect(admin.Get(ctx, client.ObjectKey{Namespace: "flux-system", Name: "lockstep"}, source)).To(Succeed())
	before := source.DeepCopy()
	ready := condition("Ready", "Succeeded")
	ready["observedGeneration"] = source.GetGeneration()
	source.Object["status"] = map[string]any{
		"observedGeneration": source.GetGeneration(),
		"conditions":         []any{ready},
		"artifact": map[string]any{
			"path": strings.TrimPrefix(name, "/"), "url": r.server.URL + name, "revision": revision, "size": int64(len(archive)),
			"digest": fmt.Sprintf("sha256:%x", sha256.Sum256(archive)), "lastUpdateTime": time.Now().UTC().Format(time.RFC3339),
		},
	}
	Expect(admin.Status().Patch(ctx, source, client.MergeFrom(before))).To(Succeed())
	return revision, time.Now()
}

func (r *repository) archive() []byte {
	GinkgoHelper()
	var out bytes.Buffer
	compressed := gzip.NewWriter(&out)
	archive := tar.NewWriter(compressed)
	Expect(filepath.WalkDir(r.root, func(path string, entry os.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		name, err := filepath.Rel(r.root, path)
		if err != nil || !strings.HasPrefix(name, "dist/") {
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

// removeAll removes files and folders.
func removeAll(r *repository, paths ...string) error {
	for _, path := range paths {
		if err := os.RemoveAll(filepath.Join(r.root, path)); err != nil {
			return err
		}
	}
	return nil
}
