package node

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"lockstep.dev/lockstep/test/cluster/internal/programs"
	"lockstep.dev/lockstep/test/cluster/internal/state"
)

func example(t *testing.T, index int) Node {
	t.Helper()
	root := t.TempDir()
	return Node{
		Index: index, Count: 2, Bin: "/cache/bin", Dir: filepath.Join(root, "node"), PKI: "/state/pki",
		Logs: filepath.Join(root, "log"), Store: filepath.Join(root, "store"), Keep: []string{"/state"},
	}
}

func names(components []component) []string {
	var list []string
	for _, c := range components {
		list = append(list, c.Name)
	}
	return list
}

func TestOnlyTheFirstNodeHasAControlPlane(t *testing.T) {
	worker := []string{"containerd", "kubelet", "kube-proxy", "kube-router"}
	if diff := cmp.Diff(worker, names(example(t, 1).components())); diff != "" {
		t.Errorf("node1 (-want +got)\n%s", diff)
	}
	all := append([]string{"etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler"}, worker...)
	if diff := cmp.Diff(all, names(example(t, 0).components())); diff != "" {
		t.Errorf("node0 (-want +got)\n%s", diff)
	}
}

func TestPodsInheritNoPriority(t *testing.T) {
	for _, c := range example(t, 0).components() {
		if rules := c.Name == "kube-proxy" || c.Name == "kube-router"; (c.Nice < 0) != rules {
			t.Errorf("%s runs at %d: only what writes rules for packets goes first", c.Name, c.Nice)
		}
	}
}

func TestEveryComponentIsAProgramThatIsBuilt(t *testing.T) {
	for _, c := range example(t, 0).components() {
		if name := filepath.Base(c.Args[0]); !slices.Contains(programs.All(), name) {
			t.Errorf("%s is not in the catalog", name)
		}
	}
}

func TestAuditLogIsOfTheUsersAskedForOnly(t *testing.T) {
	n := example(t, 0)
	if args := strings.Join(n.apiServer().Args, " "); strings.Contains(args, "audit") {
		t.Errorf("an audit log that nobody asked for: %s", args)
	}
	n.Audited = []string{"system:serviceaccount:a:b"}
	if args := strings.Join(n.apiServer().Args, " "); !strings.Contains(args, "--audit-log-path="+filepath.Join(n.Logs, "audit.log")) {
		t.Errorf("no audit log among the logs: %s", args)
	}
	for _, rule := range []string{`- {level: Metadata, users: ["system:serviceaccount:a:b"]}`, `- {level: None}`} {
		if !strings.Contains(n.auditPolicy(), rule) {
			t.Errorf("no rule %q in:\n%s", rule, n.auditPolicy())
		}
	}
}

func TestAPIServerHasTheAdmissionPlugins(t *testing.T) {
	args := strings.Join(example(t, 0).apiServer().Args, " ")
	for _, plugin := range []string{"NodeRestriction", "ResourceQuota", "LimitRanger", "PodSecurity", "ValidatingAdmissionPolicy", "OwnerReferencesPermissionEnforcement"} {
		if !strings.Contains(args, plugin) {
			t.Errorf("%s is missing", plugin)
		}
	}
	if strings.Contains(args, "--disable-admission-plugins") {
		t.Error("admission webhooks and other defaults must stay on")
	}
}

func TestPrepareStartsAfreshButKeepsTheStore(t *testing.T) {
	n := example(t, 1)
	for _, old := range []string{filepath.Join(n.Store, "image"), filepath.Join(n.Dir, "var", "old"), filepath.Join(n.Logs, "kubelet.log")} {
		if err := state.WriteFile(old, nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := n.prepare(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(n.Store, "image")); err != nil {
		t.Errorf("the image store was touched: %v", err)
	}
	for _, gone := range []string{filepath.Join(n.Dir, "var", "old"), filepath.Join(n.Logs, "kubelet.log")} {
		if _, err := os.Stat(gone); !os.IsNotExist(err) {
			t.Errorf("%s of an earlier cluster is still there", gone)
		}
	}
	got, err := readSpec(n.specFile())
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(n, got); diff != "" {
		t.Errorf("the node would read something else than was written (-want +got)\n%s", diff)
	}
}

func TestConfigurationsParse(t *testing.T) {
	n := example(t, 1)
	for name, content := range map[string]string{"kubelet": n.kubelet(), "kube-proxy": n.kubeProxy(), "scheduler": n.scheduler()} {
		var value map[string]any
		if err := yaml.UnmarshalStrict([]byte(content), &value); err != nil {
			t.Errorf("%s: %v\n%s", name, err, content)
		}
		if strings.Contains(content, "%!") {
			t.Errorf("%s: a value is missing\n%s", name, content)
		}
	}
	var value any
	if err := json.Unmarshal([]byte(n.cni()), &value); err != nil {
		t.Errorf("cni: %v\n%s", err, n.cni())
	}
	if !strings.Contains(n.kubelet(), "cgroupRoot: /lockstep/node1") || strings.Contains(n.containerd(), "%!") {
		t.Errorf("a value is missing\n%s\n%s", n.kubelet(), n.containerd())
	}
}

func TestInitRefusesToRunElsewhere(t *testing.T) {
	if err := Init("/not/there"); err == nil || !strings.Contains(err.Error(), "first process of a node") {
		t.Errorf("got %v, want a refusal", err)
	}
}
