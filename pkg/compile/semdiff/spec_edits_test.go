package semdiff_test

import (
	"bytes"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	sigsyaml "sigs.k8s.io/yaml"
)

// specFiles are the specs of a repository as values, by file; a file may have several.
type specFiles map[string][]map[string]any

func parsedSpecs(t *testing.T, files fstest.MapFS) specFiles {
	t.Helper()
	specs := specFiles{}
	for name, file := range files {
		for _, text := range strings.Split(string(file.Data), "---\n") {
			var value map[string]any
			if err := sigsyaml.Unmarshal([]byte(text), &value); err != nil {
				t.Fatal(err)
			}
			specs[name] = append(specs[name], value)
		}
	}
	return specs
}

func (s specFiles) files() fstest.MapFS {
	files := fstest.MapFS{}
	for name, values := range s {
		var texts [][]byte
		for _, value := range values {
			text, _ := sigsyaml.Marshal(value)
			texts = append(texts, text)
		}
		files[name] = &fstest.MapFile{Data: bytes.Join(texts, []byte("---\n"))}
	}
	return files
}

func (s specFiles) clone() specFiles {
	copied := specFiles{}
	for name, values := range s {
		for _, value := range values {
			copied[name] = append(copied[name], copyOf(value).(map[string]any))
		}
	}
	return copied
}

func copyOf(value any) any {
	switch v := value.(type) {
	case map[string]any:
		copied := make(map[string]any, len(v))
		for key, child := range v {
			copied[key] = copyOf(child)
		}
		return copied
	case []any:
		copied := make([]any, len(v))
		for i := range v {
			copied[i] = copyOf(v[i])
		}
		return copied
	}
	return value
}

// edit changes something of a random spec, as a person would, and says what.
func (s specFiles) edit(random *rand.Rand) string {
	switch random.IntN(12) {
	case 0:
		return s.editCluster(random)
	case 1, 2, 3:
		return s.editShared(random)
	}
	var tenants []string
	for _, name := range slices.Sorted(maps.Keys(s)) {
		if strings.HasPrefix(name, "tenants/") {
			tenants = append(tenants, name)
		}
	}
	switch roll := random.IntN(14); {
	case roll == 0 && len(tenants) > 2:
		name := oneOf(random, tenants)
		delete(s, name)
		return "no " + name
	case roll == 1:
		from := s[oneOf(random, tenants)][0]
		name := oneOf(random, []string{"audio", "robotics", "weather"})
		added := copyOf(from).(map[string]any)
		added["metadata"] = map[string]any{"name": name}
		spec := added["spec"].(map[string]any)
		spec["namespaces"], spec["people"] = []any{name}, map[string]any{"admins": []any{name + "-admins"}}
		s["tenants/"+name+".yaml"] = []map[string]any{added}
		return "tenant " + name
	}
	name := oneOf(random, tenants)
	return name + ": " + editTenant(random, s[name][0]["spec"].(map[string]any))
}

// editShared changes one line that many share: a patch for all tenants of a cluster, who had each something else, or the catalog.
func (s specFiles) editShared(random *rand.Rand) string {
	cluster := oneOf(random, []string{"hpc", "lab", "ocp"})
	switch random.IntN(4) {
	case 0:
		profile := s["catalog/profiles.yaml"][1]["spec"].(map[string]any)["node"].(map[string]any)
		profile["cpu"] = oneOf(random, []int{180, 200, 220})
		return fmt.Sprint("profile gpu: cpu ", profile["cpu"])
	case 1:
		spec := s["catalog/runtimes.yaml"][random.IntN(2)]["spec"].(map[string]any)
		spec["mpi"].(map[string]any)["version"] = oneOf(random, []string{"5.0.7", "4.1.6"})
		spec["nodes"].(map[string]any)["max"] = 4 * (1 + random.IntN(2))
		return fmt.Sprint("a runtime: ", spec["mpi"], spec["nodes"])
	}
	patch := oneOf(random, []string{
		"{op: replace, path: /spec/quota/pods, value: 60}", "{op: replace, path: /spec/quota/jobs, value: 15}",
		"{op: add, path: /spec/people/viewers, value: [auditors]}", "{op: replace, path: /spec/people/editors, value: [interns]}",
		"{op: add, path: /spec/network, value: {egress: [{cidr: 10.41.0.0/16, ports: [{port: 80}]}]}}",
	})
	s["overlays/"+cluster+"/kustomization.yaml"] = []map[string]any{{
		"apiVersion": "kustomize.config.k8s.io/v1beta1", "kind": "Kustomization", "patches": []any{map[string]any{
			"target": map[string]any{"group": "lockstep.dev", "kind": "Tenant", "name": ".*"}, "patch": "- " + patch,
		}},
	}}
	return cluster + ": " + patch
}

// editCluster takes the GitOps engine of a cluster away, or gives it one.
func (s specFiles) editCluster(random *rand.Rand) string {
	name := oneOf(random, []string{"hpc", "lab", "ocp"})
	spec := s["overlays/"+name+"/cluster.yaml"][0]["spec"].(map[string]any)
	if spec["gitops"] != nil {
		delete(spec, "gitops")
		return name + ": no engine"
	}
	spec["gitops"] = map[string]any{"engine": oneOf(random, []string{"Flux", "ArgoCD"}), "repository": "https://git.example.com/platform/mpi.git"}
	return name + ": an engine"
}

func editTenant(random *rand.Rand, spec map[string]any) string {
	below := func(key string) map[string]any {
		if spec[key] == nil {
			spec[key] = map[string]any{}
		}
		return spec[key].(map[string]any)
	}
	switch random.IntN(9) {
	case 0, 1:
		role := oneOf(random, []string{"admins", "editors", "viewers"})
		people := below("people")
		people[role] = subsetOf(random, []any{"interns", "researchers", "vision-admins", "speech-editors", "auditors"})
		return fmt.Sprint(role, " ", people[role])
	case 2:
		spec["namespaces"] = append([]any{fmt.Sprint(list(spec["namespaces"])[0])}, subsetOf(random, []any{fmt.Sprint(list(spec["namespaces"])[0], "-x"), fmt.Sprint(list(spec["namespaces"])[0], "-y")})...)
		return fmt.Sprint("namespaces ", spec["namespaces"])
	case 3:
		quota := below("quota")
		key := oneOf(random, []string{"cpu", "pods", "jobs"})
		quota[key] = 40 * (1 + random.IntN(60))
		return fmt.Sprint("quota ", key, " ", quota[key])
	case 4:
		clusters := subsetOf(random, []any{"hpc", "lab", "ocp"})
		if len(clusters) == 0 {
			clusters = []any{"hpc"}
		}
		spec["clusters"] = clusters
		return fmt.Sprint("clusters ", clusters)
	case 5, 6:
		var rules []any
		for range random.IntN(3) {
			r := map[string]any{"cidr": oneOf(random, []string{"10.40.0.0/16", "10.40.0.0/17", "10.41.0.0/16", "192.0.2.0/24", "198.51.100.0/24"})}
			if random.IntN(3) > 0 {
				r["ports"] = []any{map[string]any{"port": oneOf(random, []int{80, 443, 5432})}}
			}
			rules = append(rules, r)
		}
		spec["network"] = map[string]any{"egress": rules}
		return fmt.Sprint("egress ", rules)
	case 7:
		queue, _ := spec["queue"].(map[string]any)
		shares := list(queue["shares"])
		if len(shares) == 0 {
			return "nothing"
		}
		share := shares[random.IntN(len(shares))].(map[string]any)
		share["nodes"] = 1 + random.IntN(8)
		delete(share, "lend")
		return fmt.Sprint("share ", share)
	}
	if spec["storage"] != nil {
		delete(spec, "storage")
		return "no storage"
	}
	spec["storage"] = []any{map[string]any{"name": "data", "size": "1Ti"}}
	return "storage"
}

func oneOf[T any](random *rand.Rand, items []T) T { return items[random.IntN(len(items))] }

func subsetOf(random *rand.Rand, items []any) []any {
	var some []any
	for _, item := range items {
		if random.IntN(3) == 0 {
			some = append(some, item)
		}
	}
	return some
}
