package gitops

import (
	"os"
	"path/filepath"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
)

// repository is a folder with the specs of this repository for the cluster onprem, and what is compiled from them.
type repository struct{ root string }

func newRepository() *repository {
	GinkgoHelper()
	r := &repository{root: GinkgoT().TempDir()}
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
	return r
}

func (r *repository) write(path, content string) {
	GinkgoHelper()
	path = filepath.Join(r.root, path)
	Expect(os.MkdirAll(filepath.Dir(path), 0o750)).To(Succeed())
	Expect(os.WriteFile(path, []byte(content), 0o600)).To(Succeed())
}

func (r *repository) read(path string) string {
	GinkgoHelper()
	data, err := os.ReadFile(filepath.Join(r.root, path))
	Expect(err).NotTo(HaveOccurred())
	return string(data)
}

// replace changes a file where a text is.
func (r *repository) replace(path, old, replacement string) {
	GinkgoHelper()
	content := r.read(path)
	Expect(content).To(ContainSubstring(old))
	r.write(path, strings.Replace(content, old, replacement, 1))
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

// remove removes files and folders.
func (r *repository) remove(paths ...string) {
	GinkgoHelper()
	for _, path := range paths {
		Expect(os.RemoveAll(filepath.Join(r.root, path))).To(Succeed())
	}
}
