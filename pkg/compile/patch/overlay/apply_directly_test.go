package overlay

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"lockstep.dev/lockstep/pkg/compile/diag"
	"lockstep.dev/lockstep/pkg/compile/object"
	"lockstep.dev/lockstep/pkg/compile/source"
)

// specText is a spec with something of every kind.
const specText = `apiVersion: lockstep.dev/v1alpha1
kind: Tenant
metadata: {name: vision, labels: {team: see, tier: "1"}}
spec:
  displayName: "Computer vision: <1> & more"
  people: {admins: [a, b], editors: [e]}
  clusters: [lab, 'no', "0644"]
  quota: {cpu: 400, memory: 3Ti, pods: 20, accelerators: {nvidia.com/gpu: 8}}
  network:
    egress:
    - {cidr: 10.0.0.0/8, ports: [{port: 443}, {port: 80, protocol: TCP}]}
    - {cidr: 192.0.2.0/24}
  storage: {claims: [{name: x, size: 1Gi}, {name: y, size: 2Gi}]}
  env: {EMPTY: "", ON: "on", NULL: "null", ONE: "1", EXP: 1e3s, "yes": "~", nl: "a\nb", umlaut: "ä ü"}
  queued: true
  nothing: {}
  none: []
  components: [{chart: c, values: {replicas: 3, on: false}}]
`

// steps reads a patch for the tenant.
func steps(t testing.TB, patch string, target bool) []step {
	t.Helper()
	text := "patches:\n- patch: |-\n    " + strings.ReplaceAll(strings.TrimSpace(patch), "\n", "\n    ") + "\n"
	if target {
		text += "  target: {group: lockstep.dev, kind: Tenant}\n"
	}
	return stepsOf(text, func(o *Overlay) []step { return o.specs })
}

// objectSteps reads a patch for objects of a kind.
func objectSteps(patch, kind string) []step {
	text := "patches:\n- patch: |-\n    " + strings.ReplaceAll(strings.TrimSpace(patch), "\n", "\n    ") +
		"\n  target: {kind: " + kind + "}\n"
	return stepsOf(text, func(o *Overlay) []step { return o.steps })
}

// stepsOf returns the one step of a kustomization, or nothing if it is reported and applied nowhere.
func stepsOf(text string, of func(*Overlay) []step) []step {
	files := fstest.MapFS{"overlays/a/kustomization.yaml": &fstest.MapFile{Data: []byte(text)}}
	o := Read(files, "overlays/a", nil, &diag.List{})
	if o == nil || len(of(o)) != 1 {
		return nil
	}
	return of(o)
}

func spec(t testing.TB, text string) object.Object {
	t.Helper()
	trees, _, err := parseDocuments(source.NewFile("tenants/vision.yaml", []byte(text)), source.NewFile("tenants/vision.yaml", []byte(text)))
	if err != nil {
		t.Fatal(err)
	}
	return object.Object{ID: trees[0].ID(), Root: trees[0], Rule: trees[0].From}
}

// compare applies a patch directly and by kustomize, and reports whether the first was possible.
func compare(t *testing.T, s *step, text string) bool {
	t.Helper()
	direct, oracle := spec(t, text), spec(t, text)
	root, ok := s.applyDirectly(&direct)
	if diff := cmp.Diff(listed(&oracle), listed(&direct)); diff != "" {
		t.Errorf("the spec itself changed (-before +after):\n%s", diff)
	}
	if !ok {
		return false
	}
	output, err := s.runKustomize([]object.Object{oracle})
	if err != nil && strings.Contains(err.Error(), "updating name reference") {
		return true // it stumbles over a value that no object of the kind may have, which the check of schemas reports
	}
	if err != nil {
		t.Errorf("kustomize refuses what was done: %v\n%s", err, encodeJSON(&s.patch))
		return true
	}
	want, found := output[oracle.ID]
	if !found || root.ID() != oracle.ID {
		t.Errorf("another identity: %s, kustomize: %v", root.ID(), output)
		return true
	}
	if diff := cmp.Diff(want.Value(), root.Value()); diff != "" {
		t.Errorf("patch %s (-kustomize +direct):\n%s", encodeJSON(&s.patch), diff)
	}
	var done, wanted Effect
	s.setContent(&direct, root, &done)
	s.setContent(&oracle, want, &wanted)
	if diff := cmp.Diff(listed(&oracle), listed(&direct)); diff != "" || !maps.Equal(done.Written, wanted.Written) || done.Changed != wanted.Changed || direct.Patched != oracle.Patched {
		t.Errorf("patch %s: changed %v %v, %v %v, origins (-kustomize +direct):\n%s", encodeJSON(&s.patch), wanted.Changed, done.Changed, oracle.Patched, direct.Patched, diff)
	}
	return true
}

// listed are all values of an object with their origins, containers too.
func listed(o *object.Object) []string {
	var lines []string
	var walk func(path string, n *object.Node)
	walk = func(path string, n *object.Node) {
		line := fmt.Sprintf("%s %d %s", path, n.Kind, n.Text)
		for from := n.From; from != nil; {
			line += fmt.Sprintf(" | %v %s %s", from.Kind, from.At, from.Why)
			if len(from.Lost) == 0 {
				break
			}
			line += " over " + from.Lost[0].Value
			from = from.Lost[0].Origin
		}
		lines = append(lines, line)
		for i := range n.Children {
			walk(path+"/"+n.Segment(i), &n.Children[i])
		}
	}
	walk("", &o.Root)
	return lines
}

const head = "apiVersion: lockstep.dev/v1alpha1\nkind: Tenant\nmetadata: {name: vision}\n"

// TestAsKustomize: what is done to specs without a build of kustomize is what the build does.
func TestAsKustomize(t *testing.T) {
	for name, c := range map[string]struct {
		patch  string
		direct bool
	}{
		"a scalar":             {head + "spec: {displayName: x}", true},
		"nothing":              {head, true},
		"the same":             {head + "spec: {quota: {pods: 20}}", true},
		"another kind":         {head + "spec: {quota: {pods: '20', cpu: 400m}}", false},
		"new maps":             {head + "spec: {limits: {container: {max: {cpu: 3}}}}", true},
		"a list":               {head + "spec: {network: {egress: [{cidr: 0.0.0.0/0}]}}", true},
		"a list with names":    {head + "spec: {storage: {claims: [{name: y, size: 3Gi}]}}", true},
		"empty values":         {head + "spec: {people: {}, quota: {accelerators: {}}, none: [], fresh: {}, list: [], clusters: []}", true},
		"into empty values":    {head + "spec: {nothing: {a: 1}, none: [1, true, 'true', 'no', '1']}", true},
		"labels":               {strings.Replace(head, "}", ", labels: {team: hear, new: '2'}}", 1) + "spec: {queued: false}", false},
		"annotations":          {strings.Replace(head, "}", ", annotations: {a: b}}", 1), false},
		"local":                {strings.Replace(head, "}", ", annotations: {config.kubernetes.io/local-config: 'true'}}", 1), false},
		"a namespace":          {strings.Replace(head, "}", ", namespace: x}", 1), false},
		"null":                 {head + "spec: {quota: {pods: null}}", false},
		"null in a list":       {head + "spec: {clusters: [null]}", false},
		"delete":               {head + "$patch: delete", false},
		"replace":              {head + "spec: {people: {$patch: replace, admins: [z]}}", false},
		"a map for a text":     {head + "spec: {displayName: {a: b}}", false},
		"a text for a list":    {head + "spec: {clusters: a}", false},
		"a float":              {head + "spec: {quota: {cpu: 0.50}}", false},
		"another version":      {strings.Replace(head, "v1alpha1", "v2", 1) + "spec: {displayName: x}", false},
		"an object below":      {head + "spec: {fresh: {apiVersion: v1, kind: Pod, spec: {containers: [{name: a}]}}}", false},
		"tabs":                 {head + "spec: {displayName: \"a\\tb\"}", false},
		"replace by operation": {"- {op: replace, path: /spec/quota/pods, value: 60}", true},
		"add an item":          {"- {op: add, path: /spec/clusters/-, value: other}\n- {op: add, path: /spec/clusters/0, value: first}", true},
		"add a map":            {"- {op: add, path: /spec/limits, value: {a: {b: [1, {c: 'no'}]}}}", true},
		"remove":               {"- {op: remove, path: /spec/network/egress/0}\n- {op: remove, path: /spec/quota/accelerators/nvidia.com~1gpu}", true},
		"move":                 {"- {op: move, from: /spec/people/admins, path: /spec/people/viewers}", false},
		"copy":                 {"- {op: copy, from: /spec/people, path: /spec/them}", false},
		"test":                 {"- {op: test, path: /spec/quota/pods, value: 20}\n- {op: remove, path: /spec/quota/pods}", true},
		"a test that fails":    {"- {op: test, path: /spec/quota/pods, value: 21}", false},
		"add null":             {"- {op: add, path: /spec/limits, value: null}", false},
		"metadata":             {"- {op: add, path: /metadata/labels/a, value: b}", true},
		"all":                  {"- {op: replace, path: '', value: {}}", false},
		"nowhere":              {"- {op: add, path: /spec/a/b/c, value: 1}", false},
		"no operation":         {"- {op: put, path: /spec/a, value: 1}", false},
	} {
		t.Run(name, func(t *testing.T) {
			for _, target := range []bool{true, false} {
				for i := range steps(t, c.patch, target) {
					if got := compare(t, &steps(t, c.patch, target)[i], specText); got != c.direct {
						t.Errorf("direct: %v, want %v", got, c.direct)
					}
				}
			}
		})
	}
}

// objectText is an object of a kind that kustomize has a schema of, with lists that have keys in it.
const objectText = `apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: front, labels: {team: see, tier: "1"}, annotations: {example.org/a: "yes", empty: ""}}
spec:
  replicas: 1
  strategy: {type: RollingUpdate, rollingUpdate: {maxSurge: 1, maxUnavailable: "25%"}}
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      nodeSelector: {a: b, "no": "on"}
      containers:
      - {name: main, image: "app:1", args: ["yes", "0644"], ports: [{containerPort: 80}], env: [{name: A, value: "1e3"}]}
      - {name: side, image: "log:1", resources: {limits: {cpu: 500m, memory: 1Gi}}}
      volumes: [{name: v, emptyDir: {}}]
`

const deploymentHead = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: any}\n"

// TestObjectsAsKustomize: so it is for objects, of which no list is merged here.
func TestObjectsAsKustomize(t *testing.T) {
	withMetadata := func(more string) string { return strings.Replace(deploymentHead, "any}", "any, "+more+"}", 1) }
	for name, c := range map[string]struct {
		patch  string
		direct bool
	}{
		"a number":             {deploymentHead + "spec: {replicas: 3}", true},
		"nothing":              {deploymentHead, true},
		"maps":                 {deploymentHead + "spec: {template: {spec: {nodeSelector: {c: d}, hostNetwork: true}}}", true},
		"retained keys":        {deploymentHead + "spec: {strategy: {rollingUpdate: {maxSurge: 2}}}", true},
		"labels":               {withMetadata("labels: {team: hear, owner: '2'}"), true},
		"annotations":          {withMetadata("annotations: {example.org/a: 'no', more: '1'}"), true},
		"another namespace":    {withMetadata("namespace: back") + "spec: {replicas: 2}", true},
		"finalizers":           {withMetadata("finalizers: [a]"), false},
		"a mark":               {withMetadata("annotations: {config.kubernetes.io/local-config: 'true'}"), false},
		"a list with keys":     {deploymentHead + "spec: {template: {spec: {containers: [{name: side, image: 'log:2'}]}}}", false},
		"a list":               {deploymentHead + "spec: {template: {spec: {schedulerName: x, imagePullSecrets: []}}}", false},
		"null":                 {deploymentHead + "spec: {strategy: null}", false},
		"replace":              {deploymentHead + "spec: {strategy: {$patch: replace, type: Recreate}}", false},
		"text for number":      {deploymentHead + "spec: {replicas: '3'}", false},
		"replace by operation": {"- {op: replace, path: /spec/replicas, value: 3}", true},
		"number for text":      {"- {op: replace, path: /spec/strategy/rollingUpdate/maxUnavailable, value: 3}", true},
		"items":                {"- {op: add, path: /spec/template/spec/containers/0/args/-, value: 'on'}\n- {op: remove, path: /spec/template/spec/containers/1}", true},
		"an item between":      {"- {op: add, path: /spec/template/spec/containers/1, value: {name: x, image: 'y:1'}}", true},
		"what one added":       {"- {op: add, path: /spec/paused, value: {a: []}}\n- {op: add, path: /spec/paused/a/-, value: 1}\n- {op: test, path: /spec/paused/a/0, value: 1}", true},
		"a label":              {"- {op: add, path: /metadata/labels/example.org~1owner, value: team}", true},
		"a number as label":    {"- {op: add, path: /metadata/labels/owner, value: 1}", true},
		"no label left":        {"- {op: remove, path: /metadata/labels/team}\n- {op: remove, path: /metadata/labels/tier}", true},
		"a name":               {"- {op: replace, path: /metadata/name, value: other}", false},
		"an annotation":        {"- {op: add, path: /metadata/annotations/a, value: b}", false},
	} {
		t.Run(name, func(t *testing.T) {
			steps := objectSteps(c.patch, "Deployment")
			if len(steps) == 0 {
				t.Fatal("the patch is not read")
			}
			if got := compare(t, &steps[0], objectText); got != c.direct {
				t.Errorf("direct: %v, want %v", got, c.direct)
			}
		})
	}
}

// TestRandomObjectsAsKustomize does the same with patches that no author thought of.
func TestRandomObjectsAsKustomize(t *testing.T) {
	r := random{rand.New(rand.NewPCG(7, 2026))}
	tree := spec(t, objectText)
	tried, direct := 0, [2]int{}
	for i := range 1500 {
		var patch any
		if i%2 == 0 {
			change, _ := r.over(tree.Root.Get("spec")).(map[string]any)
			metadata := map[string]any{"name": "any"}
			if r.IntN(2) == 0 {
				metadata[[]string{"labels", "annotations"}[r.IntN(2)]] = r.value(1)
			}
			patch = map[string]any{"apiVersion": "apps/v1", "kind": "Deployment", "metadata": metadata, "spec": change}
		} else {
			patch = r.operations(&tree.Root)
		}
		root := object.FromValue("", patch, nil)
		steps := objectSteps(string(encodeJSON(&root)), "Deployment")
		for j := range steps {
			tried++
			if compare(t, &steps[j], objectText) {
				direct[i%2]++
			}
		}
		if t.Failed() {
			return
		}
	}
	if tried < 1000 || direct[0] < 200 || direct[1] < 40 {
		t.Errorf("of %d patches only %v were compared", tried, direct)
	}
	t.Logf("%d patches, %v direct", tried, direct)
}

// random draws patches that look like specs, with keys that specs have and others.
type random struct{ *rand.Rand }

func (r random) key() string {
	keys := []string{"spec", "quota", "pods", "people", "admins", "network", "egress", "cidr", "name", "labels", "new", "a.b/c", "yes", "1", "clusters", "nothing", "none", "env", "size", "owner", "example.org/b", "$patch", "<<"}
	return keys[r.IntN(len(keys)-r.IntN(2)*2)]
}

func (r random) value(depth int) any {
	scalars := []any{"", "x", "no", "0644", "1e3", "null", "~", "<a> & b", "a\nb", "ü", "# c", " lead", "- d", "delete", "merge", 0, 1, -5, 20, 1 << 40, true, false, nil, 1.5, "\t", "\u0085", "{{ x }}", "$(VAR)"}
	switch n := r.IntN(6); {
	case n < 2 && depth > 0:
		entries := map[string]any{}
		for range r.IntN(4) {
			entries[r.key()] = r.value(depth - 1)
		}
		return entries
	case n == 2 && depth > 0:
		items := []any{}
		for range r.IntN(3) {
			items = append(items, r.value(depth-1))
		}
		return items
	}
	return scalars[r.IntN(len(scalars)-r.IntN(2)*6)]
}

// over draws changes of a value: mostly below keys that it has.
func (r random) over(n *object.Node) any {
	if n.Kind != object.MapNode || r.IntN(5) == 0 {
		return r.value(2)
	}
	entries := map[string]any{}
	for range r.IntN(3) {
		if len(n.Children) > 0 && r.IntN(4) > 0 {
			child := &n.Children[r.IntN(len(n.Children))]
			entries[child.Key] = r.over(child)
		} else {
			entries[r.key()] = r.value(2)
		}
	}
	return entries
}

func (r random) pointer(n *object.Node) string {
	path := ""
	for len(n.Children) > 0 && r.IntN(4) > 0 {
		i := r.IntN(len(n.Children))
		key := fmt.Sprint(i)
		if n.Kind == object.MapNode {
			key = strings.ReplaceAll(n.Children[i].Key, "/", "~1")
		}
		path, n = path+"/"+key, &n.Children[i]
	}
	switch {
	case n.Kind == object.ListNode:
		return path + []string{"/-", "/0", "/9", ""}[r.IntN(4)]
	case n.Kind == object.MapNode && r.IntN(2) == 0:
		return path + "/" + strings.ReplaceAll(r.key(), "/", "~1")
	}
	return path
}

func (r random) operations(root *object.Node) any {
	operations := []any{}
	for range 1 + r.IntN(3) {
		operation := map[string]any{"op": []string{"add", "replace", "remove", "move", "copy", "test"}[r.IntN(6)], "path": "/spec" + r.pointer(root.Get("spec"))}
		switch operation["op"] {
		case "move", "copy":
			operation["from"] = "/spec" + r.pointer(root.Get("spec"))
		case "add", "replace", "test":
			operation["value"] = r.value(2)
		}
		operations = append(operations, operation)
	}
	return operations
}

// TestRandomAsKustomize does the same with patches that nobody thought of.
func TestRandomAsKustomize(t *testing.T) {
	r := random{rand.New(rand.NewPCG(5, 2026))}
	tree := spec(t, specText)
	tried, direct := 0, [2]int{}
	for i := range 1500 {
		var patch any
		if i%2 == 0 {
			change, _ := r.over(tree.Root.Get("spec")).(map[string]any)
			patch = map[string]any{"apiVersion": "lockstep.dev/v1alpha1", "kind": "Tenant", "metadata": map[string]any{"name": "vision"}, "spec": change}
			if r.IntN(5) == 0 {
				patch.(map[string]any)["metadata"] = map[string]any{"name": []string{"vision", "any"}[r.IntN(2)], []string{"labels", "annotations"}[r.IntN(2)]: r.value(1)}
			}
		} else {
			patch = r.operations(&tree.Root)
		}
		root := object.FromValue("", patch, nil)
		for j := range steps(t, string(encodeJSON(&root)), true) {
			tried++
			if compare(t, &steps(t, string(encodeJSON(&root)), true)[j], specText) {
				direct[i%2]++
			}
		}
		if t.Failed() {
			return
		}
	}
	if tried < 1000 || direct[0] < 200 || direct[1] < 80 {
		t.Errorf("of %d patches only %v were compared", tried, direct)
	}
	t.Logf("%d patches, %v direct", tried, direct)
}
