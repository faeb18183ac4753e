package compile_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"testing/fstest"

	"lockstep.dev/lockstep/pkg/compile/diag"
)

// TestOneCauseIsReadable: whoever makes one mistake that all tenants suffer from reads about it on one screen.
func TestOneCauseIsReadable(t *testing.T) {
	needsSchemas(t)
	const screen = 40
	patch := func(target, operation string) fstest.MapFS {
		return fstest.MapFS{"overlays/local/kustomization.yaml": &fstest.MapFile{Data: []byte("patches:\n- target: " + target + "\n  patch: |-\n    - " + operation + "\n")}}
	}
	edit := func(name, line string) fstest.MapFS {
		return fstest.MapFS{name + ".edit": &fstest.MapFile{Data: []byte(line)}}
	}
	for name, change := range map[string]fstest.MapFS{
		"a runtime with another name":          edit("catalog/runtime.yaml", "  name: mip\n"),
		"a cluster with another name":          edit("overlays/local/cluster.yaml", "  name: locla\n"),
		"a runtime that fits no quota":         edit("catalog/runtime.yaml", "  nodes: {default: 900, max: 900}\n"),
		"a patch that the server would refuse": patch("{kind: ResourceQuota}", "{op: replace, path: /spec/hard/pods, value: none}"),
		"a patch of a default":                 patch("{kind: LimitRange}", "{op: add, path: /spec/limits/0/max, value: {memory: 1Mi}}"),
		"a patch that opens":                   patch("{kind: NetworkPolicy, name: lockstep-default-deny}", "{op: add, path: /spec/ingress, value: [{}]}"),
		"a patch of bindings":                  patch("{kind: RoleBinding}", "{op: replace, path: /roleRef/name, value: admin}"),
		"a patch of a role":                    patch("{kind: ClusterRole, name: lockstep-tenant-editor}", "{op: remove, path: /rules/0}"),
		"a patch of a label":                   patch("{kind: Namespace}", "{op: replace, path: /metadata/labels/pod-security.kubernetes.io~1enforce, value: none}"),
	} {
		t.Run(name, func(t *testing.T) {
			files := manyTenants(t, 30)
			for changed, file := range withBase(t, change) {
				if changed != "tenants/vision.yaml" {
					files[changed] = file
				}
			}
			list := diagnose(files, "")
			var b bytes.Buffer
			if err := list.WriteText(&b, diag.Palette{}); err != nil {
				t.Fatal(err)
			}
			if lines := strings.Count(b.String(), "\n"); list.Errors() == 0 || lines > screen {
				t.Errorf("%d errors in %d lines:\n%s", list.Errors(), lines, b.String())
			}
		})
	}
}

// manyTenants is the base with many tenants like its own.
func manyTenants(t *testing.T, n int) fstest.MapFS {
	t.Helper()
	files := baseFiles(t)
	one := string(files["tenants/vision.yaml"].Data)
	delete(files, "tenants/vision.yaml")
	for i := range n {
		name := fmt.Sprintf("vision%d", i)
		text := strings.ReplaceAll(one, "vision", name) + "  runtimes: [mpi]\n"
		files["tenants/"+name+".yaml"] = &fstest.MapFile{Data: []byte(text)}
	}
	return files
}
