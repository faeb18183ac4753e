package main

import (
	"strings"
	"sync"

	"lockstep.dev/lockstep/pkg/compile"
	"lockstep.dev/lockstep/pkg/compile/diag"
	"lockstep.dev/lockstep/pkg/compile/emit"
	"lockstep.dev/lockstep/pkg/compile/emit/disk"
	"lockstep.dev/lockstep/pkg/compile/source"
)

// outputFolder is the output folder of a build. It is opened when the first file comes: mistakes in specs leave no trace there.
type outputFolder struct {
	name string

	once   sync.Once
	err    error
	dir    *disk.Dir
	writer *emit.Writer
}

func (o *outputFolder) open() error {
	o.once.Do(func() {
		if o.dir, o.err = disk.Open(o.name); o.err == nil {
			o.writer, o.err = emit.NewWriter(o.dir)
		}
	})
	return o.err
}

func (o *outputFolder) add(u compile.Unit) error {
	if err := o.open(); err != nil {
		return err
	}
	return o.writer.Add(u.Files)
}

// finish brings the folder up to date. A build of one cluster keeps the others.
func (o *outputFolder) finish(only string) (emit.Result, error) {
	if err := o.open(); err != nil {
		return emit.Result{}, err
	}
	return o.writer.Finish(func(path string) bool { return only != "" && !strings.HasPrefix(path, only+"/") })
}

func (o *outputFolder) close() {
	if o.dir != nil {
		// What is left goes with the next build.
		_ = o.dir.Close()
	}
}

func reportForeign(paths []string, out string, list *diag.List) {
	for _, path := range paths {
		list.Errorf(diag.ForeignFile, source.WholeFile(&source.File{Path: out + "/" + path}), "the file is in the way and was not written by runtime-compiler").
			Helpf("move it away, or remove it if it is stale")
	}
}

// addFileCounts adds the files of a result to the clusters that they belong to. A cluster that is gone has its own line.
func addFileCounts(summaries []clusterSummary, result emit.Result) []clusterSummary {
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
