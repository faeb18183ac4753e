// Package chart is the border between the compiler and Helm: charts go over it as files and values, and come back as text.
//
// Helm is in package helm below, and in no program but runtime-compiler-charts, which runs Serve. The compiler starts that program where
// a repository has charts, with limits (SubprocessRenderer), so that a template that nobody has reviewed can neither crash nor occupy it, and so that
// a run without charts does not pay for Helm; see docs/decisions/2026-11-21-charts-apart.md.
//
// The border is a pipe with a JSON value per chart and a JSON value per result. Each side trusts the other's form, not its content:
// what is rendered is read as strictly as what people write (package patch).
package chart

// File is a file of a chart.
type File struct {
	// Name is relative to the folder of the chart, with slashes.
	Name string
	Data []byte
}

// Chart is all that a rendering depends on.
type Chart struct {
	Files              []File
	Release, Namespace string
	// Kubernetes is the version of the cluster, as 1.36.
	Kubernetes string
	Values     Values
}

// Rendered is what became of a chart: documents, or the one reason why there are none.
type Rendered struct {
	// Documents are the files of CRDs, then the templates in the order of their names. Each may hold several objects.
	Documents []Document
	// Failed is what Helm says.
	Failed string
	// Impure is a call of a function whose result changes from run to run.
	Impure *FunctionCall
	// Unstable is a template that gave another result when it was rendered again.
	Unstable string
}

// Document is a file of YAML.
type Document struct {
	// Name begins with the name of the chart: app/templates/a.yaml.
	Name, Text string
}

// FunctionCall is where a function is called.
type FunctionCall struct{ Where, Function string }

// Renderer renders charts, each on its own, and returns as many results.
type Renderer interface {
	Render(charts []Chart) []Rendered
}
