package main

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"lockstep.dev/lockstep/internal/cli"
	"lockstep.dev/lockstep/internal/cli/compiling"
	"lockstep.dev/lockstep/pkg/compile"
	"lockstep.dev/lockstep/pkg/compile/diag"
	"lockstep.dev/lockstep/pkg/compile/emit"
)

// compileWay is a way to compile that must not matter.
type compileWay struct {
	name    string
	workers int
	shuffle bool
}

var compileWays = []compileWay{
	{"1 worker, folders as they are listed", 1, false},
	{"8 workers, folders as they are listed", 8, false},
	{"1 worker, folders shuffled", 1, true},
	{"8 workers, folders shuffled", 8, true},
}

// buildVerifier compiles in several ways, compares what comes of it, and compares that with the output folder. It writes nothing.
type buildVerifier struct {
	ctx     context.Context //nolint:containedctx // of one run
	root    *compiling.Root
	options compile.Options
	out     string
	report  io.Writer
}

// compiledBytes are the digests of the files that were compiled.
type compiledBytes map[string][sha256.Size]byte

// verify returns the findings, or an error that says what differs.
func (v *buildVerifier) verify() ([]clusterSummary, *diag.List, error) {
	var first compiledBytes
	var summaries []clusterSummary
	var list *diag.List
	for i, variant := range compileWays {
		files, found, findings, err := v.compile(variant)
		if err != nil || findings.Errors() > 0 {
			return nil, findings, err
		}
		if i == 0 {
			first, summaries, list = files, found, findings
		}
		if err := v.compareBytes(first, files, variant.name); err != nil {
			return nil, nil, err
		}
	}
	return summaries, list, v.compareOutputFolder(first)
}

func (v *buildVerifier) compile(how compileWay) (compiledBytes, []clusterSummary, *diag.List, error) {
	root := v.root.FS()
	if how.shuffle {
		root = shuffledFS{root}
	}
	options := v.options
	options.Workers = how.workers
	files := compiledBytes{}
	var mu sync.Mutex
	summaries, list, err := compileInto(v.ctx, root, options, func(u compile.Unit) error {
		for _, file := range u.Files {
			digest := sha256.Sum256(file.Data)
			mu.Lock()
			files[file.Path] = digest
			mu.Unlock()
		}
		return nil
	}, nil)
	return files, summaries, list, err
}

func (v *buildVerifier) compareBytes(want, got compiledBytes, how string) error {
	if differing := differingFiles(want, got); len(differing) > 0 {
		return fmt.Errorf("not the same bytes with %s: %s. That is a mistake in runtime-compiler: please report it", how, cli.JoinFirst(differing))
	}
	fmt.Fprintf(v.report, "same bytes: %s, %d files\n", how, len(got))
	return nil
}

// compareOutputFolder compares the output folder.
func (v *buildVerifier) compareOutputFolder(want compiledBytes) error {
	got := compiledBytes{}
	for name := range want {
		data, err := os.ReadFile(filepath.Join(v.out, name))
		if err == nil {
			got[name] = sha256.Sum256(data)
		} else if !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("read output: %w", err)
		}
	}
	differing := differingFiles(want, got)
	left, err := v.leftoverFiles(want)
	if err != nil {
		return err
	}
	if differing = append(differing, left...); len(differing) > 0 {
		return fmt.Errorf("`%s` is not what the specs compile to: %s. Run `runtime-compiler build`", v.out, cli.JoinFirst(differing))
	}
	fmt.Fprintf(v.report, "same bytes: the files in `%s`\n", v.out)
	return nil
}

// leftoverFiles returns owned files that are no longer compiled.
func (v *buildVerifier) leftoverFiles(want compiledBytes) ([]string, error) {
	data, err := os.ReadFile(filepath.Join(v.out, emit.Record))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("read output: %w", err)
	}
	var left []string
	for line := range strings.Lines(string(data)) {
		name := strings.TrimSpace(line)
		_, wanted := want[name]
		compiled := v.options.Cluster == "" || strings.HasPrefix(name, v.options.Cluster+"/")
		if name != "" && !strings.HasPrefix(name, "#") && !wanted && compiled {
			left = append(left, name+" is left over")
		}
	}
	return left, nil
}

// differingFiles says in which files two compilations differ, sorted.
func differingFiles(want, got compiledBytes) []string {
	var differing []string
	for _, name := range slices.Sorted(maps.Keys(want)) {
		digest, found := got[name]
		switch {
		case !found:
			differing = append(differing, name+" is missing")
		case digest != want[name]:
			differing = append(differing, name+" differs")
		}
	}
	for _, name := range slices.Sorted(maps.Keys(got)) {
		if _, found := want[name]; !found {
			differing = append(differing, name+" is one too many")
		}
	}
	return differing
}

// shuffledFS is a repository that lists its folders in an order by chance.
type shuffledFS struct{ fs.FS }

func (s shuffledFS) ReadDir(name string) ([]fs.DirEntry, error) {
	entries, err := fs.ReadDir(s.FS, name)
	rand.Shuffle(len(entries), func(i, j int) { entries[i], entries[j] = entries[j], entries[i] }) //nolint:gosec // an order, no secret
	return entries, err
}
