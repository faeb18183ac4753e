package mpirun

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"lockstep.dev/lockstep/pkg/mpi"
)

func TestFindLauncher(t *testing.T) {
	dir := t.TempDir()
	shim, image, other := filepath.Join(dir, "shim"), filepath.Join(dir, "image"), filepath.Join(dir, "other")
	for _, folder := range []string{image, other} {
		if err := os.MkdirAll(folder, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(folder, "mpirun"), []byte("#!/bin/sh\n"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for range 2 { // a container that runs again
		if err := Install(shim); err != nil {
			t.Fatal(err)
		}
	}
	path := image + ":" + other
	for command, want := range map[string]string{
		"mpirun":                        filepath.Join(image, "mpirun"),
		filepath.Join(shim, "mpirun"):   filepath.Join(image, "mpirun"),
		filepath.Join(other, "mpirun"):  filepath.Join(other, "mpirun"),
		"./mpirun":                      "./mpirun",
		"mpiexec":                       "",
		filepath.Join(shim, "mpiexec"):  "",
		filepath.Join(other, "mpiexec"): filepath.Join(other, "mpiexec"),
	} {
		got, err := findLauncher(command, shim, path)
		if got != want || (err == nil) != (want != "") {
			t.Errorf("%s: %s, %v, want %s", command, got, err, want)
		}
	}
}

// A pipe is read once: what the agent takes from it, the launcher does not get.
func TestListsOfHostsAreReadFromFilesOnly(t *testing.T) {
	pipe := filepath.Join(t.TempDir(), "hosts")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{pipe, t.TempDir(), "/dev/stdin", "/nowhere"} {
		if _, err := readList(name); err == nil {
			t.Errorf("%s was read", name)
		}
	}
}

func TestDialectOf(t *testing.T) {
	for content, want := range map[string]mpi.Dialect{
		"\x7fELF…libopen-rte.so.40…":                    mpi.ORTE,
		"\x7fELF…PRTE_MCA_%s…prterun…":                  mpi.PRRTE,
		"\x7fELF…HYDRA_HOST_FILE…":                      mpi.Hydra,
		"#!/bin/sh\nexport I_MPI_HYDRA_HOST_FILE\nexec": mpi.IntelHydra,
		"#!/bin/sh\nexec /opt/mpi/bin/mpirun \"$@\"\n":  "",
	} {
		path := filepath.Join(t.TempDir(), "mpirun")
		if err := os.WriteFile(path, []byte(content), 0o755); err != nil {
			t.Fatal(err)
		}
		if got := dialectOf(path); got != want {
			t.Errorf("%q: %q, want %q", content, got, want)
		}
	}
	if got := dialectOf("/nowhere"); got != "" {
		t.Errorf("of no file: %q", got)
	}
}
