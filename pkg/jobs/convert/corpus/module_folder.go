package corpus

import (
	"encoding/json"
	"os/exec"
	"path/filepath"
	"testing"

	"lockstep.dev/lockstep/test/reporoot"
)

// ModuleFolder returns the folder of mpi-operator's module, of the version that the local cluster runs: the product does not depend on it, and
// nothing of it is copied. The test is skipped, and says so, where the module can neither be found nor fetched.
func ModuleFolder(tb testing.TB) string {
	tb.Helper()
	root, err := reporoot.Find()
	if err != nil {
		tb.Fatal(err)
	}
	command := exec.Command("go", "mod", "download", "-json", "github.com/kubeflow/mpi-operator")
	command.Dir = filepath.Join(root, "test", "cluster", "programs", "mpi-operator")
	out, err := command.Output()
	var downloaded struct{ Dir, Error string }
	if parseErr := json.Unmarshal(out, &downloaded); err != nil || parseErr != nil || downloaded.Dir == "" {
		tb.Skipf("SKIPPED: this needs mpi-operator's module, which is neither in the cache nor reachable (%v %s)", err, downloaded.Error)
	}
	return downloaded.Dir
}
