// Package python runs the tests of the Python package against a real API server. There are no controllers here and no kubelet: the tests do
// by hand what those would do.
package python

import (
	"context"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/envtest"

	"lockstep.dev/lockstep/pkg/compile/schema/pinned"
)

const repository = "../../.."

// TestPython is run by test/suite/python, which installs what pytest needs. LOCKSTEP_PYTEST has more arguments for it.
func TestPython(t *testing.T) {
	if os.Getenv("LOCKSTEP_PYTHON") == "" {
		t.Skip("SKIPPED: this needs Python packages: run `make test-python`")
	}
	environment := start(t)
	folder := t.TempDir()
	ctx, cancel := context.WithTimeout(t.Context(), 580*time.Second) // less than the suite has, so that it ends what it started
	defer cancel()
	pytest := exec.CommandContext(ctx, "python3", append([]string{"-m", "pytest", "-p", "no:cacheprovider"}, strings.Fields(os.Getenv("LOCKSTEP_PYTEST"))...)...) //nolint:gosec // what a developer asks for
	pytest.Dir = filepath.Join(repository, "python")
	pytest.Env = append(os.Environ(),
		"LOCKSTEP_ADMIN="+kubeconfig(t, environment, folder, envtest.User{Name: "admin", Groups: []string{"system:masters"}}),
		"LOCKSTEP_JANE="+kubeconfig(t, environment, folder, envtest.User{Name: "jane"}),
		"LOCKSTEP_CERTS="+environment.ControlPlane.APIServer.CertDir,
		"LOCKSTEP_ETCD="+environment.ControlPlane.Etcd.URL.String(),
	)
	// One that takes too long says where it is: pytest prints the stack of each thread then.
	pytest.Cancel = func() error { return pytest.Process.Signal(syscall.SIGABRT) }
	pytest.WaitDelay = 10 * time.Second
	written, err := os.Create(filepath.Join(repository, "build", "test", "pytest.log")) // to look at while it runs
	if err != nil {
		t.Fatal(err)
	}
	defer written.Close()
	var output strings.Builder
	both := io.MultiWriter(&output, written)
	pytest.Stdout, pytest.Stderr = both, both
	err = pytest.Run()
	t.Log("\n" + output.String())
	if err != nil {
		t.Error(err)
	}
}

// start starts an API server with the kinds of Kubeflow Trainer and JobSet.
func start(t *testing.T) *envtest.Environment {
	t.Helper()
	crds, err := pinned.CRDs(pinned.Trainer, pinned.JobSet)
	if err != nil {
		t.Fatal(err)
	}
	environment := &envtest.Environment{
		CRDDirectoryPaths:        crds,
		ErrorIfCRDPathMissing:    true,
		ControlPlaneStartTimeout: 3 * time.Minute, // machines may be busy
	}
	if _, err := environment.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := environment.Stop(); err != nil {
			t.Error(err)
		}
	})
	return environment
}

// kubeconfig writes that of a user, and returns where.
func kubeconfig(t *testing.T, environment *envtest.Environment, folder string, who envtest.User) string {
	t.Helper()
	user, err := environment.AddUser(who, nil)
	if err != nil {
		t.Fatal(err)
	}
	content, err := user.KubeConfig()
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(folder, who.Name)
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}
