package gitops

// opening is a policy that opens all egress of a namespace: policies add up.
func opening(namespace string) string {
	return "apiVersion: networking.k8s.io/v1\nkind: NetworkPolicy\nmetadata: {name: open, namespace: " + namespace + "}\nspec: {podSelector: {}, policyTypes: [Egress], egress: [{}]}\n"
}

// smuggled are objects that widen what a tenant may do, and the words of the refusal. Those that exist already are told by what they would change.
var smuggled = []struct{ what, object, words, changes, argoWords string }{
	{"a NetworkPolicy that opens all egress", opening("climate"), `cannot patch resource "networkpolicies" in API group "networking.k8s.io" in the namespace "climate"`, "", "networking.k8s.io:NetworkPolicy"},
	{"a RoleBinding to cluster-admin", binding("RoleBinding", "climate"), `cannot patch resource "rolebindings" in API group "rbac.authorization.k8s.io" in the namespace "climate"`, "", "rbac.authorization.k8s.io:RoleBinding"},
	{"a ClusterRoleBinding", binding("ClusterRoleBinding", ""), `cannot patch resource "clusterrolebindings" in API group "rbac.authorization.k8s.io" at the cluster scope`, "", "rbac.authorization.k8s.io:ClusterRoleBinding"},
	{"a namespace", "apiVersion: v1\nkind: Namespace\nmetadata: {name: mine}\n", `cannot patch resource "namespaces" in API group "" in the namespace "mine"`, "", ":Namespace"},
	{
		"an object in the namespace of another tenant", "apiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {name: mine, namespace: geology}\nspec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}\n",
		`cannot patch resource "persistentvolumeclaims" in API group "" in the namespace "geology"`, "", "namespace geology",
	},
	{
		"a runtime", "apiVersion: trainer.kubeflow.org/v1alpha1\nkind: TrainingRuntime\nmetadata: {name: mine, namespace: climate}\nspec: {template: {spec: {}}}\n",
		`cannot patch resource "trainingruntimes" in API group "trainer.kubeflow.org" in the namespace "climate"`, "", "trainer.kubeflow.org:TrainingRuntime",
	},
	{
		"a wider quota", "apiVersion: v1\nkind: ResourceQuota\nmetadata: {name: lockstep-quota, namespace: climate}\nspec: {hard: {pods: \"98765\"}}\n",
		`cannot patch resource "resourcequotas" in API group "" in the namespace "climate"`, "98765", ":ResourceQuota",
	},
	{
		"another limit", "apiVersion: v1\nkind: LimitRange\nmetadata: {name: mine, namespace: climate}\nspec: {limits: [{type: Container, max: {cpu: \"98765\"}}]}\n",
		`cannot patch resource "limitranges" in API group "" in the namespace "climate"`, "", ":LimitRange",
	},
	{
		"a queue", "apiVersion: kueue.x-k8s.io/v1beta2\nkind: LocalQueue\nmetadata: {name: mine, namespace: climate}\nspec: {clusterQueue: geology}\n",
		`cannot patch resource "localqueues" in API group "kueue.x-k8s.io" in the namespace "climate"`, "", "kueue.x-k8s.io:LocalQueue",
	},
	{
		"an account", "apiVersion: v1\nkind: ServiceAccount\nmetadata: {name: mine, namespace: climate}\n",
		`cannot patch resource "serviceaccounts" in API group "" in the namespace "climate"`, "", ":ServiceAccount",
	},
}

func binding(kind, namespace string) string {
	text := "apiVersion: rbac.authorization.k8s.io/v1\nkind: " + kind + "\nmetadata: {name: mine"
	if namespace != "" {
		text += ", namespace: " + namespace
	}
	return text + "}\nroleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: cluster-admin}\nsubjects: [{apiGroup: rbac.authorization.k8s.io, kind: Group, name: climate-editors}]\n"
}
