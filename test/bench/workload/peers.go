package workload

import (
	"bytes"
	"embed"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"

	"lockstep.dev/lockstep/api/v1alpha1"
)

// PeersFolder is the folder below the root with the inputs of other tools.
const PeersFolder = "peers"

// The folders of the tools in PeersFolder.
const (
	HelmFolder      = "helm"
	JsonnetFolder   = "jsonnet"
	KustomizeFolder = "kustomize"
)

//go:embed all:peers
var peerFiles embed.FS

// Sample returns at most n of the tenants, spread evenly over all.
func (w *Workload) Sample(n int) []string {
	n = min(n, len(w.Tenants))
	names := make([]string, n)
	for i := range names {
		names[i] = w.Tenants[i*len(w.Tenants)/n]
	}
	return names
}

// WritePeers writes the inputs with which Helm, Jsonnet and kustomize make the objects that runtime-compiler wrote into the folder
// compiled: a chart with values, a library with data, and bases with overlays, the last for sampled tenants only.
//
// Their data are the specs themselves. The objects of the platform and of the runtimes, two in a thousand, are handed to
// them finished, which favours them: only tenants are rendered.
func WritePeers(root, compiled string, w *Workload, sampled []string) error {
	p := &peers{root: root, out: filepath.Join(root, PeersFolder), sampled: sampled}
	p.copyFiles()
	p.readSpecs(w)
	p.readStatic(compiled, w)
	p.helm()
	p.jsonnet()
	p.kustomize()
	return p.err
}

// peers writes the inputs and keeps the first error.
type peers struct {
	root, out string
	clusters  []facts
	tenants   []spec
	sampled   []string
	err       error
}

// facts are what the objects of a tenant depend on besides the tenant.
type facts struct {
	Name         string   `json:"name"`
	DNS          dns      `json:"dns"`
	Accelerators []string `json:"accelerators"`
	OpenShift    bool     `json:"openshift"`
	// Runtimes are all of the cluster, sorted by name.
	Runtimes []runtimeFacts `json:"runtimes"`
	static   []byte
}

// runtimeFacts say what a runtime runs on; Accelerator is "" for machines without one.
type runtimeFacts struct {
	Name        string `json:"name"`
	Profile     string `json:"profile"`
	Accelerator string `json:"accelerator"`
}

type dns struct {
	Namespace string            `json:"namespace"`
	PodLabels map[string]string `json:"podLabels"`
	Port      int32             `json:"port"`
}

// spec is a tenant as it is written, without defaults.
type spec struct {
	v1alpha1.Tenant
	// data is the body with the name in it, as the templates of other tools like it.
	data map[string]any
}

func (p *peers) fail(err error) {
	if p.err == nil && err != nil {
		p.err = fmt.Errorf("write the inputs of other tools: %w", err)
	}
}

func (p *peers) write(name string, data []byte) {
	if p.err == nil {
		p.fail(writeFile(filepath.Join(p.out, name), data))
	}
}

func (p *peers) writeJSON(name string, value any) {
	data, err := json.Marshal(value)
	p.fail(err)
	p.write(name, append(data, '\n'))
}

func (p *peers) writeYAML(name string, values ...any) {
	documents := make([][]byte, len(values))
	for i, value := range values {
		data, err := yaml.Marshal(value)
		p.fail(err)
		documents[i] = data
	}
	p.write(name, bytes.Join(documents, []byte("---\n")))
}

func (p *peers) copyFiles() {
	p.fail(fs.WalkDir(peerFiles, "peers", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		data, err := peerFiles.ReadFile(name)
		if err == nil {
			p.write(strings.TrimPrefix(name, "peers/"), data)
		}
		return err
	}))
}

func (p *peers) readSpecs(w *Workload) {
	for _, file := range w.TenantFiles {
		var t spec
		var raw struct {
			Spec map[string]any `json:"spec"`
		}
		p.read(file, &t.Tenant)
		p.read(file, &raw)
		t.data = raw.Spec
		if p.err != nil {
			return
		}
		t.data["name"] = t.Metadata.Name
		p.tenants = append(p.tenants, t)
	}
	catalog := p.readRuntimes()
	for _, name := range w.Clusters {
		var c v1alpha1.Cluster
		p.read("overlays/"+name+"/cluster.yaml", &c)
		p.clusters = append(p.clusters, facts{
			Name: name, DNS: dnsOf(&c.Spec), Accelerators: p.accelerators(&c.Spec), OpenShift: c.Spec.Platform == v1alpha1.OpenShift, Runtimes: catalog,
		})
	}
}

func (p *peers) read(name string, into any) {
	data, err := os.ReadFile(filepath.Join(p.root, name))
	if err == nil {
		err = yaml.Unmarshal(data, into)
	}
	p.fail(err)
}

// readRuntimes reads the catalog, from which every cluster takes everything.
func (p *peers) readRuntimes() []runtimeFacts {
	found := make([]runtimeFacts, len(runtimes))
	for i, r := range runtimes {
		found[i] = runtimeFacts{Name: r.Name, Profile: r.Profile, Accelerator: p.accelerator(r.Profile)}
	}
	slices.SortFunc(found, func(a, b runtimeFacts) int { return strings.Compare(a.Name, b.Name) })
	return found
}

// accelerator returns the resource of a profile, or "".
func (p *peers) accelerator(profile string) string {
	var written v1alpha1.HardwareProfile
	p.read("catalog/profiles/"+profile+".yaml", &written)
	if written.Spec.Accelerator == nil {
		return ""
	}
	return written.Spec.Accelerator.Resource
}

func dnsOf(c *v1alpha1.ClusterSpec) dns {
	switch written := c.Network.DNS; {
	case written != nil:
		return dns{Namespace: written.Namespace, PodLabels: written.PodLabels, Port: written.Port}
	case c.Platform == v1alpha1.OpenShift:
		return dns{Namespace: "openshift-dns", PodLabels: map[string]string{"dns.operator.openshift.io/daemonset-dns": "default"}, Port: 5353}
	}
	return dns{Namespace: "kube-system", PodLabels: map[string]string{"k8s-app": "kube-dns"}, Port: 53}
}

func (p *peers) accelerators(c *v1alpha1.ClusterSpec) []string {
	var names []string
	for _, capacity := range c.Capacity {
		if name := p.accelerator(capacity.Profile); name != "" {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// readStatic reads what is compiled for a cluster and belongs to no tenant.
func (p *peers) readStatic(compiled string, w *Workload) {
	for i, name := range w.Clusters {
		var documents bytes.Buffer
		for _, folder := range []string{"platform", "runtimes"} {
			files, err := filepath.Glob(filepath.Join(compiled, name, folder, "*.yaml"))
			p.fail(err)
			for _, file := range files {
				if filepath.Base(file) == "kustomization.yaml" {
					continue
				}
				data, err := os.ReadFile(file)
				p.fail(err)
				documents.Write(data)
			}
		}
		if p.err == nil {
			p.clusters[i].static = documents.Bytes()
		}
	}
}

// helm writes the values of the chart: the tenants once, and what differs between clusters per cluster.
func (p *peers) helm() {
	all := make([]any, len(p.tenants))
	for i, t := range p.tenants {
		all[i] = t.data
		if slices.Contains(p.sampled, t.Metadata.Name) {
			p.writeYAML(HelmFolder+"-values/one/"+t.Metadata.Name+".yaml", map[string]any{"static": false, "tenants": []any{t.data}})
		}
	}
	p.writeYAML(HelmFolder+"-values/tenants.yaml", map[string]any{"static": true, "tenants": all})
	for _, c := range p.clusters {
		p.writeYAML(HelmFolder+"-values/clusters/"+c.Name+".yaml", map[string]any{"cluster": c})
		p.write(HelmFolder+"/files/"+c.Name+".yaml", c.static)
	}
}

// jsonnet writes the data of the library: a file per tenant and cluster, and lists of them.
func (p *peers) jsonnet() {
	tenants, clusters := bytes.NewBufferString("{\n"), bytes.NewBufferString("{\n")
	for _, t := range p.tenants {
		name := t.Metadata.Name
		p.writeJSON(JsonnetFolder+"/tenants/"+name+".json", t.data)
		fmt.Fprintf(tenants, "  '%s': import 'tenants/%s.json',\n", name, name)
	}
	for _, c := range p.clusters {
		p.writeJSON(JsonnetFolder+"/clusters/"+c.Name+".json", c)
		p.write(JsonnetFolder+"/static/"+c.Name+".yaml", c.static)
		fmt.Fprintf(clusters, "  '%s': (import 'clusters/%s.json') { static: importstr 'static/%s.yaml' },\n", c.Name, c.Name, c.Name)
	}
	p.write(JsonnetFolder+"/tenants.libsonnet", append(tenants.Bytes(), "}\n"...))
	p.write(JsonnetFolder+"/clusters.libsonnet", append(clusters.Bytes(), "}\n"...))
}
