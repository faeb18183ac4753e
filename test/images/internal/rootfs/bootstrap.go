package rootfs

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"

	"lockstep.dev/lockstep/test/images/archive"
)

// keyring holds the public keys of all Debian releases.
const keyring = "/usr/share/keyrings/debian-archive-keyring.gpg"

// needed are the files that Bootstrap uses, and the Debian packages that bring them.
var needed = map[string]string{
	"/usr/bin/mmdebstrap": "mmdebstrap",
	"/usr/bin/unshare":    "util-linux",
	keyring:               "debian-archive-keyring",
}

// Report takes one line about what is going on.
type Report func(line string)

// RequireTools makes sure that this machine has what Bootstrap needs: root installs it with apt-get and says so,
// anybody else gets an error that names all missing packages at once, or that only root can go on.
func RequireTools(ctx context.Context, report Report) error {
	var missing []string
	for file, pkg := range needed {
		if _, err := os.Stat(file); errors.Is(err, fs.ErrNotExist) {
			missing = append(missing, pkg)
		}
	}
	slices.Sort(missing)
	install := "apt-get install --no-install-recommends " + strings.Join(missing, " ")
	switch {
	case os.Geteuid() != 0 && len(missing) > 0:
		return fmt.Errorf("images with a Debian root file system need root and these packages: run as root, or as root first: %s", install)
	case os.Geteuid() != 0:
		return errors.New("images with a Debian root file system need root, for chroot and for file owners: run as root")
	case len(missing) == 0:
		return nil
	}
	report("installing " + strings.Join(missing, ", ") + " on this machine with apt-get")
	if err := aptInstall(ctx, missing); err != nil {
		return fmt.Errorf("install missing tools: %w; see what %q says", err, install)
	}
	return nil
}

// RequirePip makes sure that this machine has pip, which root gets from Debian.
func RequirePip(ctx context.Context, report Report) error {
	if exec.CommandContext(ctx, "python3", "-m", "pip", "--version").Run() == nil {
		return nil
	}
	report("installing python3-pip on this machine with apt-get")
	return aptInstall(ctx, []string{"python3-pip"})
}

// aptInstall refreshes the package lists only if they are too old or absent, as in a fresh container.
func aptInstall(ctx context.Context, packages []string) error {
	install := append([]string{"install", "-y", "--no-install-recommends"}, packages...)
	if apt(ctx, install...) == nil {
		return nil
	}
	if err := apt(ctx, "update"); err != nil {
		return err
	}
	return apt(ctx, install...)
}

func apt(ctx context.Context, args ...string) error {
	cmd := exec.CommandContext(ctx, "apt-get", append([]string{"-q", "-o", "DPkg::Lock::Timeout=300"}, args...)...)
	cmd.Env = append(os.Environ(), "DEBIAN_FRONTEND=noninteractive")
	return run(cmd, func(string) {})
}

// Bootstrap installs packages with all that they depend on, from source, into the new directory dir. temp is a
// directory for what does not stay.
func Bootstrap(ctx context.Context, source Source, packages []string, dir, temp string, report Report) error {
	args := []string{
		"--fork", "--kill-child", "--pid", "--mount-proc", "--propagation", "private",
		"mmdebstrap", "--mode=root", "--variant=essential", "--include=" + strings.Join(packages, ","),
		"--aptopt=APT::Install-Recommends \"false\"", "--aptopt=Acquire::Languages \"none\"",
		"--dpkgopt=force-unsafe-io",
	}
	for _, p := range useless {
		if path.Dir(p) == "/usr/share" {
			args = append(args, "--dpkgopt=path-exclude="+p+"/*")
		}
	}
	for _, option := range machineOptions(ctx) {
		args = append(args, "--aptopt="+option)
	}
	args = append(args, source.Suite, dir, source.line(keyring))
	cmd := exec.CommandContext(ctx, "unshare", args...)
	cmd.Env = append(os.Environ(), "SOURCE_DATE_EPOCH=0", "TMPDIR="+temp, "DEBIAN_FRONTEND=noninteractive")
	err := run(cmd, func(line string) {
		if step, isStep := strings.CutSuffix(line, "..."); isStep {
			report("mmdebstrap: " + strings.TrimPrefix(step, "I: "))
		}
	})
	if err != nil {
		return fmt.Errorf("install %s from %s %s: %w", strings.Join(packages, ", "), source.URI, source.Suite, err)
	}
	return nil
}

// machineOptions are the settings of this machine's apt that decide whether it reaches and accepts its archive; a
// new root file system starts without them.
func machineOptions(ctx context.Context) []string {
	dump, err := exec.CommandContext(ctx, "apt-config", "dump").Output()
	if err != nil {
		return nil // no apt, no settings
	}
	var options []string
	for line := range strings.Lines(string(dump)) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), " ")
		switch name {
		case "Acquire::http::Proxy", "Acquire::https::Proxy", "Acquire::Check-Valid-Until", "Acquire::Check-Date":
			options = append(options, name+" "+value)
		}
	}
	return options
}

// strict is what C of our own must pass; what others wrote in C++ is theirs to judge.
var strict = []string{"-std=gnu11", "-Wall", "-Wextra", "-Werror"}

// Compile compiles source, a C or C++ file on this machine, with a compiler that is installed in root, into the program at
// output in root. The compiler's last arguments are flags.
func Compile(ctx context.Context, root, compiler, source, output string, flags []string) error {
	code, err := os.ReadFile(source)
	if err != nil {
		return err
	}
	inside := path.Join("/tmp", filepath.Base(source))
	err = errors.Join(
		os.MkdirAll(filepath.Join(root, path.Dir(output)), 0o755),
		os.WriteFile(filepath.Join(root, inside), code, 0o644),
	)
	if err != nil {
		return err
	}
	args := []string{compiler, "-O2", "-s", "-o", output, inside}
	if path.Ext(source) == ".c" {
		args = append(args, strict...)
	}
	if err := inRoot(ctx, root, append(args, flags...)...); err != nil {
		return fmt.Errorf("compile %s with %s: %w", source, compiler, err)
	}
	return os.Remove(filepath.Join(root, inside))
}

// Build unpacks a source distribution, which has one folder, and runs lines of bash in it, inside root and with processes of its own: there is
// /proc, which setup programs read. Everything is as installed by hand: below /usr/local.
func Build(ctx context.Context, root, file, folder, lines string) error {
	sources := filepath.Join(root, "src")
	if err := os.MkdirAll(sources, 0o755); err != nil {
		return err
	}
	if err := run(exec.CommandContext(ctx, "tar", "--extract", "--gzip", "--no-same-owner", "--file="+file, "--directory="+sources), func(string) {}); err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, "unshare", "--fork", "--kill-child", "--pid", "--mount-proc", "--propagation", "private", "--root="+root,
		"--wd="+path.Join("/src", folder), "/bin/bash", "-euc", lines)
	cmd.Env = insideEnv
	if err := run(cmd, func(string) {}); err != nil {
		return fmt.Errorf("build %s: %w", folder, err)
	}
	return nil
}

// LocalFiles are the files and links below /usr/local of root, where no package puts any.
func LocalFiles(root string) (paths []string, err error) {
	err = filepath.WalkDir(filepath.Join(root, "usr", "local"), func(p string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			paths = append(paths, strings.TrimPrefix(p, root))
		}
		return err
	})
	return paths, err
}

// CompileModules compiles all modules of Python in root, so that compiled ones count whatever the times of files are, which images change.
func CompileModules(ctx context.Context, root string) error {
	const modules = `python3 -m compileall -q -f --invalidation-mode unchecked-hash $(python3 -c 'import sys; print(*filter(None, sys.path))') || true`
	return inRoot(ctx, root, "/bin/bash", "-c", modules+" # some packages have modules for other versions of Python")
}

// FindLibraries tells the dynamic loader of root about libraries that no package has brought.
func FindLibraries(ctx context.Context, root string) error {
	return inRoot(ctx, root, "/sbin/ldconfig")
}

// insideEnv is the environment of what runs in a root file system. Open MPI 5's compiler wrapper refuses to start without a home directory.
var insideEnv = []string{"PATH=/usr/local/bin:/usr/bin:/bin", "HOME=/tmp", "LC_ALL=C", "SOURCE_DATE_EPOCH=0"}

func inRoot(ctx context.Context, root string, command ...string) error {
	cmd := exec.CommandContext(ctx, "/usr/bin/env", command...)
	cmd.Env = insideEnv
	cmd.Dir = "/"
	cmd.SysProcAttr = &syscall.SysProcAttr{Chroot: root}
	return run(cmd, func(string) {})
}

// remoteShells are the programs that would let an MPI launcher work without our agent, and hide its absence.
var remoteShells = []string{"ssh", "slogin", "sshd", "scp", "sftp", "ssh-agent", "rsh", "rshd", "rlogin", "rcp", "dropbear", "dbclient"}

// NoRemoteShell refuses files of an image that hold an ssh or rsh client or server.
func NoRemoteShell(files []archive.File) error {
	for _, f := range files {
		if slices.Contains(remoteShells, path.Base(f.Path)) {
			return fmt.Errorf("%s would be in the image, which must not have a remote shell: exclude it", f.Path)
		}
	}
	return nil
}

// run runs cmd, which dies with this program even if that is killed, gives every line of its output to report, and
// puts the last ones into the error.
func run(cmd *exec.Cmd, report Report) error {
	runtime.LockOSThread() // the kernel ties the death signal to the thread, not to the process
	defer runtime.UnlockOSThread()
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	cmd.SysProcAttr.Pdeathsig = syscall.SIGKILL
	out := &lineWriter{report: report}
	cmd.Stdout, cmd.Stderr = out, out
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("%s: %w\n%s", path.Base(cmd.Path), err, out.tail())
	}
	return nil
}
