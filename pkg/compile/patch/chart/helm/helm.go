// Package helm renders charts with the Helm SDK, as `helm template` does: without a cluster, without hooks, and without functions that
// give another result on another day.
//
// It is apart from its callers because the SDK costs every program that links it 10 ms of processor time and 18 MB of memory at each
// start: validators and types that are initialised whether or not they are used. Only runtime-compiler-charts and tests import it.
package helm

import (
	"fmt"
	"maps"
	"path"
	"slices"

	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/chart/loader"
	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/engine"

	border "lockstep.dev/lockstep/pkg/compile/patch/chart"
)

// Renderer implements chart.Renderer.
type Renderer struct{}

// How often a chart is rendered. The functions `keys` and `values` return the entries of a map in an order that Go chooses each time.
// A map of two entries changes its order in about one of eight cases, so that 64 renderings miss it once in some thousand runs.
const (
	renderings          = 2
	renderingsUnordered = 64
)

// Render implements chart.Renderer.
func (Renderer) Render(charts []border.Chart) []border.Rendered {
	rendered := make([]border.Rendered, len(charts))
	for i, c := range charts {
		var err error
		if rendered[i], err = renderChart(c); err != nil {
			rendered[i] = border.Rendered{Failed: err.Error()}
		}
	}
	return rendered
}

func renderChart(c border.Chart) (border.Rendered, error) {
	loaded, err := loadChart(c)
	if err != nil {
		return border.Rendered{}, err
	}
	if name, function, found := impureCall(loaded, c.Values); found {
		return border.Rendered{Impure: &border.FunctionCall{Where: name, Function: function}}, nil
	}
	rendered, err := renderTemplates(c, loaded)
	if err != nil {
		return border.Rendered{}, err
	}
	if name, err := firstUnstableTemplate(c, rendered); err != nil || name != "" {
		return border.Rendered{Unstable: name}, err
	}
	var result border.Rendered
	for _, crd := range loaded.CRDObjects() {
		result.Documents = append(result.Documents, border.Document{Name: crd.Filename, Text: string(crd.File.Data)})
	}
	for _, name := range slices.Sorted(maps.Keys(rendered)) {
		result.Documents = append(result.Documents, border.Document{Name: name, Text: rendered[name]})
	}
	return result, nil
}

// loadChart parses the files of a chart. That is done for each rendering, because a template may change the values of its chart.
func loadChart(c border.Chart) (*chart.Chart, error) {
	files := make([]*loader.BufferedFile, len(c.Files))
	for i, f := range c.Files {
		files[i] = &loader.BufferedFile{Name: f.Name, Data: f.Data}
	}
	return loader.LoadFiles(files)
}

// firstUnstableTemplate renders the chart again and again, and returns the first template that differs, or "".
func firstUnstableTemplate(c border.Chart, first map[string]string) (string, error) {
	for i, times := 1, renderings; i < times; i++ {
		loaded, err := loadChart(c)
		if err != nil {
			return "", err
		}
		if callsUnordered(loaded) {
			times = renderingsUnordered
		}
		again, err := renderTemplates(c, loaded)
		if err != nil {
			return "", err
		}
		for _, name := range slices.Sorted(maps.Keys(first)) {
			if again[name] != first[name] {
				return name, nil
			}
		}
	}
	return "", nil
}

// renderTemplates returns the rendered YAML files by name. It does what `helm template` does: dependencies, values with the chart's schema, capabilities of the cluster version.
func renderTemplates(c border.Chart, loaded *chart.Chart) (map[string]string, error) {
	if err := checkDependenciesPresent(loaded); err != nil {
		return nil, err
	}
	values := map[string]any(c.Values)
	if values == nil {
		values = map[string]any{}
	}
	if err := chartutil.ProcessDependenciesWithMerge(loaded, values); err != nil {
		return nil, fmt.Errorf("process dependencies: %w", err)
	}
	kube, err := chartutil.ParseKubeVersion("v" + c.Kubernetes + ".0")
	if err != nil {
		return nil, fmt.Errorf("parse cluster version: %w", err)
	}
	if want := loaded.Metadata.KubeVersion; want != "" && !chartutil.IsCompatibleRange(want, kube.String()) {
		return nil, fmt.Errorf("the chart needs Kubernetes %s, the cluster has %s", want, c.Kubernetes)
	}
	capabilities := chartutil.DefaultCapabilities.Copy()
	capabilities.KubeVersion = *kube
	release := chartutil.ReleaseOptions{Name: c.Release, Namespace: c.Namespace, Revision: 1, IsInstall: true}
	// The SDK's own validation would load whatever a schema refers to.
	input, err := chartutil.ToRenderValuesWithSchemaValidation(loaded, values, release, capabilities, true)
	if err != nil {
		return nil, err
	}
	if err := validateValues(loaded, input["Values"].(chartutil.Values)); err != nil { //nolint:forcetypeassert // the SDK has just made it
		return nil, err
	}
	rendered, err := engine.Render(loaded, input)
	maps.DeleteFunc(rendered, func(name, _ string) bool { return path.Ext(name) != ".yaml" && path.Ext(name) != ".yml" })
	return rendered, err
}

func checkDependenciesPresent(loaded *chart.Chart) error {
	for _, wanted := range loaded.Metadata.Dependencies {
		present := slices.ContainsFunc(loaded.Dependencies(), func(c *chart.Chart) bool { return c.Name() == wanted.Name })
		if !present {
			return fmt.Errorf("the dependency `%s` is not in the chart's folder charts/: vendor it", wanted.Name)
		}
	}
	return nil
}
