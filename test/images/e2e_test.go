package main

import (
	"archive/tar"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"

	"lockstep.dev/lockstep/test/images/internal/cli"
)

// arbitraryUser is one as OpenShift assigns them: it has no name, and belongs to group 0.
const arbitraryUser = "1000650000:0"

// mpiImage is what mpirun needs to run ranks on one machine without a remote shell.
type mpiImage struct {
	library string
	env     []string
	args    []string
	// python says that ranks may be programs of Python, with mpi4py and NumPy.
	python bool
}

var mpiImages = map[string]mpiImage{
	"openmpi4": {library: "Open MPI v4.1.", env: []string{"OMPI_MCA_plm=isolated"}, args: []string{"--oversubscribe"}},
	"openmpi5": {library: "Open MPI v5.0.", args: []string{"--oversubscribe"}, python: true},
	"mpich":    {library: "MPICH Version:      4.2.", python: true},
	"intelmpi": {library: "Intel(R) MPI Library 2021.18", env: []string{"FI_PROVIDER=tcp", "I_MPI_PIN=0"}, python: true},
}

// TestMPIImages makes the real images from nothing, unpacks them and runs MPI in them.
func TestMPIImages(t *testing.T) {
	if os.Getenv("LOCKSTEP_IMAGES_E2E") != "1" {
		t.Skip("SKIPPED: no MPI image is made or run. Set LOCKSTEP_IMAGES_E2E=1, as root on a Debian machine (about a minute).")
	}
	if os.Geteuid() != 0 {
		t.Fatal("LOCKSTEP_IMAGES_E2E=1 needs root")
	}
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	for name, archive := range buildAll(t) {
		t.Run(name, func(t *testing.T) {
			root := t.TempDir()
			unpack(t, archive, root)
			checkContents(t, root)
			checkRuns(t, root, mpiImages[name])
			checkTrains(t, root, mpiImages[name])
		})
	}
}

func buildAll(t *testing.T) (archives map[string]string) {
	t.Helper()
	var stdout, stderr bytes.Buffer
	args := append([]string{"build", "-o", "json"}, slices.Sorted(maps.Keys(mpiImages))...)
	if code := cli.Run(t.Context(), args, &stdout, &stderr); code != 0 {
		t.Fatalf("exit code %d\n%s", code, &stderr)
	}
	t.Logf("\n%s", &stderr)
	var results []struct {
		Name, Archive string
		Bytes         int64
		Cached        bool
	}
	if err := json.Unmarshal(stdout.Bytes(), &results); err != nil {
		t.Fatal(err)
	}
	archives = map[string]string{}
	for _, r := range results {
		archives[r.Name] = r.Archive
		if r.Cached || r.Bytes > 150<<20 {
			t.Errorf("%s: cached %v, %d MB: want a new image of at most 150 MB", r.Name, r.Cached, r.Bytes>>20)
		}
	}
	return archives
}

// unpack lays the image out as a container runtime would; whiteouts do not occur.
func unpack(t *testing.T, archive, root string) {
	t.Helper()
	img, err := tarball.ImageFromPath(archive, nil)
	if err != nil {
		t.Fatal(err)
	}
	contents := mutate.Extract(img)
	defer func() { _ = contents.Close() }()
	r := tar.NewReader(contents)
	for {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return
		}
		if err == nil {
			err = unpackOne(h, r, filepath.Join(root, h.Name))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

func unpackOne(h *tar.Header, contents io.Reader, to string) error {
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		return err
	}
	mode := h.FileInfo().Mode()
	switch h.Typeflag {
	case tar.TypeSymlink:
		return os.Symlink(h.Linkname, to)
	case tar.TypeDir:
		return errors.Join(os.MkdirAll(to, 0o755), os.Chmod(to, mode))
	case tar.TypeReg:
		f, err := os.Create(to)
		if err != nil {
			return err
		}
		_, err = io.Copy(f, contents)
		return errors.Join(err, f.Close(), os.Chmod(to, mode))
	default:
		return fmt.Errorf("%s: type %c has no place in an image", h.Name, h.Typeflag)
	}
}

func checkContents(t *testing.T, root string) {
	t.Helper()
	has := func(program string) bool {
		for _, folder := range []string{"usr/*bin", "usr/local/*bin"} {
			if found, err := filepath.Glob(filepath.Join(root, folder, program)); err != nil || len(found) > 0 {
				return true
			}
		}
		return false
	}
	for _, program := range []string{"ssh", "sshd", "rsh", "rlogin", "dropbear", "gcc", "apt", "dpkg", "perl"} {
		if has(program) {
			t.Errorf("the image holds %s", program)
		}
	}
	for _, program := range []string{"bash", "sh", "env", "hostname", "mpirun"} {
		if !has(program) {
			t.Errorf("the image has no %s", program)
		}
	}
	passwd, err := os.ReadFile(filepath.Join(root, "etc/passwd"))
	if err != nil || bytes.Contains(passwd, []byte("1000650000")) || !bytes.HasPrefix(passwd, []byte("root:")) {
		t.Errorf("/etc/passwd (%v):\n%s", err, passwd)
	}
}

func checkRuns(t *testing.T, root string, image mpiImage) {
	t.Helper()
	cases := map[string]struct {
		reason string
		user   string
		ranks  int
		args   []string
		code   int
		broken bool // the job ends before all lines are out
	}{
		"Root":      {reason: "the plain case", user: "0:0", ranks: 2},
		"Arbitrary": {reason: "a user without a name, as OpenShift runs containers", user: arbitraryUser, ranks: 3},
		"Sleep":     {reason: "a job that takes a moment", user: arbitraryUser, ranks: 2, args: []string{"--sleep", "0.3"}},
		// With more than one rank Hydra now and then reports the signal that it killed another with.
		"ExitCode": {reason: "mpirun hands on the exit code of a rank", user: arbitraryUser, ranks: 1, args: []string{"--exit-rank", "0", "--exit-code", "7"}, code: 7, broken: true},
		"Usage":    {reason: "arguments that make no sense", user: arbitraryUser, ranks: 1, args: []string{"--sleep", "long"}, code: 2, broken: true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			command := slices.Concat([]string{"mpirun", "-n", fmt.Sprint(tc.ranks)}, image.args, []string{"mpi-hello"}, tc.args)
			stdout, stderr, code := inside(t, root, tc.user, image.env, command)
			if code != tc.code {
				t.Fatalf("%s: exit code %d, want %d\n%s\n%s", tc.reason, code, tc.code, stdout, stderr)
			}
			if !tc.broken {
				checkOutput(t, image, tc.ranks, stdout)
			}
		})
	}
}

// checkTrains has ranks learn: mpi-train itself judges how well, and whether they are one world that adds gradients up.
func checkTrains(t *testing.T, root string, image mpiImage) {
	t.Helper()
	if !image.python {
		return
	}
	command := slices.Concat([]string{"mpirun", "-n", "3"}, image.args, []string{"mpi-train"})
	stdout, stderr, code := inside(t, root, arbitraryUser, image.env, command)
	if code != 0 || strings.Count(stdout, " size=3 ") != 3 || !strings.Contains(stdout, " from one process\n") {
		t.Errorf("exit code %d\n%s\n%s", code, stdout, stderr)
	}
}

// checkOutput holds stdout against what mpi-hello promises.
func checkOutput(t *testing.T, image mpiImage, ranks int, stdout string) {
	t.Helper()
	host, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for line := range strings.Lines(stdout) {
		line = strings.TrimSuffix(line, "\n")
		if strings.HasPrefix(line, "library="+image.library) {
			line = "library"
		}
		got = append(got, line)
	}
	want := make([]string, 0, ranks+1)
	want = append(want, "library")
	sum := ranks * (ranks + 1) / 2
	for rank := range ranks {
		want = append(want, fmt.Sprintf("rank=%d size=%d host=%s sum=%d expected=%d ok", rank, ranks, host, sum, sum))
	}
	slices.Sort(got)
	slices.Sort(want)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("output (-want +got):\n%s", diff)
	}
}

// inside runs command in the root file system with /proc, /sys and /dev, in namespaces that vanish with it.
func inside(t *testing.T, root, user string, env, command []string) (stdout, stderr string, code int) {
	t.Helper()
	const script = `set -e
mount -t proc proc "$1/proc"; mount --rbind /sys "$1/sys"; mount --rbind /dev "$1/dev"
root=$1 user=$2; shift 2
exec chroot --userspec="$user" "$root" "$@"`
	args := slices.Concat([]string{"--fork", "--kill-child", "--pid", "--mount", "sh", "-c", script, "sh", root, user, "env", "-i",
		"PATH=/usr/local/bin:/usr/bin:/bin", "HOME=/tmp", "OMPI_ALLOW_RUN_AS_ROOT=1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1"}, env, command)
	cmd := exec.CommandContext(t.Context(), "unshare", args...)
	var out, diagnostics bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &diagnostics
	err := cmd.Run()
	if exit := new(exec.ExitError); err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return out.String(), diagnostics.String(), cmd.ProcessState.ExitCode()
}
