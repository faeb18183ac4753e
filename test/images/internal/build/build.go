// Package build makes images, or finds them in its cache.
//
// Duty: definition → key over all inputs → finished archive in the cache, else make it there.
//
// Flow: each image goes its own way at the same time. A Go image compiles its program first, because the program is
// an input of the key; a Debian image compiles inside the root file system that it bootstraps, and only on a miss.
//
// Invariants: an entry of the cache is complete; one process writes the cache at a time; images that can be made are
// made even if others fail.
package build

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"

	"lockstep.dev/lockstep/test/images/archive"
	"lockstep.dev/lockstep/test/images/internal/image"
	"lockstep.dev/lockstep/test/images/internal/rootfs"
	"lockstep.dev/lockstep/test/images/internal/wheel"
)

// Builder makes images of one checkout.
type Builder struct {
	// Repository is the folder of the root module.
	Repository string
	// Definitions is the folder of the image definitions.
	Definitions string
	Cache       *Cache
	// Report takes a line per step; image is its name. It may be called from several goroutines.
	Report func(image, step string)
}

// Result is one finished image.
type Result struct {
	Name      string `json:"name"`
	Reference string `json:"reference"`
	// Archive is the path of a docker-archive tar file, and Bytes its size.
	Archive string `json:"archive"`
	Bytes   int64  `json:"bytes"`
	// Digest is the image ID.
	Digest string `json:"digest"`
	// Cached is true if nothing had to be made.
	Cached bool `json:"cached"`
}

// Build makes all images at the same time; the results are those that succeeded, in the order of images.
func (b *Builder) Build(ctx context.Context, images []image.Image) ([]Result, error) {
	tools := sync.OnceValue(func() error {
		return rootfs.RequireTools(ctx, func(step string) { b.Report("tools", step) })
	})
	results, failed := make([]Result, len(images)), make([]error, len(images))
	var group sync.WaitGroup
	for n, img := range images {
		group.Go(func() {
			r, err := b.one(ctx, img, tools)
			if err != nil {
				failed[n] = fmt.Errorf("image %s: %w", img.Name, err)
				b.Report(img.Name, "failed")
			}
			results[n] = r
		})
	}
	group.Wait()
	return slices.DeleteFunc(results, func(r Result) bool { return r.Name == "" }), errors.Join(failed...)
}

func (b *Builder) one(ctx context.Context, img image.Image, tools func() error) (Result, error) {
	programs, err := b.goPrograms(ctx, img)
	if err != nil {
		return Result{}, err
	}
	key, err := keyOf(img, os.DirFS(b.Definitions), programs...)
	if err != nil {
		return Result{}, err
	}
	dir, cached := b.Cache.get(img.Name, key)
	if !cached {
		dir, err = b.Cache.put(img.Name, key, func(dir, temp string) error {
			if img.Go != nil {
				return b.scratch(img, programs, dir)
			}
			if err := tools(); err != nil {
				return err
			}
			return b.rootFS(ctx, img, dir, temp)
		})
	}
	if err != nil {
		return Result{}, err
	}
	r, err := result(img, dir)
	r.Cached = cached
	b.Report(img.Name, map[bool]string{true: "already there", false: "done"}[cached])
	return r, err
}

// goPrograms compiles the programs of a Go image; the go command itself knows if there is nothing to do.
func (b *Builder) goPrograms(ctx context.Context, img image.Image) (programs []archive.File, err error) {
	if img.Go == nil {
		return nil, nil
	}
	all := map[string]string{img.Go.Path: img.Go.Package}
	maps.Copy(all, img.Go.More)
	for _, at := range slices.Sorted(maps.Keys(all)) {
		built, err := b.goProgram(ctx, img.Name, all[at])
		if err != nil {
			return nil, err
		}
		programs = append(programs, archive.File{Path: at, Source: built})
	}
	return programs, nil
}

func (b *Builder) goProgram(ctx context.Context, name, program string) (path string, err error) {
	b.Report(name, "go build "+program)
	temp, err := os.MkdirTemp(b.Cache.dir, tempPrefix+"go-")
	if err != nil {
		return "", err
	}
	defer func() { _ = os.RemoveAll(temp) }() // the next process sweeps
	path = filepath.Join(b.Cache.dir, "bin", filepath.Base(program))
	cmd := exec.CommandContext(ctx, "go", "build", "-trimpath", "-buildvcs=false", "-ldflags=-s -w", "-o", path, program)
	cmd.Dir = b.Repository
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS=linux",
		"GOTMPDIR="+temp) // on the same file system the go command renames its output: never half a program
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("go build %s: %w\n%s", program, err, strings.TrimSpace(string(out)))
	}
	return path, nil
}

func (b *Builder) scratch(img image.Image, programs []archive.File, dir string) error {
	spec := b.specOf(img)
	spec.Files = append(spec.Files, programs...)
	digest, err := archive.Scratch(spec, filepath.Join(dir, archiveName))
	if err != nil {
		return err
	}
	return writeDigest(dir, digest)
}

// rootFS bootstraps one directory, compiles in it, and packs the part of it that the image needs: what Debian made
// as the lower layer, which stays the same while our programs change, and those on top.
func (b *Builder) rootFS(ctx context.Context, img image.Image, dir, temp string) error {
	report := func(step string) { b.Report(img.Name, step) }
	sources, err := rootfs.ReadSources(os.DirFS("/etc/apt"))
	if err != nil {
		return err
	}
	source, err := rootfs.Archive(sources, img.Debian.Suite)
	if err != nil {
		return err
	}
	root := filepath.Join(temp, "root")
	packages := slices.Concat(img.Debian.Packages, img.Debian.BuildPackages)
	if err := rootfs.Bootstrap(ctx, source, packages, root, temp, report); err != nil {
		return err
	}
	wheels, err := b.unpackWheels(ctx, img, root, report)
	if err != nil {
		return err
	}
	built, err := b.buildSources(ctx, img, source, root, report)
	if err != nil {
		return err
	}
	if img.Debian.Bytecode {
		report("compiling Python's modules")
		if err := rootfs.CompileModules(ctx, root); err != nil {
			return err
		}
	}
	var programs []string
	for _, p := range img.Debian.Programs {
		report("compiling " + p.Source + " with " + p.Compiler)
		if err := rootfs.Compile(ctx, root, p.Compiler, filepath.Join(b.Definitions, p.Source), p.Path, p.Flags); err != nil {
			return err
		}
		programs = append(programs, p.Path)
	}
	report("packing")
	return pack(img, b.specOf(img), root, programs, slices.Concat(wheels, built), dir, temp)
}

// buildSources returns the files that the builds have installed.
func (b *Builder) buildSources(ctx context.Context, img image.Image, debian rootfs.Source, root string, report rootfs.Report) ([]string, error) {
	if len(img.Debian.Sources) == 0 {
		return nil, nil
	}
	if err := rootfs.RequirePip(ctx, report); err != nil {
		return nil, err
	}
	before, err := rootfs.LocalFiles(root)
	if err != nil {
		return nil, err
	}
	for _, s := range img.Debian.Sources {
		fetch := wheel.FetchSource
		if s.Debian {
			fetch = debian.FetchUpstream
		}
		file, err := fetch(ctx, s.Name, s.Version, s.SHA256, filepath.Join(b.Cache.dir, "wheels"), report)
		if err != nil {
			return nil, err
		}
		report("building " + s.Name + " " + s.Version)
		if err := rootfs.Build(ctx, root, file, s.Name+"-"+s.Version, s.Build); err != nil {
			return nil, err
		}
	}
	after, err := rootfs.LocalFiles(root)
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(after, func(p string) bool { return slices.Contains(before, p) }), rootfs.FindLibraries(ctx, root)
}

// unpackWheels returns the files of those that are for the image.
func (b *Builder) unpackWheels(ctx context.Context, img image.Image, root string, report rootfs.Report) ([]string, error) {
	all := slices.Concat(img.Debian.BuildWheels, img.Debian.Wheels)
	if len(all) == 0 {
		return nil, nil
	}
	if err := rootfs.RequirePip(ctx, report); err != nil {
		return nil, err
	}
	var kept []string
	for n, w := range all {
		hash, found := w.SHA256[runtime.GOARCH]
		if !found {
			return nil, fmt.Errorf("%s %s is not built for %s", w.Name, w.Version, runtime.GOARCH)
		}
		file, err := wheel.Fetch(ctx, w.Name, w.Version, hash, filepath.Join(b.Cache.dir, "wheels"), report)
		if err != nil {
			return nil, err
		}
		paths, err := wheel.Unpack(file, root, w.Keep)
		if err != nil {
			return nil, err
		}
		if n >= len(img.Debian.BuildWheels) {
			kept = append(kept, paths...)
		}
	}
	return kept, rootfs.FindLibraries(ctx, root)
}

func pack(img image.Image, spec archive.Spec, root string, programs, wheels []string, dir, temp string) error {
	tree, err := rootfs.OpenRoot(root)
	if err != nil {
		return err
	}
	tree.Bytecode = img.Debian.Bytecode
	lower, err := tree.Select(img.Debian.Packages, slices.Concat(programs, wheels), img.Debian.Exclude)
	if err != nil {
		return err
	}
	if err := rootfs.NoRemoteShell(lower); err != nil && !img.Debian.RemoteShell {
		return err
	}
	if spec.Files, err = withTexts(spec.Files, img.Files, temp); err != nil {
		return err
	}
	lower = slices.DeleteFunc(lower, func(f archive.File) bool {
		if !slices.Contains(programs, f.Path) {
			return false
		}
		spec.Files = append(spec.Files, f)
		return true
	})
	base := filepath.Join(temp, "base.tar")
	if err := archive.Layer(lower, base); err != nil {
		return err
	}
	digest, err := archive.RootFS(spec, []string{base}, filepath.Join(dir, archiveName))
	if err != nil {
		return err
	}
	return writeDigest(dir, digest)
}

// specOf is the configuration of the image, with its links and scripts as the only files.
func (b *Builder) specOf(img image.Image) archive.Spec {
	spec := archive.Spec{
		Reference:  img.Reference,
		Entrypoint: img.Entrypoint, Cmd: img.Cmd, Env: img.Env, User: img.User, WorkingDir: img.WorkingDir,
	}
	for path, target := range img.Links {
		spec.Files = append(spec.Files, archive.File{Path: path, Link: target})
	}
	for path, source := range img.Scripts {
		spec.Files = append(spec.Files, archive.File{Path: path, Source: filepath.Join(b.Definitions, source), Mode: 0o755})
	}
	return spec
}

// withTexts adds the text files of a definition, by way of files in temp.
func withTexts(files []archive.File, texts map[string]string, temp string) ([]archive.File, error) {
	for path, text := range texts {
		source, err := os.CreateTemp(temp, "text-")
		if err != nil {
			return nil, err
		}
		_, err = source.WriteString(text)
		if err := errors.Join(err, source.Close()); err != nil {
			return nil, err
		}
		files = append(files, archive.File{Path: path, Source: source.Name(), Mode: 0o644})
	}
	return files, nil
}

const (
	archiveName = "image.tar"
	digestName  = "digest"
)

func writeDigest(dir, digest string) error {
	return os.WriteFile(filepath.Join(dir, digestName), []byte(digest+"\n"), 0o644)
}

func result(img image.Image, dir string) (Result, error) {
	path := filepath.Join(dir, archiveName)
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return Result{}, fmt.Errorf("%s is damaged: remove it and build again", dir)
	}
	if err != nil {
		return Result{}, err
	}
	digest, err := os.ReadFile(filepath.Join(dir, digestName))
	if err != nil {
		return Result{}, fmt.Errorf("%s is damaged: remove it and build again: %w", dir, err)
	}
	return Result{
		Name: img.Name, Reference: img.Reference,
		Archive: path, Bytes: info.Size(), Digest: strings.TrimSpace(string(digest)),
	}, nil
}
