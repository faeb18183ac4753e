package main

import (
	"context"
	"io/fs"

	"lockstep.dev/lockstep/internal/sandbox"
	"lockstep.dev/lockstep/pkg/compile"
	"lockstep.dev/lockstep/pkg/compile/diag"
)

// compileInto compiles unit by unit, so that a large repository is never in memory as a whole, and counts the objects. Prepare gets
// every unit, several at a time; nil means that nobody wants them. There are no summaries if the list holds an error.
func compileInto(ctx context.Context, root fs.FS, options compile.Options, prepare func(compile.Unit) error, progress func(done, of int)) ([]clusterSummary, *diag.List, error) {
	options.Prepare, options.Progress = prepare, progress
	var summaries []clusterSummary
	list, err := compile.Stream(root, options, func(u compile.Unit) error {
		if len(summaries) == 0 || summaries[len(summaries)-1].Name != u.Cluster {
			summaries = append(summaries, clusterSummary{Name: u.Cluster})
		}
		summaries[len(summaries)-1].Objects += len(u.Objects)
		if ctx.Err() != nil {
			return sandbox.ErrInterrupted
		}
		return nil
	})
	if list.Errors() > 0 {
		summaries = nil
	}
	if err == nil && ctx.Err() != nil {
		err = sandbox.ErrInterrupted // whatever was found because processes were ended
	}
	return summaries, list, err
}
