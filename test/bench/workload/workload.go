// Package workload writes a repository of specs as a large organisation would have it: catalog/, tenants/ and overlays/, and
// beside them the inputs with which other tools make the same objects.
//
// What varies is drawn in Go (tenant.go, catalog.go, cluster.go); how a spec looks stands in specs/*.yaml.tmpl, one template per
// kind. A field that the compiler learns is added there, and with it to the inputs of the other tools in peers/, which read
// the very specs that were written here.
//
// The same options give the same bytes. A tenant depends on the seed and its number only: the first ten of a thousand tenants
// are the ten of a workload of ten, so that a growth in numbers is a growth of nothing else.
package workload

import (
	"bytes"
	"embed"
	"fmt"
	"os"
	"path/filepath"
	"text/template"
)

// Options say what to write.
type Options struct {
	// Tenants is the number of tenants, at least 1.
	Tenants int
	// Clusters is the number of clusters, at least 1. Every tenant works on all of them.
	Clusters int
	// Seed selects one of many workloads of the same size.
	Seed uint64
}

// Valid returns an error that says which option is wrong.
func (o Options) Valid() error {
	switch {
	case o.Tenants < 1:
		return fmt.Errorf("%d tenants: there must be at least 1", o.Tenants)
	case o.Clusters < 1:
		return fmt.Errorf("%d clusters: there must be at least 1", o.Clusters)
	}
	return nil
}

// Workload is what Generate wrote.
type Workload struct {
	// Clusters and Tenants are names: clusters as in overlays/, tenants in the order of their numbers.
	Clusters, Tenants []string
	// TenantFiles are the paths of the tenants' specs below the root, in the same order.
	TenantFiles []string
	// Files is the number of spec files.
	Files int
}

//go:embed specs/*.yaml.tmpl
var specFiles embed.FS

var specs = template.Must(template.New("").Funcs(template.FuncMap{"gi": gi}).ParseFS(specFiles, "specs/*.yaml.tmpl"))

// gi writes a number of Gi as Kubernetes prints it, so that no tool has to convert a quantity.
func gi(n int) string {
	if n%1024 == 0 {
		return fmt.Sprintf("%dTi", n/1024)
	}
	return fmt.Sprintf("%dGi", n)
}

// Generate writes the specs below a folder, which must be empty or not exist: what is left of an earlier workload would be
// compiled too.
func Generate(root string, o Options) (*Workload, error) {
	if err := o.Valid(); err != nil {
		return nil, err
	}
	if entries, err := os.ReadDir(root); err == nil && len(entries) > 0 {
		return nil, fmt.Errorf("write workload: `%s` is not empty: name a new folder", root)
	}
	g := &generator{root: root}
	tenants := draw(o)
	for _, p := range profiles {
		g.write("profile", "catalog/profiles/"+p.Name+".yaml", p)
	}
	for _, r := range runtimes {
		g.write("runtime", "catalog/runtimes/"+r.Name+".yaml", r)
	}
	w := &Workload{}
	for _, t := range tenants {
		g.write("tenant", t.path(), t)
		w.Tenants = append(w.Tenants, t.Name)
		w.TenantFiles = append(w.TenantFiles, t.path())
	}
	for _, c := range clusters(o, tenants) {
		g.write("cluster", "overlays/"+c.Name+"/cluster.yaml", c)
		w.Clusters = append(w.Clusters, c.Name)
	}
	w.Files = g.files
	return w, g.err
}

// generator writes files and keeps the first error.
type generator struct {
	root  string
	files int
	err   error
}

func (g *generator) write(kind, name string, data any) {
	var text bytes.Buffer
	if g.err == nil {
		g.err = specs.ExecuteTemplate(&text, kind+".yaml.tmpl", data)
	}
	if g.err == nil {
		g.err = writeFile(filepath.Join(g.root, name), text.Bytes())
	}
	g.files++
}

func writeFile(name string, data []byte) error {
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return fmt.Errorf("write workload: %w", err)
	}
	if err := os.WriteFile(name, data, 0o644); err != nil {
		return fmt.Errorf("write workload: %w", err)
	}
	return nil
}
