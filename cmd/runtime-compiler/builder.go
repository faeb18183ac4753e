package main

import (
	"context"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"lockstep.dev/lockstep/pkg/compile"
	"lockstep.dev/lockstep/pkg/compile/diag"
	"lockstep.dev/lockstep/pkg/compile/emit"
	"lockstep.dev/lockstep/pkg/compile/incremental"
)

// builder brings an output folder up to date with a repository.
type builder struct {
	ctx     context.Context //nolint:containedctx // of one run
	root    *os.Root
	options compile.Options
	reports *reporting
	memory  remembered

	// last is what the last build that wrote something, or found that nothing was to be written, has left.
	last *incremental.Memory
	// again is what tenants share; nil means that it was not read since it changed.
	again *compile.Again
	// watching says that this builder stays: whoever watches looks at the output now and then, and memories are saved at the end.
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

// build does as little as it can: nothing where nothing changed, tenants that changed alone, everything otherwise.
func (b *builder) build(progress func(done, of int)) ([]clusterSummary, *diag.List, error) {
	began := time.Now().UnixNano()
	b.written, b.removed, b.all = nil, nil, false
	if b.last == nil {
		b.last = b.memory.recall(b.options)
	}
	if b.last != nil {
		if summaries, list, err := b.little(began); list != nil || err != nil {
			b.recorder = nil
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
	summaries = count(summaries, result)
	b.keep(began, recorder, out, summaries, list)
	return summaries, list, nil
}

// keep leaves what the next build must know to do less.
func (b *builder) keep(began int64, recorder *incremental.Recorder, out *output, summaries []clusterSummary, list *diag.List) {
	b.last, b.again = nil, nil
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
	tree := look(b.reports.out)
	defer tree.close()
	out.sums[emit.Record], _ = tree.Sum(emit.Record)
	for _, name := range slices.Sorted(maps.Keys(out.sums)) {
		stamp, err := tree.Stamp(name)
		if err != nil || stamp == incremental.Absent {
			return
		}
		m.Outputs = append(m.Outputs, incremental.Output{Path: name, Stamp: stamp, Sum: out.sums[name]})
	}
	b.last, b.recorder = m, nil
	b.save()
}

// save lets the next process know what this one has done.
func (b *builder) save() {
	if b.last != nil {
		b.memory.save(b.last, b.options)
	}
}
