package main

import (
	"context"

	"lockstep.dev/lockstep/internal/cli/compiling"
	"lockstep.dev/lockstep/pkg/compile"
	"lockstep.dev/lockstep/pkg/compile/diag"
)

// outputBuilder brings an output folder up to date with a repository.
type outputBuilder struct {
	ctx     context.Context //nolint:containedctx // of one run
	root    *compiling.Root
	options compile.Options
	reports *reportOptions
}

// build compiles everything and writes the files that differ.
func (b *outputBuilder) build(progress func(done, of int)) ([]clusterSummary, *diag.List, error) {
	out := &outputFolder{name: b.reports.out}
	defer out.close()
	summaries, list, err := compileInto(b.ctx, b.root.FS(), b.options, out.add, progress)
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
	return addFileCounts(summaries, result), list, nil
}
