package access_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"lockstep.dev/lockstep/pkg/compile/object"
	"lockstep.dev/lockstep/pkg/compile/origin"
	"lockstep.dev/lockstep/pkg/compile/proof/access"
	"lockstep.dev/lockstep/pkg/compile/source"
)

func role(kind, namespace, name string, labels map[string]any, rules ...map[string]any) object.Object {
	metadata := map[string]any{"name": name, "labels": labels}
	if namespace != "" {
		metadata["namespace"] = namespace
	}
	list := make([]any, len(rules))
	for i, r := range rules {
		list[i] = r
	}
	return rendered(map[string]any{"kind": kind, "metadata": metadata, "rules": list})
}

// rendered is an object as a chart has it.
func rendered(content map[string]any) object.Object {
	content["apiVersion"] = "rbac.authorization.k8s.io/v1"
	at := source.Span{File: source.NewFile("overlays/local/cluster.yaml", []byte("charts/x\n")), Line: 1, Column: 1, Length: 8}
	return object.New(object.FromValue("", content, nil), object.Place{Origin: at}, &origin.Origin{Kind: origin.Rendered, At: at})
}

func allow(groups, resources, verbs string) map[string]any {
	split := func(text string) []any {
		var list []any
		for _, word := range strings.Split(text, ",") {
			list = append(list, word)
		}
		return list
	}
	return map[string]any{"apiGroups": split(groups), "resources": split(resources), "verbs": split(verbs)}
}

func bind(namespace, roleKind, roleName string, subjects ...map[string]any) object.Object {
	kind, metadata := "ClusterRoleBinding", map[string]any{"name": "from-chart"}
	if namespace != "" {
		kind, metadata["namespace"] = "RoleBinding", namespace
	}
	list := make([]any, len(subjects))
	for i, s := range subjects {
		list[i] = s
	}
	return rendered(map[string]any{
		"kind": kind, "metadata": metadata, "subjects": list,
		"roleRef": map[string]any{"apiGroup": "rbac.authorization.k8s.io", "kind": roleKind, "name": roleName},
	})
}

func group(name string) map[string]any { return map[string]any{"kind": "Group", "name": name} }

func user(name string) map[string]any { return map[string]any{"kind": "User", "name": name} }

// newAccount is a service account as a chart makes it.
func newAccount(namespace, name string) object.Object {
	o := rendered(map[string]any{"kind": "ServiceAccount", "metadata": map[string]any{"namespace": namespace, "name": name}})
	o.Root.Put(object.Text("apiVersion", "v1", nil))
	o.ID = o.Root.ID()
	return o
}

func account(namespace, name string) map[string]any {
	return map[string]any{"kind": "ServiceAccount", "namespace": namespace, "name": name}
}

// TestProve says what is found when a chart adds roles and bindings to the sample.
func TestProve(t *testing.T) {
	s := compiled(t, specs)
	aggregated := map[string]any{"rbac.authorization.k8s.io/aggregate-to-edit": "true"}
	for name, c := range map[string]struct {
		reason string
		added  []object.Object
		want   []string
	}{
		"nothing": {"the sample is sound", nil, nil},
		"platform people": {"administrators get their rights elsewhere",
			[]object.Object{bind("", "ClusterRole", "cluster-admin", group("platform-admins"))}, []string{"LS7047"}},
		"platform user": {"a user is as good as a group",
			[]object.Object{bind("", "ClusterRole", "edit", user("mallory"))}, []string{"LS7047"}},
		"platform people, namespace": {"a shell in a pod of the platform has the rights of its account",
			[]object.Object{bind("lockstep-system", "ClusterRole", "edit", group("platform-admins"))}, []string{"LS7047"}},
		"platform people, own role": {"what is banned counts, whatever the role is called", []object.Object{
			role("ClusterRole", "", "innocent", nil, allow("", "pods", "get"), allow("", "secrets", "get")), bind("", "ClusterRole", "innocent", group("platform-admins")),
		}, []string{"LS7047"}},
		"platform people, reading": {"who reads pods gets nowhere",
			[]object.Object{bind("", "ClusterRole", "view", group("platform-auditors"))}, nil},
		"platform account": {"nobody compiled the account: it is somebody's",
			[]object.Object{role("ClusterRole", "", "operator", nil, allow("*", "*", "*")), bind("", "ClusterRole", "operator", account("operators", "operator"))}, []string{"LS7047"}},
		"component": {"its chart makes the account: a warning names what it can do", []object.Object{
			newAccount("operators", "operator"), role("ClusterRole", "", "operator", nil, allow("*", "*", "*")), bind("", "ClusterRole", "operator", account("operators", "operator")),
		}, []string{"LS7048"}},
		"component, modest": {"charts write pods, queues and webhooks", []object.Object{
			newAccount("operators", "operator"),
			role("ClusterRole", "", "operator", nil, allow("", "pods,nodes", "*"), allow("kueue.x-k8s.io", "*", "*"), allow("admissionregistration.k8s.io", "*", "update")),
			bind("", "ClusterRole", "operator", account("operators", "operator")),
		}, nil},
		"component, own namespace": {"its certificates are there",
			[]object.Object{newAccount("operators", "operator"), bind("operators", "ClusterRole", "edit", account("operators", "operator"))}, nil},
		"component, namespace of the controller": {"the keys of the controller are there",
			[]object.Object{newAccount("operators", "operator"), bind("lockstep-system", "ClusterRole", "edit", account("operators", "operator"))}, []string{"LS7048"}},
		"engine": {"it applies everything, and is known by name",
			[]object.Object{bind("", "ClusterRole", "cluster-admin", account("flux-system", "kustomize-controller"))}, nil},
		"another in the namespace of the engine": {"the namespace is no excuse",
			[]object.Object{bind("", "ClusterRole", "cluster-admin", account("flux-system", "default"))}, []string{"LS7047"}},
		"account as a user": {"its name as a user is the account",
			[]object.Object{bind("", "ClusterRole", "view", user("system:serviceaccount:vision:default"))}, []string{"LS7040"}},
		"role of Kubernetes": {"the API server keeps what edit has, whatever the manifest says",
			[]object.Object{role("ClusterRole", "", "edit", nil, allow("", "pods", "get")), bind("vision", "ClusterRole", "edit", group("vision-editors"))}, []string{"LS7040", "LS7046"}},
		"tenant, whole cluster": {"people of a tenant only read the catalog there",
			[]object.Object{bind("", "ClusterRole", "view", group("vision-editors"))}, []string{"LS7040"}},
		"tenant, other tenant": {"nobody reads another tenant's objects",
			[]object.Object{bind("speech", "ClusterRole", "lockstep-tenant-viewer", group("vision-editors"))}, []string{"LS7041"}},
		"tenant, platform": {"tenants have nothing in namespaces of the platform",
			[]object.Object{bind("lockstep-system", "ClusterRole", "view", group("vision-editors"))}, []string{"LS7040"}},
		"account of a tenant, whole cluster": {"whoever may start a pod has the rights of its accounts",
			[]object.Object{bind("", "ClusterRole", "view", account("vision", "default"))}, []string{"LS7040"}},
		"account of a tenant, its namespace": {"accounts of jobs have no rights",
			[]object.Object{bind("vision", "ClusterRole", "view", account("vision", "default"))}, []string{"LS7040"}},
		"account of a tenant, other namespace of it": {"accounts of jobs have no rights",
			[]object.Object{bind("vision-batch", "ClusterRole", "view", account("vision", "default"))}, []string{"LS7041"}},
		"stranger": {"the spec names who has rights",
			[]object.Object{bind("vision", "ClusterRole", "view", group("platform-admins"))}, []string{"LS7041"}},
		"everybody": {"everybody is also every tenant",
			[]object.Object{bind("", "ClusterRole", "view", group("system:authenticated"))}, []string{"LS7043"}},
		"accounts of a tenant's namespace": {"these are a tenant's pods",
			[]object.Object{bind("", "ClusterRole", "view", group("system:serviceaccounts:vision"))}, []string{"LS7043"}},
		"accounts of a platform's namespace": {"these are not",
			[]object.Object{bind("", "ClusterRole", "view", group("system:serviceaccounts:operators"))}, nil},
		"unknown role": {"what it allows is not known",
			[]object.Object{bind("vision", "ClusterRole", "custom", group("vision-editors"))}, []string{"LS7044"}},
		"unknown role, whole cluster": {"it may lead into namespaces of tenants",
			[]object.Object{bind("", "ClusterRole", "custom", account("operators", "operator"))}, []string{"LS7044"}},
		"unknown role, platform": {"it does not concern tenants",
			[]object.Object{bind("operators", "ClusterRole", "custom", account("operators", "operator"))}, nil},
		"known role, whole cluster": {"it asks the API server who somebody is",
			[]object.Object{bind("", "ClusterRole", "system:auth-delegator", account("operators", "operator"))}, nil},
		"local role": {"a Role of the namespace may be as bad",
			[]object.Object{role("Role", "vision", "local", nil, allow("", "secrets", "get")), bind("vision", "Role", "local", group("vision-editors"))}, []string{"LS7040"}},
		"local role of another namespace": {"roles are looked up where the binding is",
			[]object.Object{role("Role", "speech", "local", nil, allow("", "secrets", "get")), bind("vision", "Role", "local", group("vision-editors"))}, []string{"LS7044"}},
		"role without more": {"what the role has already is nothing new",
			[]object.Object{role("Role", "vision", "local", nil, allow("", "pods", "get")), bind("vision", "Role", "local", group("vision-editors"))}, nil},
		"aggregated to ours": {"a role that aggregates has the rules of others", []object.Object{
			rendered(map[string]any{
				"kind": "ClusterRole", "metadata": map[string]any{"name": "sum"}, "rules": []any{},
				"aggregationRule": map[string]any{"clusterRoleSelectors": []any{map[string]any{"matchLabels": map[string]any{"sum": "yes"}}}},
			}),
			role("ClusterRole", "", "part", map[string]any{"sum": "yes"}, allow("", "secrets", "get")),
			bind("vision", "ClusterRole", "sum", group("vision-editors")),
		}, []string{"LS7040"}},
		"aggregated to the platform's": {"whoever has edit would get it",
			[]object.Object{role("ClusterRole", "", "more", aggregated, allow("networking.k8s.io", "networkpolicies", "create"))}, []string{"LS7046"}},
		"aggregated, harmless": {"charts add their own kinds",
			[]object.Object{role("ClusterRole", "", "more", aggregated, allow("example.org", "widgets", "*"))}, nil},
		"controller's role for others": {"it reads the keys of jobs",
			[]object.Object{bind("", "ClusterRole", "mpi-controller-jobs", group("platform-admins"))}, []string{"LS7045"}},
		"controller with more": {"its chart declares what it may do",
			[]object.Object{bind("", "ClusterRole", "cluster-admin", account("lockstep-system", "mpi-controller"))}, []string{"LS7045"}},
		"catalog for strangers": {"roles of tenants are for those whom a tenant names",
			[]object.Object{bind("", "ClusterRole", "lockstep-runtime-reader", group("somebody"))}, []string{"LS7041"}},
	} {
		t.Run(name, func(t *testing.T) {
			found, _ := prove(s, slices.Concat(s.Objects, c.added))
			var got []string
			for _, d := range found {
				got = append(got, string(d.Code))
				if d.Span.IsZero() {
					t.Errorf("%s is nowhere: %s", d.Code, d.Message)
				}
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", c.reason, diff)
			}
		})
	}
}

// TestHeld: what somebody holds is the sum of what roles allow, and equal roles are equal rights.
func TestHeld(t *testing.T) {
	s := compiled(t, specs)
	_, held := prove(s, s.Objects)
	of := func(kind, name, namespace string) []access.Right {
		i := slices.IndexFunc(held, func(h access.Held) bool {
			return h.Subject.Kind == kind && h.Subject.Name == name && h.Namespace == namespace
		})
		if i < 0 {
			t.Fatalf("%s holds nothing in %q", name, namespace)
		}
		return held[i].Rights
	}
	if diff := cmp.Diff(of("Group", "vision-editors", "vision"), of("Group", "speech-editors", "speech")); diff != "" {
		t.Errorf("editors of two tenants differ:\n%s", diff)
	}
	if editor, viewer := of("Group", "vision-editors", "vision"), of("Group", "vision-auditors", "vision"); len(editor) != len(viewer)+4 {
		t.Errorf("editors have %d rights, viewers %d", len(editor), len(viewer))
	}
	beyond := access.RightsBeyond(of("Group", "vision-interns", "vision"), of("Group", "vision-editors", "vision"))
	shell := []access.Right{{Verb: "create", Resource: "pods/exec"}, {Verb: "create", Resource: "pods/portforward"}}
	if diff := cmp.Diff(shell, beyond); diff != "" {
		t.Errorf("editors who may open a shell (-want +got):\n%s", diff)
	}
	var writers []access.Right
	for _, verb := range []string{"create", "delete", "update"} {
		writers = append(writers, access.Right{Verb: verb, Resource: "secrets"})
	}
	if diff := cmp.Diff(writers, of("Group", "vision-vault", "vision")); diff != "" {
		t.Errorf("who writes Secrets (-want +got):\n%s", diff)
	}
	want := []access.Right{
		{Verb: "get", Group: "trainer.kubeflow.org", Resource: "clustertrainingruntimes"}, {Verb: "list", Group: "trainer.kubeflow.org", Resource: "clustertrainingruntimes"},
		{Verb: "watch", Group: "trainer.kubeflow.org", Resource: "clustertrainingruntimes"},
	}
	if diff := cmp.Diff(want, of("Group", "vision-admins", "")); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if !slices.IsSortedFunc(held, func(a, b access.Held) int { return strings.Compare(a.Namespace, b.Namespace) }) {
		t.Error("the result is not sorted")
	}
}

// TestApplier: the account that applies a tenant's objects has the verbs that applying takes, and no way to more.
func TestApplier(t *testing.T) {
	s := compiled(t, specs)
	for name, c := range map[string]struct {
		reason string
		rule   map[string]any
		want   []string
	}{
		"volumes":          {"it applies them", allow("", "persistentvolumeclaims", "get,list,watch,create,patch,delete"), nil},
		"policies":         {"they add up", allow("networking.k8s.io", "networkpolicies", "create"), []string{"LS7040"}},
		"quotas":           {"they bound the tenant", allow("", "resourcequotas", "patch"), []string{"LS7040"}},
		"limits":           {"they bound the tenant", allow("", "limitranges", "patch"), []string{"LS7040"}},
		"bindings":         {"they give rights", allow("rbac.authorization.k8s.io", "rolebindings", "create"), []string{"LS7040"}},
		"accounts":         {"pods run as them", allow("", "serviceaccounts", "create"), []string{"LS7040"}},
		"queues":           {"they give machines", allow("kueue.x-k8s.io", "localqueues", "create"), []string{"LS7040"}},
		"runtimes":         {"they say what pods are", allow("trainer.kubeflow.org", "trainingruntimes", "create"), []string{"LS7040"}},
		"all":              {"nobody says what it is for", allow("example.org", "*", "get"), []string{"LS7040"}},
		"secrets":          {"keys of jobs", allow("", "secrets", "get"), []string{"LS7040"}},
		"a shell":          {"has what the pod has", allow("", "pods/exec", "create"), []string{"LS7040"}},
		"attached":         {"is a shell", allow("", "pods/attach", "create"), []string{"LS7040"}},
		"beside":           {"a container in a pod is a shell in it", allow("", "pods/ephemeralcontainers", "patch"), []string{"LS7040"}},
		"tokens":           {"a token is the account", allow("", "serviceaccounts/token", "create"), []string{"LS7040"}},
		"any role":         {"would be all rights", allow("rbac.authorization.k8s.io", "clusterroles", "bind"), []string{"LS7040"}},
		"other rights":     {"would be all rights", allow("rbac.authorization.k8s.io", "roles", "escalate"), []string{"LS7040"}},
		"other people":     {"have other rights", allow("", "users", "impersonate"), []string{"LS7040"}},
		"another security": {"its pods would be more than restricted", allow("security.openshift.io", "securitycontextconstraints", "use"), []string{"LS7040"}},
	} {
		t.Run(name, func(t *testing.T) {
			added := []object.Object{role("Role", "vision", "more", nil, c.rule), bind("vision", "Role", "more", account("flux-system", "lockstep-tenant-vision"))}
			found, _ := prove(s, slices.Concat(s.Objects, added))
			var got []string
			for _, d := range found {
				got = append(got, string(d.Code))
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", c.reason, diff)
			}
		})
	}
}
