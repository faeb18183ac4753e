package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"lockstep.dev/lockstep/pkg/compile"
	"lockstep.dev/lockstep/pkg/compile/diag"
	"lockstep.dev/lockstep/pkg/compile/emit"
	"lockstep.dev/lockstep/pkg/compile/emit/disk"
	"lockstep.dev/lockstep/pkg/compile/source"
)

func newBuild() *cobra.Command {
	var input inputFlags
	var out string
	cmd := &cobra.Command{
		Use:   "build",
		Short: "Compile the specs into one folder per cluster",
		Long: `build writes <out>/<cluster>/ for every cluster, or for the one named with --cluster. It writes nothing if there is a
mistake. Files whose content is right are not rewritten; files that it wrote earlier and that are no longer compiled are removed;
other files are never touched.`,
		Example: `  runtime-compiler build
  runtime-compiler build --cluster local --out /tmp/dist
  runtime-compiler build -o json | jq .clusters`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return build(cmd, &input, out) },
	}
	input.register(cmd)
	cmd.Flags().StringVar(&out, "out", "dist", "output folder")
	return cmd
}

func build(cmd *cobra.Command, input *inputFlags, out string) error {
	asJSON, err := input.json()
	if err != nil {
		return err
	}
	if err := separate(input.root, out); err != nil {
		return err
	}
	root, err := input.open()
	if err != nil {
		return err
	}
	defer root.Close()
	clusters, list := compile.Compile(root.FS(), compile.Options{Cluster: input.cluster})
	var summaries []clusterSummary
	if list.Errors() == 0 {
		summaries, err = write(clusters, input.cluster, out, list)
	}
	if err != nil {
		return failure{err}
	}
	return tell(cmd, asJSON, list, summaries, func(s clusterSummary) string {
		return fmt.Sprintf("%s: %d objects, files: %d written, %d unchanged, %d removed", s.Name, s.Objects, s.Written, s.Unchanged, s.Removed)
	})
}

// write brings the output folder up to date and returns what happened per cluster. A build of one cluster keeps the others.
func write(clusters []compile.Cluster, only, out string, list *diag.List) ([]clusterSummary, error) {
	dir, err := disk.Open(out)
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	var files []emit.File
	for _, c := range clusters {
		files = append(files, c.Files...)
	}
	keep := func(path string) bool { return only != "" && !strings.HasPrefix(path, only+"/") }
	result, err := emit.Write(dir, files, keep)
	if err != nil {
		return nil, err
	}
	if len(result.Foreign) > 0 {
		reportForeign(result.Foreign, out, list)
		return nil, nil
	}
	return count(summarize(clusters), result), nil
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
