package workload

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"
)

// Changes of a workload are edits of one line, as somebody makes them who opens a pull request.
var (
	jobsLine  = regexp.MustCompile(`(?m)^    jobs: \d+$`)
	imageLine = regexp.MustCompile(`(?m)^  image: ([^:@\s]+)[:@].*$`)
)

// ChangeTenant gives the tenant of a file below the root another quota for jobs.
func ChangeTenant(root, file string, jobs int) error {
	return change(root, file, jobsLine, fmt.Sprintf("    jobs: %d", jobs))
}

// ChangeImage gives the first runtime the image of another version, which may have a digest: 2@sha256:….
func ChangeImage(root, version string) error {
	return change(root, "catalog/runtimes/"+runtimes[0].Name+".yaml", imageLine, "  image: ${1}:"+version)
}

func change(root, file string, line *regexp.Regexp, to string) error {
	name := filepath.Join(root, file)
	data, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	changed := line.ReplaceAll(data, []byte(to))
	if bytes.Equal(changed, data) {
		return fmt.Errorf("%s has no line `%s` to change", name, line)
	}
	return os.WriteFile(name, changed, 0o644)
}

// Storage lets all tenants of a cluster reach one range of addresses, and nothing else outside of the cluster, in an overlay of the cluster.
// It returns the overlay's file and the line in it that says which range: the whole difference between two ranges.
func Storage(root, cluster, cidr string) (file string, line int, err error) {
	g := &generator{root: root}
	file = "overlays/" + cluster + "/kustomization.yaml"
	g.write("storage", file, cidr)
	if g.err != nil {
		return file, 0, g.err
	}
	data, err := os.ReadFile(filepath.Join(root, file))
	if err != nil {
		return file, 0, err
	}
	at := slices.IndexFunc(bytes.Split(data, []byte("\n")), func(text []byte) bool { return bytes.Contains(text, []byte("cidr: "+cidr)) })
	return file, at + 1, nil
}

// HelmStorage writes, for Helm, the values of all tenants as Storage makes them. Its inputs must be there.
func HelmStorage(root, cidr string) error {
	data, err := os.ReadFile(filepath.Join(root, PeersFolder, "helm-values", "tenants.yaml"))
	if err != nil {
		return err
	}
	var values struct {
		Static  bool             `json:"static"`
		Tenants []map[string]any `json:"tenants"`
	}
	if err := yaml.Unmarshal(data, &values); err != nil {
		return err
	}
	for _, tenant := range values.Tenants {
		network, _ := tenant["network"].(map[string]any)
		if network == nil {
			network = map[string]any{}
		}
		network["egress"] = []any{map[string]any{"cidr": cidr, "ports": []any{map[string]any{"port": 2049}}}}
		tenant["network"] = network
	}
	if data, err = yaml.Marshal(values); err != nil {
		return err
	}
	return os.WriteFile(HelmStorageValues(root, cidr), data, 0o644)
}

// HelmStorageValues is the file that HelmStorage writes.
func HelmStorageValues(root, cidr string) string {
	return filepath.Join(root, PeersFolder, "helm-values", "tenants-storage-"+strings.ReplaceAll(cidr, "/", "-")+".yaml")
}
