package main

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"os"
	"os/signal"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"lockstep.dev/lockstep/pkg/compile"
	"lockstep.dev/lockstep/pkg/compile/diag"
	"lockstep.dev/lockstep/pkg/compile/emit"
	"lockstep.dev/lockstep/pkg/compile/emit/disk"
	"lockstep.dev/lockstep/pkg/compile/incremental"
	"lockstep.dev/lockstep/pkg/compile/source"
)

func newBuild() *cobra.Command {
	var input inputFlags
	var reports reporting
	cmd := &cobra.Command{
		Use:   "build",
		Short: "Compile the specs into one folder per cluster",
		Long: `build writes <out>/<cluster>/ for every cluster, or for the one named with --cluster. It writes nothing if there is a
mistake, or a warning with --fail-on warning. Files whose content is right are not rewritten; files that it wrote earlier and that
are no longer compiled are removed; other files are never touched.

All changes come into the output folder at once: whenever the build is interrupted, there is the old tree or the new one.

Exit codes: 0 fine, 1 a mistake in the specs or a failure, 2 a mistake on the command line, 3 warnings with --fail-on warning.`,
		Example: `  runtime-compiler build
  runtime-compiler build --cluster local --out /tmp/dist
  runtime-compiler build --format json | jq .clusters`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return build(cmd, &input, &reports) },
	}
	input.register(cmd)
	input.registerWorkers(cmd)
	reports.register(cmd, &input)
	cmd.Flags().StringVar(&reports.out, "out", "dist", "output folder")
	return cmd
}

func build(cmd *cobra.Command, input *inputFlags, reports *reporting) error {
	if err := cmp.Or(reports.validate(), input.validate()); err != nil {
		return err
	}
	if err := separate(input.root, reports.out); err != nil {
		return err
	}
	root, err := input.open()
	if err != nil {
		return err
	}
	defer root.Close()
	ctx, stop := signal.NotifyContext(cmd.Context(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	b := builder{ctx: ctx, root: root, options: input.options(), reports: reports, memory: remember(root, input, reports.out)}
	shown := newProgress(cmd.ErrOrStderr())
	summaries, list, err := b.build(shown.tell)
	shown.clear()
	if err != nil {
		return failure{err}
	}
	return reports.tell(cmd, list, summaries, func(s clusterSummary) string {
		return fmt.Sprintf("%s: %d objects, files: %d written, %d unchanged, %d removed", s.Name, s.Objects, s.Written, s.Unchanged, s.Removed)
	})
}

// builder brings an output folder up to date with a repository.
type builder struct {
	ctx     context.Context //nolint:containedctx // of one run
	root    *os.Root
	options compile.Options
	reports *reporting
	memory  remembered
}

// build does as little as it can: nothing where nothing changed, all otherwise.
func (b *builder) build(progress func(done, of int)) ([]clusterSummary, *diag.List, error) {
	began := time.Now().UnixNano()
	if last := b.memory.recall(b.options); last != nil {
		if summaries, list, err := b.little(last, began); list != nil || err != nil {
			return summaries, list, err
		}
	}
	return b.everything(began, progress)
}

// everything compiles all units.
func (b *builder) everything(began int64, progress func(done, of int)) ([]clusterSummary, *diag.List, error) {
	out := &output{name: b.reports.out, sums: map[string]uint32{}}
	defer out.close()
	recorder := incremental.Record(b.root.FS(), func(name string) bool { return strings.HasPrefix(name, compile.TenantFolder) })
	summaries, list, err := compileInto(b.ctx, recorder, b.options, out.add, progress)
	if err != nil || b.reports.verdict(list) != nil {
		return summaries, list, err
	}
	summaries, err = out.finish(b.options.Cluster, summaries, list)
	if err == nil && list.Errors() == 0 {
		b.keep(began, recorder, out, summaries, list)
	}
	return summaries, list, err
}

// keep leaves what the next build must know to do less.
func (b *builder) keep(began int64, recorder *incremental.Recorder, out *output, summaries []clusterSummary, list *diag.List) {
	inputs, complete := recorder.Inputs()
	if !complete {
		return
	}
	m := &incremental.Memory{Began: began, Ended: time.Now().UnixNano(), Inputs: inputs, Findings: list.Sorted()}
	for _, s := range summaries {
		if s.Objects > 0 {
			m.Clusters = append(m.Clusters, incremental.Cluster{Name: s.Name, Objects: s.Objects, Files: s.Written + s.Unchanged})
		}
	}
	tree := made(b.reports.out)
	out.sums[emit.Record], _ = tree.Sum(emit.Record)
	for _, name := range slices.Sorted(maps.Keys(out.sums)) {
		stamp, err := tree.Stamp(name)
		if err != nil || stamp == incremental.Absent {
			return
		}
		m.Outputs = append(m.Outputs, incremental.Output{Path: name, Stamp: stamp, Sum: out.sums[name]})
	}
	b.memory.save(m, b.options)
}

// output is the output folder of a build. It is opened when the first file comes: mistakes in specs leave no trace there.
type output struct {
	name string

	once   sync.Once
	err    error
	dir    *disk.Dir
	writer *emit.Writer

	mu sync.Mutex
	// sums are the checksums of what is compiled.
	sums map[string]uint32
}

func (o *output) open() error {
	o.once.Do(func() {
		if o.dir, o.err = disk.Open(o.name); o.err == nil {
			o.writer, o.err = emit.NewWriter(o.dir)
		}
	})
	return o.err
}

func (o *output) add(u compile.Unit) error {
	if err := o.open(); err != nil {
		return err
	}
	o.mu.Lock()
	for _, file := range u.Files {
		o.sums[file.Path] = incremental.Sum(file.Data)
	}
	o.mu.Unlock()
	return o.writer.Add(u.Files)
}

// finish brings the folder up to date and adds to the summaries what happened. A build of one cluster keeps the others.
func (o *output) finish(only string, summaries []clusterSummary, list *diag.List) ([]clusterSummary, error) {
	if err := o.open(); err != nil {
		return nil, err
	}
	keep := func(path string) bool { return only != "" && !strings.HasPrefix(path, only+"/") }
	result, err := o.writer.Finish(keep)
	if err != nil {
		return nil, err
	}
	if len(result.Foreign) > 0 {
		reportForeign(result.Foreign, o.name, list)
		return nil, nil
	}
	return count(summaries, result), nil
}

func (o *output) close() {
	if o.dir != nil {
		// What is left goes with the next build.
		_ = o.dir.Close()
	}
}

func reportForeign(paths []string, out string, list *diag.List) {
	for _, path := range paths {
		list.Errorf(diag.ForeignFile, source.Whole(&source.File{Path: out + "/" + path}), "the file is in the way and was not written by runtime-compiler").
			Helpf("move it away, or remove it if it is stale")
	}
}

// count adds the files of a result to the clusters that they belong to. A cluster that is gone has its own line.
func count(summaries []clusterSummary, result emit.Result) []clusterSummary {
	index := map[string]int{}
	for i, s := range summaries {
		index[s.Name] = i
	}
	of := func(path string) *clusterSummary {
		name, _, _ := strings.Cut(path, "/")
		if _, found := index[name]; !found {
			index[name] = len(summaries)
			summaries = append(summaries, clusterSummary{Name: name})
		}
		return &summaries[index[name]]
	}
	for _, path := range result.Written {
		of(path).Written++
	}
	for _, path := range result.Unchanged {
		of(path).Unchanged++
	}
	for _, path := range result.Removed {
		of(path).Removed++
	}
	return summaries
}
