package frameworks

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
)

var _ = Describe("The guide to jobs from Python", func() {
	It("has a function of PyTorch that learns on four ranks over MPI", func(ctx SpecContext) {
		page, err := os.ReadFile(filepath.Join(root, "docs", "guide", "python.md"))
		Expect(err).NotTo(HaveOccurred())
		shown := regexp.MustCompile("(?s)```python\n(from lockstep .*?)```").FindSubmatch(page)
		Expect(shown).NotTo(BeNil())
		said := python(ctx, shown[1])
		Expect(said).To(ContainSubstring("Complete"))
		for _, rank := range []string{"0", "1", "2", "3"} {
			Expect(said).To(MatchRegexp(`rank ` + rank + ` of 4 weight (?:2\.99|3\.0)`))
		}
	})

	It("has a first notebook whose four workers learn with PyTorch and whose failure is named", func(ctx SpecContext) {
		said := python(ctx, []byte(`
import nbclient, nbformat
notebook = nbformat.read("`+filepath.Join(root, "docs", "guide", "notebooks", "first-job.ipynb")+`", as_version=4)
nbclient.NotebookClient(notebook, timeout=900, kernel_name="python3").execute()
print(*(output.get("text", "") for cell in notebook.cells for output in cell.get("outputs", [])))
`))
		for _, rank := range []string{"0", "1", "2", "3"} {
			Expect(said).To(ContainSubstring("rank " + rank + " of 4 weight 3.0"))
		}
		Expect(said).To(And(ContainSubstring("PythonException"), ContainSubstring("ValueError: bad label")))
	})
})

// python runs a program with our package, as the tenant's editor.
func python(ctx context.Context, program []byte) string {
	GinkgoHelper()
	folder := GinkgoT().TempDir()
	file, config := filepath.Join(folder, "program.py"), filepath.Join(folder, "kubeconfig") // a function travels by its source
	Expect(os.WriteFile(file, program, 0o600)).To(Succeed())
	Expect(cluster.EditorKubeconfig(ctx, tenant, config)).To(Succeed())
	path := []string{filepath.Join(root, "python", "src")}
	for _, script := range [][]string{{"kubeflow"}, {"packages", "python-tools", "python/requirements.txt"}} {
		out, err := exec.CommandContext(ctx, filepath.Join(root, "test", "suite", script[0]), script[1:]...).Output() //nolint:gosec // scripts of this repository
		Expect(err).NotTo(HaveOccurred())
		path = append(path, strings.TrimSpace(string(out)))
	}
	command := exec.CommandContext(ctx, "python3", file) //nolint:gosec // a program of our guide
	command.Env = append(os.Environ(), "KUBECONFIG="+config, "PYTHONPATH="+strings.Join(path, ":"))
	command.Stderr = GinkgoWriter
	out, err := command.Output()
	Expect(err).NotTo(HaveOccurred(), string(out))
	GinkgoWriter.Println(string(out))
	return string(out)
}
