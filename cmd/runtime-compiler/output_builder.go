package main

import (
	"context"
	"maps"
	"slices"
	"time"

	"lockstep.dev/lockstep/internal/cli/compiling"
	"lockstep.dev/lockstep/pkg/compile"
	"lockstep.dev/lockstep/pkg/compile/diag"
	"lockstep.dev/lockstep/pkg/compile/emit"
	"lockstep.dev/lockstep/pkg/compile/emit/disk"
	"lockstep.dev/lockstep/pkg/compile/incremental"
)

// outputBuilder brings an output folder up to date with a repository.
type outputBuilder struct {
	ctx     context.Context //nolint:containedctx // of one run
	root    *compiling.Root
	options compile.Options
	reports *reportOptions
	cache   buildCache

	// last is what the last build that wrote something, or found that nothing was to be written, has left.
	last *incremental.BuildRecord
	// watching says that this builder stays: whoever watches looks at the output now and then, and records are saved at the end.
	watching bool
	// damaged says that the output was found to be not what the last build has left.
	damaged bool
	// all says that the last build compiled everything.
	all bool
	// recorder is what the last compilation of everything has read; nil means that what last says is still so.
	recorder *incremental.Recorder
	// written and removed are the files the last build wrote or removed.
	written, removed []string
}

// build compiles everything, or nothing where nothing changed.
func (b *outputBuilder) build(progress func(done, of int)) ([]clusterSummary, *diag.List, error) {
	began := time.Now().UnixNano()
	b.written, b.removed, b.all = nil, nil, false
	if b.last == nil {
		b.last = b.cache.load(b.options)
	}
	if b.last != nil {
		if list := b.upToDate(began); list != nil {
			b.recorder = nil
			return b.summariesOfLastBuild(list), list, nil
		}
	}
	return b.buildEverything(began, progress)
}

// upToDate returns what the last build has found, if nothing has changed since, neither what it read nor what it wrote; nil otherwise.
func (b *outputBuilder) upToDate(began int64) *diag.List {
	changed, reread := b.last.Changed(b.cache)
	if len(changed) > 0 {
		return nil
	}
	intact, compared := b.outputUntouched()
	if !intact {
		return nil
	}
	if reread || compared {
		b.last.Began, b.last.Ended = began, began
		b.saveBuildRecord()
	}
	list := &diag.List{}
	for _, d := range b.last.Findings {
		*list.Warnf(d.Code, d.Span, "") = *d
	}
	return list
}

// outputUntouched reports whether the output is as the last build has left it, and whether that was hard to say.
func (b *outputBuilder) outputUntouched() (intact, compared bool) {
	switch {
	case b.damaged:
		return false, false
	case b.watching:
		return true, false
	}
	return b.inspectOutput()
}

// inspectOutput looks at the whole output.
func (b *outputBuilder) inspectOutput() (intact, compared bool) {
	if disk.WasInterrupted(b.reports.out) {
		return false, false
	}
	tree := openOutputTree(b.reports.out)
	defer tree.close()
	return b.last.Intact(tree)
}

// summariesOfLastBuild counts what there is of the last build.
func (b *outputBuilder) summariesOfLastBuild(list *diag.List) []clusterSummary {
	var summaries []clusterSummary
	for _, c := range b.last.Clusters {
		s := clusterSummary{Name: c.Name, Objects: c.Objects}
		if b.reports.verdict(list) == nil {
			s.Unchanged = c.Files
		}
		summaries = append(summaries, s)
	}
	return summaries
}

// buildEverything compiles all units.
func (b *outputBuilder) buildEverything(began int64, progress func(done, of int)) ([]clusterSummary, *diag.List, error) {
	out := &outputFolder{name: b.reports.out, sums: map[string]uint32{}}
	defer out.close()
	recorder := incremental.NewRecorder(b.root.FS())
	b.recorder, b.all = recorder, true
	summaries, list, err := compileInto(b.ctx, recorder, b.options, out.add, progress)
	if err != nil || b.reports.verdict(list) != nil {
		return summaries, list, err
	}
	result, err := out.finish(b.options.Cluster)
	if err != nil {
		return nil, nil, err
	}
	if len(result.Foreign) > 0 {
		reportForeign(result.Foreign, b.reports.out, list)
		return nil, list, nil
	}
	b.written, b.removed, b.damaged = result.Written, result.Removed, false
	summaries = addFileCounts(summaries, result)
	b.rememberBuild(began, recorder, out, summaries, list)
	return summaries, list, nil
}

// rememberBuild leaves what the next build must know to do less.
func (b *outputBuilder) rememberBuild(began int64, recorder *incremental.Recorder, out *outputFolder, summaries []clusterSummary, list *diag.List) {
	b.last = nil
	inputs, complete := recorder.Inputs()
	if !complete {
		return
	}
	m := &incremental.BuildRecord{Began: began, Ended: time.Now().UnixNano(), Inputs: inputs, Findings: list.Sorted()}
	for _, s := range summaries {
		if s.Objects > 0 {
			m.Clusters = append(m.Clusters, incremental.ClusterCounts{Name: s.Name, Objects: s.Objects, Files: s.Written + s.Unchanged})
		}
	}
	tree := openOutputTree(b.reports.out)
	defer tree.close()
	out.sums[emit.Record], _ = tree.Sum(emit.Record)
	for _, name := range slices.Sorted(maps.Keys(out.sums)) {
		stamp, err := tree.Stamp(name)
		if err != nil || stamp == incremental.Absent {
			return
		}
		m.Outputs = append(m.Outputs, incremental.OutputFile{Path: name, Stamp: stamp, Sum: out.sums[name]})
	}
	b.last, b.recorder = m, nil
	b.saveBuildRecord()
}

// saveBuildRecord lets the next process know what this one has done.
func (b *outputBuilder) saveBuildRecord() {
	if b.last != nil {
		b.cache.save(b.last, b.options)
	}
}
