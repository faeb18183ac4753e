package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"lockstep.dev/lockstep/internal/cli"
	"lockstep.dev/lockstep/internal/cli/compiling"
	"lockstep.dev/lockstep/pkg/compile/diag"
	"lockstep.dev/lockstep/pkg/compile/incremental"
)

func newWatch() *cobra.Command {
	var input compiling.Input
	reports := reportOptions{format: cli.FormatText, failOn: string(diag.Error), input: &input}
	cmd := &cobra.Command{
		Use:   "watch",
		Short: "Build again whenever a spec is saved",
		Long: `watch builds as build does, and again whenever something that it has read is changed: specs, charts, patches, libraries. It
prints what it found and which files it wrote.

A spec that is gone or empty counts as removed after 2 seconds, so that no output is removed while a file is being replaced. Files
that somebody else changed or removed in the output folder are put right within 5 seconds.

Mistakes do not end it: the output stays as it was until they are gone. Ctrl-C ends it, with exit code 0.

Exit codes: 0 ended by Ctrl-C, 1 a failure, 2 a mistake on the command line.`,
		Example: `  runtime-compiler watch
  runtime-compiler watch --cluster local --out /tmp/dist`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return watch(cmd, &input, &reports) },
	}
	input.RegisterFlags(cmd)
	input.RegisterWorkers(cmd)
	cmd.Flags().StringVar(&reports.out, "out", "dist", "output folder")
	return cmd
}

func watch(cmd *cobra.Command, input *compiling.Input, reports *reportOptions) error {
	if err := cmp.Or(input.Validate(), rejectUnsafeOutputFolder(input.Root, reports.out)); err != nil {
		return err
	}
	input.LimitProcessors()
	root, err := input.OpenRoot()
	if err != nil {
		return err
	}
	defer root.Close()
	ctx, stop := signal.NotifyContext(cmd.Context(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	w := &buildWatcher{
		builder: &outputBuilder{ctx: ctx, root: root, options: input.Options(), reports: reports, cache: openBuildCache(root, input, reports.out)},
		input:   input, out: cmd.OutOrStdout(), errs: cmd.ErrOrStderr(),
	}
	if w.files, err = newFileWatcher(input.Root); err != nil {
		fmt.Fprintf(w.errs, "watch looks for changes every %v: %v\n", pollInterval, err)
	}
	defer w.files.close()
	w.run(ctx)
	if w.builder.last != nil {
		w.builder.saveBuildRecord()
	}
	return nil
}

// buildWatcher builds, waits, and builds again.
type buildWatcher struct {
	builder *outputBuilder
	input   *compiling.Input
	files   *fileWatcher
	// inputs are what the last compilation has read, successful or not, and began is when it did, in nanoseconds since 1970.
	inputs    []incremental.Input
	began     int64
	out, errs io.Writer
	// fine says that the last build brought the output up to date.
	fine bool
	// told are the findings or the failure that were told last.
	told string
}

func (w *buildWatcher) run(ctx context.Context) {
	why, more := "", true
	for more {
		again, tell := w.build(ctx, why)
		follow := w.builder.all || why == ""
		if follow {
			w.followInputs()
		}
		// Whoever reads what is told may rely on it that a change from now on is noticed, once.
		stale := follow && w.changedMeanwhile()
		tell()
		switch {
		case again:
			why, more = w.files.waitPollInterval(ctx)
		case stale:
			why, more = w.files.waitForChange(ctx, "files that were just read", w)
		default:
			why, more = w.files.waitForChange(ctx, "", w)
		}
	}
}

// followInputs watches what was read.
func (w *buildWatcher) followInputs() {
	w.inputs = nil
	switch {
	case w.builder.recorder != nil:
		w.inputs, _ = w.builder.recorder.Inputs()
	case w.builder.last != nil:
		w.inputs = w.builder.last.Inputs
	}
	w.files.followFolders(w.inputs)
}

// changedMeanwhile reports whether something has changed after it was read and before it was followed, which has no event. A change within the tick of
// the kernel's clock in which it was read shows in no stamp, so all that is as young as the build is read again.
func (w *buildWatcher) changedMeanwhile() bool {
	read := incremental.BuildRecord{Inputs: w.inputs, Began: w.began}
	changed, _ := read.Changed(w.builder.cache)
	return len(changed) > 0
}

// removedInputs implements watched: it compares with what was read.
func (w *buildWatcher) removedInputs(names map[string]bool) bool {
	for i := range w.inputs {
		input := &w.inputs[i]
		if input.Kind != incremental.File || input.Stamp.Size == 0 || len(names) > 0 && !names[input.Path] {
			continue
		}
		if now, err := w.builder.cache.Stamp(input.Path); err == nil && now.Size == 0 {
			return true
		}
	}
	return false
}

// outputIntact implements watched. After a build that has written nothing because of mistakes nobody would put the output right.
func (w *buildWatcher) outputIntact() bool {
	if !w.fine || w.builder.last == nil {
		return true
	}
	intact, _ := w.builder.inspectOutput()
	w.builder.damaged = !intact
	return intact
}

// isRelevant reports whether a change of a file can matter: it was read or missed, or it is in a folder that was listed.
func (w *buildWatcher) isRelevant(name string) bool {
	for i := range w.inputs {
		if input := &w.inputs[i]; input.Path == name || input.Kind == incremental.Folder && input.Path == path.Dir(name) {
			return true
		}
	}
	return false
}

// build builds once. It returns what tells about that, and whether it should be tried again because it could not.
func (w *buildWatcher) build(ctx context.Context, why string) (again bool, tell func()) {
	options := w.input.Options()
	if options.Today != w.builder.options.Today {
		// A new day may bring new findings.
		w.builder.last = nil
	}
	w.builder.options = options
	start := time.Now()
	w.began = start.UnixNano()
	summaries, list, err := w.builder.build(nil)
	took := time.Since(start)
	w.fine = err == nil && list.Errors() == 0
	switch {
	case ctx.Err() != nil:
		return false, func() {}
	case err != nil:
		return true, func() { w.printIfNew(fmt.Sprintf("error: %v\n", err)) }
	}
	w.builder.watching = w.builder.watching || list.Errors() == 0
	return false, func() {
		w.reportFindings(list)
		switch {
		case why == "":
			for _, s := range summaries {
				fmt.Fprintln(w.out, s.buildLine())
			}
			fmt.Fprintln(w.out, "watching; Ctrl-C ends it")
		case list.Errors() == 0:
			w.printBuild(why, took)
		}
	}
}

// maxNamed is how many files are told by name.
const maxNamed = 20

func (w *buildWatcher) printBuild(why string, took time.Duration) {
	written, removed := w.builder.written, w.builder.removed
	if why == pollTick && len(written)+len(removed) == 0 {
		return
	}
	fmt.Fprintf(w.out, "%s: %s: files: %d written, %d removed, in %v\n", time.Now().Format(time.TimeOnly), why, len(written), len(removed), took.Round(100*time.Microsecond))
	for i, name := range append(withPrefix("+ ", written), withPrefix("- ", removed)...) {
		if i == maxNamed {
			fmt.Fprintf(w.out, "  and %d more\n", len(written)+len(removed)-maxNamed)
			return
		}
		fmt.Fprintln(w.out, "  "+name)
	}
}

func withPrefix(prefix string, names []string) []string {
	result := make([]string, len(names))
	for i, name := range names {
		result[i] = prefix + name
	}
	return result
}

// reportFindings tells findings.
func (w *buildWatcher) reportFindings(list *diag.List) {
	var text strings.Builder
	// A strings.Builder takes everything.
	_ = list.WriteText(&text, cli.Palette(w.errs))
	w.printIfNew(text.String())
}

// printIfNew tells what is not what was told last.
func (w *buildWatcher) printIfNew(text string) {
	switch text {
	case w.told:
	case "":
		fmt.Fprintln(w.errs, "no findings any more")
	default:
		_, _ = io.WriteString(w.errs, text)
	}
	w.told = text
}

// repositoryPath returns a path below a folder as the repository names it, or "".
func repositoryPath(folder, name string) string {
	relative, err := filepath.Rel(folder, name)
	if err != nil || strings.HasPrefix(relative, "..") {
		return ""
	}
	return filepath.ToSlash(relative)
}
