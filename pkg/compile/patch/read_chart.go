package patch

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strings"

	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/yaml"

	"lockstep.dev/lockstep/pkg/compile/diag"
	"lockstep.dev/lockstep/pkg/compile/object"
	"lockstep.dev/lockstep/pkg/compile/origin"
	"lockstep.dev/lockstep/pkg/compile/patch/chart"
	"lockstep.dev/lockstep/pkg/compile/plan"
	"lockstep.dev/lockstep/pkg/compile/source"
)

// hookAnnotation marks an object that Helm runs at a moment of an installation instead of keeping it.
const hookAnnotation = "helm.sh/hook"

// The limits that Helm has for packages (pkg/chart/loader), in bytes.
const (
	maxChart = 100 << 20
	maxFile  = 5 << 20
)

// chartReader reads one chart with one set of values, and what it was rendered to.
type chartReader struct {
	root      fs.FS
	component *plan.Component
	list      *diag.List
	// content are the files of the chart.
	content []chart.File
	// told are the mistakes in charts that were reported, by place and words, so that a component that shares one is added to it.
	told map[string]*chartMistake
}

// renderInput returns what the renderer must know.
func (r chartReader) renderInput(files []chart.File, version string) chart.Chart {
	return chart.Chart{
		Files: files, Release: r.component.Release.V, Namespace: r.component.Namespace.V, Kubernetes: version, Values: r.component.Values,
	}
}

// readFiles returns the files of the chart, or nothing after a mistake.
func (r chartReader) readFiles() []chart.File {
	found, missing := fs.Stat(r.root, r.component.Chart.V)
	if missing == nil && !found.IsDir() {
		r.list.Errorf(diag.ChartNotFound, r.component.Chart.At, "`%s` is a file, and a chart is a folder", r.component.Chart.V).
			Helpf("unpack the chart beside it, and name the folder with its Chart.yaml")
		return nil
	}
	files, err := r.walkFiles()
	if errors.Is(missing, fs.ErrNotExist) || err == nil && len(files) == 0 {
		r.reportNotFound()
		return nil
	}
	if err != nil {
		r.reportHelmError(err.Error())
		return nil
	}
	return files
}

// walkFiles reads the chart, within limits.
func (r chartReader) walkFiles() ([]chart.File, error) {
	var files []chart.File
	folder, left := r.component.Chart.V, int64(maxChart)
	err := fs.WalkDir(r.root, folder, func(name string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir():
			return nil
		}
		data, err := source.ReadBounded(r.root, name, min(left, maxFile))
		if err != nil {
			return err
		}
		left -= int64(len(data))
		files = append(files, chart.File{Name: strings.TrimPrefix(name, folder+"/"), Data: data})
		return nil
	})
	slices.SortFunc(files, func(a, b chart.File) int { return strings.Compare(a.Name, b.Name) })
	return files, err
}

// readObjects returns the objects of what was rendered, or reports why there are none.
func (r chartReader) readObjects(rendered chart.Rendered) []object.Node {
	switch {
	case rendered.Failed != "":
		r.reportHelmError(rendered.Failed)
	case rendered.Impure != nil:
		r.reportImpureCall(*rendered.Impure)
	case rendered.Unstable != "":
		_, template, _ := strings.Cut(rendered.Unstable, "/")
		r.reportInChart(diag.ChartNotReproducible, source.WholeFile(r.chartFile(template)), "the template `"+rendered.Unstable+"` gives another result when it is rendered again",
			"sort what has no order, for example `keys .Values.labels | sortAlpha`")
	}
	var roots []object.Node
	for _, document := range rendered.Documents {
		roots = append(roots, r.parseDocuments(document)...)
	}
	return roots
}

// parseDocuments splits rendered text into objects.
func (r chartReader) parseDocuments(rendered chart.Document) []object.Node {
	var roots []object.Node
	reader := utilyaml.NewYAMLReader(bufio.NewReader(strings.NewReader(rendered.Text)))
	for {
		document, err := reader.Read()
		if errors.Is(err, io.EOF) {
			return roots
		}
		if err != nil {
			r.reportHelmError(fmt.Sprintf("split %s: %v", rendered.Name, err))
			return roots
		}
		if root := r.parseObject(rendered.Name, document); root.Kind != object.Nothing {
			roots = append(roots, root)
		}
	}
}

// parseObject returns one document as an object in the release's namespace, or nothing.
func (r chartReader) parseObject(name string, document []byte) object.Node {
	data, err := yaml.YAMLToJSONStrict(document)
	if err != nil {
		r.reportNotYAML(name, document, err)
		return object.Node{}
	}
	if string(data) == "null" {
		return object.Node{}
	}
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.UseNumber()
	var content map[string]any
	if err := decoder.Decode(&content); err != nil {
		r.reportOutputf(name, "a document is not a mapping")
		return object.Node{}
	}
	root := object.FromValue("", content, r.originOfFile(name, ""))
	id := root.ID()
	if id.Kind == "" || id.Name == "" {
		r.reportOutputf(name, "a document has no kind or no metadata.name")
		return object.Node{}
	}
	return r.asInstalled(name, root, id)
}

// originOfFile is the origin of what a file of the chart renders to. Helm names files with the chart's name in front, we with its folder.
func (r chartReader) originOfFile(name, why string) *origin.Origin {
	_, inChart, _ := strings.Cut(name, "/")
	file := r.chartFile(inChart)
	if why == "" {
		why = "rendered from the chart for the release `" + r.component.Release.V + "`" + clusterValuesText(r.component)
	}
	return &origin.Origin{Kind: origin.Rendered, At: source.WholeFile(file), Why: why}
}

func (r chartReader) reportOutputf(name, format string, args ...any) {
	_, template, _ := strings.Cut(name, "/")
	r.reportOutput(name, source.WholeFile(r.chartFile(template)), fmt.Sprintf(format, args...))
}

// asInstalled drops hooks and sets the namespace that an installation would use.
func (r chartReader) asInstalled(name string, root object.Node, id object.ID) object.Node {
	if hook := root.At("metadata", "annotations", hookAnnotation); hook != nil {
		if hook.Text != "test" {
			r.list.Warnf(diag.ChartHook, r.component.Chart.At, "the chart `%s` has a hook, %s, which is left out", r.component.Chart.V, id)
		}
		return object.Node{}
	}
	if id.Namespace == "" && !object.IsClusterScoped(id.Kind) {
		namespace := object.Text("namespace", r.component.Namespace.V, r.originOfFile(name, "the namespace of the release, because the chart names none"))
		root.Get("metadata").Put(namespace)
	}
	return root
}
