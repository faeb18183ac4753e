package main

import (
	"cmp"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"sync"
	"syscall"

	"github.com/spf13/cobra"

	"lockstep.dev/lockstep/pkg/compile"
	"lockstep.dev/lockstep/pkg/compile/diag"
	"lockstep.dev/lockstep/pkg/compile/emit"
	"lockstep.dev/lockstep/pkg/compile/emit/disk"
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

	out := &output{name: reports.out}
	defer out.close()
	shown := newProgress(cmd.ErrOrStderr())
	summaries, list, err := compileInto(ctx, root.FS(), input.options(), out.add, shown.tell)
	shown.clear()
	if err != nil {
		return failure{err}
	}
	if reports.verdict(list) == nil {
		summaries, err = out.finish(input.cluster, summaries, list)
	}
	if err != nil {
		return failure{err}
	}
	return reports.tell(cmd, list, summaries, func(s clusterSummary) string {
		return fmt.Sprintf("%s: %d objects, files: %d written, %d unchanged, %d removed", s.Name, s.Objects, s.Written, s.Unchanged, s.Removed)
	})
}

// output is the output folder of a build. It is opened when the first file comes: mistakes in specs leave no trace there.
type output struct {
	name string

	once   sync.Once
	err    error
	dir    *disk.Dir
	writer *emit.Writer
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
