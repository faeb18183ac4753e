package patch

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"

	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/chart/loader"
	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/engine"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/yaml"

	"lockstep.dev/lockstep/pkg/compile/diag"
	"lockstep.dev/lockstep/pkg/compile/object"
	"lockstep.dev/lockstep/pkg/compile/origin"
	"lockstep.dev/lockstep/pkg/compile/plan"
	"lockstep.dev/lockstep/pkg/compile/source"
)

// hookAnnotation marks an object that Helm runs at a moment of an installation instead of keeping it.
const hookAnnotation = "helm.sh/hook"

// rendering is one chart with one set of values.
type rendering struct {
	root      fs.FS
	component plan.Component
	version   string
	list      *diag.List
}

// How often a chart is rendered. The functions `keys` and `values` return the entries of a map in an order that Go chooses each time.
// A map of two entries changes its order in about one of eight cases, so that 64 renderings miss it once in some thousand runs.
const (
	renderings          = 2
	renderingsUnordered = 64
)

// run returns the objects of the chart: its CRDs, then its templates in the order of their names.
func (r rendering) run() []object.Node {
	files := r.read()
	loaded := r.load(files)
	if loaded == nil {
		return nil
	}
	if name, function, found := impureCall(loaded, r.component.Values); found {
		r.list.Errorf(diag.ChartNotReproducible, r.component.Chart.At, "`%s` calls `%s`, whose result changes from run to run or from machine to machine", name, function).
			Helpf("pass the value in `values`, or let something in the cluster create it")
		return nil
	}
	rendered, err := r.templates(loaded)
	if err != nil {
		r.fail(err)
		return nil
	}
	if name := r.unstable(files, rendered); name != "" {
		r.list.Errorf(diag.ChartNotReproducible, r.component.Chart.At, "the template `%s` gives another result when it is rendered again", name).
			Helpf("sort what has no order, for example `keys .Values.labels | sortAlpha`")
		return nil
	}
	var roots []object.Node
	for _, crd := range loaded.CRDObjects() {
		roots = append(roots, r.parse(crd.Filename, string(crd.File.Data))...)
	}
	for _, name := range slices.Sorted(maps.Keys(rendered)) {
		roots = append(roots, r.parse(name, rendered[name])...)
	}
	return roots
}

// unstable renders the chart again and again, each time from its files because a template may change its values, and returns the
// first template that differs, or "".
func (r rendering) unstable(files []*loader.BufferedFile, first map[string]string) string {
	times := renderings
	if callsUnordered(r.load(files)) {
		times = renderingsUnordered
	}
	for range times - 1 {
		loaded := r.load(files)
		if loaded == nil {
			return ""
		}
		again, err := r.templates(loaded)
		if err != nil {
			r.fail(err)
			return ""
		}
		for _, name := range slices.Sorted(maps.Keys(first)) {
			if again[name] != first[name] {
				return name
			}
		}
	}
	return ""
}

// fail reports an error of Helm, whose messages may have several lines, in one.
func (r rendering) fail(err error) {
	message := strings.Join(strings.Fields(err.Error()), " ")
	r.list.Errorf(diag.ChartFails, r.component.Chart.At, "cannot render the chart `%s`: %s", r.component.Chart.V, message)
}

// read returns the files of the chart, or nothing after a mistake.
func (r rendering) read() []*loader.BufferedFile {
	_, missing := fs.Stat(r.root, r.component.Chart.V)
	files, err := r.files()
	if errors.Is(missing, fs.ErrNotExist) || err == nil && len(files) == 0 {
		r.list.Errorf(diag.ChartNotFound, r.component.Chart.At, "there is no chart at `%s`", r.component.Chart.V).
			Helpf("name a folder with a Chart.yaml, relative to the root of the repository")
		return nil
	}
	if err != nil {
		r.fail(err)
		return nil
	}
	return files
}

// load returns the chart, or nil after a mistake.
func (r rendering) load(files []*loader.BufferedFile) *chart.Chart {
	if len(files) == 0 {
		return nil
	}
	loaded, err := loader.LoadFiles(files)
	if err != nil {
		r.fail(err)
		return nil
	}
	return loaded
}

// files reads the chart, within the limits that Helm has for packages. Hidden files are left out, as they are no part of one.
func (r rendering) files() ([]*loader.BufferedFile, error) {
	var files []*loader.BufferedFile
	folder, left := r.component.Chart.V, loader.MaxDecompressedChartSize
	err := fs.WalkDir(r.root, folder, func(name string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() || strings.HasPrefix(entry.Name(), "."):
			return nil
		}
		data, err := source.ReadBounded(r.root, name, min(left, loader.MaxDecompressedFileSize))
		if err != nil {
			return err
		}
		left -= int64(len(data))
		files = append(files, &loader.BufferedFile{Name: strings.TrimPrefix(name, folder+"/"), Data: data})
		return nil
	})
	slices.SortFunc(files, func(a, b *loader.BufferedFile) int { return strings.Compare(a.Name, b.Name) })
	return files, err
}

// templates returns the rendered YAML files by name. It does what `helm template` does: dependencies, values with the chart's schema, capabilities of the cluster version.
func (r rendering) templates(loaded *chart.Chart) (map[string]string, error) {
	if err := dependenciesPresent(loaded); err != nil {
		return nil, err
	}
	values := r.component.Values
	if values == nil {
		values = map[string]any{}
	}
	if err := chartutil.ProcessDependenciesWithMerge(loaded, values); err != nil {
		return nil, fmt.Errorf("process dependencies: %w", err)
	}
	kube, err := chartutil.ParseKubeVersion("v" + r.version + ".0")
	if err != nil {
		return nil, fmt.Errorf("parse cluster version: %w", err)
	}
	if want := loaded.Metadata.KubeVersion; want != "" && !chartutil.IsCompatibleRange(want, kube.String()) {
		return nil, fmt.Errorf("the chart needs Kubernetes %s, the cluster has %s", want, r.version)
	}
	capabilities := chartutil.DefaultCapabilities.Copy()
	capabilities.KubeVersion = *kube
	release := chartutil.ReleaseOptions{Name: r.component.Release.V, Namespace: r.component.Namespace.V, Revision: 1, IsInstall: true}
	input, err := chartutil.ToRenderValues(loaded, values, release, capabilities)
	if err != nil {
		return nil, err
	}
	rendered, err := engine.Render(loaded, input)
	maps.DeleteFunc(rendered, func(name, _ string) bool { return path.Ext(name) != ".yaml" && path.Ext(name) != ".yml" })
	return rendered, err
}

func dependenciesPresent(loaded *chart.Chart) error {
	for _, wanted := range loaded.Metadata.Dependencies {
		present := slices.ContainsFunc(loaded.Dependencies(), func(c *chart.Chart) bool { return c.Name() == wanted.Name })
		if !present {
			return fmt.Errorf("the dependency `%s` is not in the chart's folder charts/: vendor it", wanted.Name)
		}
	}
	return nil
}

// parse splits rendered text into objects.
func (r rendering) parse(name, text string) []object.Node {
	var roots []object.Node
	reader := utilyaml.NewYAMLReader(bufio.NewReader(strings.NewReader(text)))
	for {
		document, err := reader.Read()
		if errors.Is(err, io.EOF) {
			return roots
		}
		if err != nil {
			r.fail(fmt.Errorf("split %s: %w", name, err))
			return roots
		}
		if root := r.object(name, document); root.Kind != object.Nothing {
			roots = append(roots, root)
		}
	}
}

// object returns one document as an object in the release's namespace, or nothing.
func (r rendering) object(name string, document []byte) object.Node {
	data, err := yaml.YAMLToJSONStrict(document)
	if err != nil {
		r.badOutput(name, "%v", err)
		return object.Node{}
	}
	if string(data) == "null" {
		return object.Node{}
	}
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.UseNumber()
	var content map[string]any
	if err := decoder.Decode(&content); err != nil {
		r.badOutput(name, "a document is not a mapping")
		return object.Node{}
	}
	root := object.FromValue("", content, r.from(name, ""))
	id := root.ID()
	if id.Kind == "" || id.Name == "" {
		r.badOutput(name, "a document has no kind or no metadata.name")
		return object.Node{}
	}
	return r.place(name, root, id)
}

// from is the origin of what a file of the chart renders to. Helm names files with the chart's name in front, we with its folder.
func (r rendering) from(name, why string) *origin.Origin {
	_, inChart, _ := strings.Cut(name, "/")
	file := &source.File{Path: path.Join(r.component.Chart.V, inChart)}
	if why == "" {
		why = "rendered from the chart for the release `" + r.component.Release.V + "`"
	}
	return &origin.Origin{Kind: origin.Rendered, At: source.Whole(file), Why: why}
}

func (r rendering) badOutput(name, format string, args ...any) {
	message := strings.Join(strings.Fields(fmt.Sprintf(format, args...)), " ")
	r.list.Errorf(diag.ChartOutput, r.component.Chart.At, "`%s` does not render to Kubernetes objects: %s", name, message)
}

// place drops hooks and sets the namespace that an installation would use.
func (r rendering) place(name string, root object.Node, id object.ID) object.Node {
	if hook := root.At("metadata", "annotations", hookAnnotation); hook != nil {
		if hook.Text != "test" {
			r.list.Warnf(diag.ChartHook, r.component.Chart.At, "the chart `%s` has a hook, %s, which is left out", r.component.Chart.V, id)
		}
		return object.Node{}
	}
	if id.Namespace == "" && !object.ClusterScoped(id.Kind) {
		namespace := object.Text("namespace", r.component.Namespace.V, r.from(name, "the namespace of the release, because the chart names none"))
		root.Get("metadata").Put(namespace)
	}
	return root
}
