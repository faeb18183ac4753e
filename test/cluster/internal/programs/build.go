package programs

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"

	"golang.org/x/sys/unix"

	"lockstep.dev/lockstep/test/cluster/internal/progress"
)

// Program is a finished program.
type Program struct {
	Name    string `json:"name"`
	Version string `json:"version"`
	Path    string `json:"path"`
}

// Builder builds programs into a cache.
type Builder struct {
	source, cache string
	pins          map[string]pins
	// Provide makes sure that the C compiler and libraries are there; it is
	// called once, and only when something needs them.
	Provide func(context.Context) error
	// Say gets the progress.
	Say *progress.Reporter
}

// Open reads the pins of all families in the folder test/cluster.
func Open(ctx context.Context, source, cache string) (*Builder, error) {
	out, err := exec.CommandContext(ctx, "go", "env", "GOVERSION").Output()
	if err != nil {
		return nil, fmt.Errorf("find the Go toolchain, which builds the cluster's programs: %w", err)
	}
	b := &Builder{source: source, cache: cache, pins: map[string]pins{}}
	for _, f := range catalog {
		p, err := readPins(source, f, strings.TrimSpace(string(out)))
		if err != nil {
			return nil, err
		}
		b.pins[f.folder] = p
	}
	return b, nil
}

// Lookup says where a program lies, built or not.
func (b *Builder) Lookup(name string) (Program, error) {
	f, err := familyOf(name)
	if err != nil {
		return Program{}, err
	}
	p := b.pins[f.folder]
	folder := fmt.Sprintf("%s-%s-%s", name, p.version, p.hash)
	return Program{Name: name, Version: p.version, Path: filepath.Join(b.cache, folder, name)}, nil
}

// ModuleDir returns the folder of a family's pinned module, in the module
// cache, and downloads it if it is not there.
func (b *Builder) ModuleDir(ctx context.Context, folder string) (string, error) {
	i := slices.IndexFunc(catalog, func(f family) bool { return f.folder == folder })
	if i < 0 {
		return "", fmt.Errorf("unknown family of programs %q", folder)
	}
	f := catalog[i]
	for _, args := range [][]string{{"list", "-m", "-f", "{{.Dir}}", f.module}, {"mod", "download", f.module}, {"list", "-m", "-f", "{{.Dir}}", f.module}} {
		cmd := b.command(ctx, f, args...)
		out, err := cmd.Output()
		if err != nil {
			return "", fmt.Errorf("find module %s: %w%s", f.module, err, stderr(err))
		}
		if dir := strings.TrimSpace(string(out)); dir != "" {
			return dir, nil
		}
	}
	return "", fmt.Errorf("module %s was downloaded, but is not in the module cache", f.module)
}

func stderr(err error) string {
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return "\n" + string(exit.Stderr)
	}
	return ""
}

// Ensure builds the named programs that the cache lacks, without names those
// of every cluster, and returns them by name.
func (b *Builder) Ensure(ctx context.Context, names ...string) (map[string]Program, error) {
	if len(names) == 0 {
		names = Base()
	}
	programs := map[string]Program{}
	missing := map[string][]string{}
	for _, name := range names {
		p, err := b.Lookup(name)
		if err != nil {
			return nil, err
		}
		programs[name] = p
		if !exists(p.Path) {
			f, _ := familyOf(name)
			missing[f.folder] = append(missing[f.folder], name)
		}
	}
	return programs, b.buildAll(ctx, missing)
}

// buildAll builds two families at a time: one alone leaves processors idle
// while it links, three need more memory than they save time.
func (b *Builder) buildAll(ctx context.Context, missing map[string][]string) error {
	if len(missing) == 0 {
		return nil
	}
	if _, ok := missing["runc"]; ok && b.Provide != nil {
		if err := b.Provide(ctx); err != nil {
			return err
		}
	}
	b.Say.Say("%s", estimate(missing, runtime.NumCPU()))
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	slots := make(chan struct{}, 2)
	var work sync.WaitGroup
	for _, f := range catalog {
		if missing[f.folder] == nil {
			continue
		}
		slots <- struct{}{}
		work.Go(func() {
			defer func() { <-slots }()
			if err := b.build(ctx, f, missing[f.folder]); err != nil {
				cancel(fmt.Errorf("build %s: %w", f.folder, err))
			}
		})
	}
	work.Wait()
	return context.Cause(ctx)
}

// estimate says how long the builds of some programs may take, by family.
func estimate(missing map[string][]string, processors int) string {
	seconds, programs := 0, 0
	for _, f := range catalog {
		if names := missing[f.folder]; names != nil {
			seconds += f.seconds
			programs += len(names)
		}
	}
	minutes := (seconds/processors + 59) / 60
	return fmt.Sprintf("building what is missing of the programs (%d) from source, once: about %d min on %d idle processors, less where Go has compiled some of it before", programs, max(1, minutes), processors)
}

// build builds programs of one family. Another command may be at it too: then
// this one waits, and finds most of the work done.
func (b *Builder) build(ctx context.Context, f family, names []string) error {
	if ctx.Err() != nil {
		return nil
	}
	slices.Sort(names)
	step := b.Say.Begin("build %s", strings.Join(names, " "))
	unlock, err := b.lock(f)
	if err != nil {
		return step.End(err)
	}
	defer unlock()
	names = slices.DeleteFunc(names, func(name string) bool {
		p, _ := b.Lookup(name)
		return exists(p.Path)
	})
	if len(names) == 0 {
		return step.End(nil)
	}
	return step.End(b.compile(ctx, f, names, step))
}

func (b *Builder) lock(f family) (unlock func(), err error) {
	if err := os.MkdirAll(b.cache, 0o755); err != nil {
		return nil, err
	}
	file, err := os.OpenFile(filepath.Join(b.cache, "."+f.folder+".lock"), os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return nil, err
	}
	if err := unix.Flock(int(file.Fd()), unix.LOCK_EX); err != nil {
		_ = file.Close()
		return nil, err
	}
	return func() { _ = file.Close() }, nil
}

func (b *Builder) compile(ctx context.Context, f family, names []string, step *progress.Step) error {
	temp, err := os.MkdirTemp(b.cache, ".build-"+f.folder+"-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(temp) }()
	args := append([]string{"build", "-v", "-p", fmt.Sprint(parallelism()), "-o", temp + "/"}, flags(f, b.pins[f.folder].version)...)
	for _, name := range names {
		args = append(args, f.packages[name])
	}
	cmd := b.command(ctx, f, args...)
	if err := runNoting(cmd, step); err != nil {
		return err
	}
	for _, name := range names {
		if err := b.publish(temp, f, name); err != nil {
			return err
		}
	}
	return nil
}

// command runs the Go tool in the family's module, free of what the caller's
// environment says about modules and flags: it would change the result
// without changing the key.
func (b *Builder) command(ctx context.Context, f family, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir = filepath.Join(b.source, "programs", f.folder)
	cgo := "0"
	if f.cgo {
		cgo = "1"
	}
	cmd.Env = append(os.Environ(), "GOFLAGS=", "GOWORK=off", "GO111MODULE=on", "GOOS=linux", "GOARCH="+runtime.GOARCH, "CGO_ENABLED="+cgo)
	// The Go tool ends its compilers on an interrupt, but not when it is killed.
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	return cmd
}

// runNoting runs `go build -v`, which prints a package per line as it comes to
// it, and shows the count. The last lines explain a failure.
func runNoting(cmd *exec.Cmd, step *progress.Step) error {
	pipe, err := cmd.StderrPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	var tail []string
	packages := 0
	lines := bufio.NewScanner(pipe)
	for lines.Scan() {
		packages++
		step.Note("(%d packages)", packages)
		if tail = append(tail, lines.Text()); len(tail) > 30 {
			tail = tail[1:]
		}
	}
	_, _ = io.Copy(io.Discard, pipe)
	if err := cmd.Wait(); err != nil {
		return fmt.Errorf("go build in %s: %w\n%s", cmd.Dir, err, strings.Join(tail, "\n"))
	}
	return nil
}

// publish moves a program from the temporary folder into its own; the rename
// makes it appear whole.
func (b *Builder) publish(temp string, f family, name string) error {
	p, err := b.Lookup(name)
	if err != nil {
		return err
	}
	stage := filepath.Join(temp, ".stage-"+name)
	if err := os.Mkdir(stage, 0o755); err != nil {
		return err
	}
	if err := os.Rename(filepath.Join(temp, output(f.packages[name])), filepath.Join(stage, name)); err != nil {
		return err
	}
	err = os.Rename(stage, filepath.Dir(p.Path))
	if errors.Is(err, fs.ErrExist) || errors.Is(err, unix.ENOTEMPTY) {
		return nil
	}
	return err
}

// parallelism is the number of compilers and linkers that run at once in one
// of two builds: all processors, unless memory is short. Linking
// kube-apiserver takes about 1.5 GiB.
func parallelism() int {
	content, err := os.ReadFile("/proc/meminfo")
	if err != nil {
		return runtime.NumCPU()
	}
	return parallelismIn(content, runtime.NumCPU())
}

func parallelismIn(meminfo []byte, processors int) int {
	_, rest, found := bytes.Cut(meminfo, []byte("MemAvailable:"))
	var kib int
	if _, err := fmt.Sscan(string(rest), &kib); !found || err != nil {
		return processors
	}
	return max(1, min(processors, kib/(2*1536*1024)))
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// Link makes a folder with a link for each program, and returns its path. The
// same programs give the same folder.
func Link(cache, kind string, programs map[string]Program) (string, error) {
	var key strings.Builder
	names := slices.Sorted(maps.Keys(programs))
	for _, name := range names {
		key.WriteString(programs[name].Path + "\n")
	}
	dir := filepath.Join(cache, kind+"-"+digest(key.String()))
	if exists(dir) {
		return dir, nil
	}
	temp, err := os.MkdirTemp(cache, ".link-")
	if err != nil {
		return "", err
	}
	defer func() { _ = os.RemoveAll(temp) }()
	if err := os.Chmod(temp, 0o755); err != nil {
		return "", err
	}
	for _, name := range names {
		if err := os.Symlink(programs[name].Path, filepath.Join(temp, name)); err != nil {
			return "", err
		}
	}
	if err := os.Rename(temp, dir); err != nil && !exists(dir) {
		return "", err
	}
	return dir, nil
}
