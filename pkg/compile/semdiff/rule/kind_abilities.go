package rule

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"lockstep.dev/lockstep/pkg/compile/object"
)

// kindAbility is what objects of some kinds can do. The first row that an object is of has it.
type kindAbility struct {
	// group is that of the kinds, or with a leading dot the end of it.
	group string
	// kinds are those of the row; none means all of the group.
	kinds []string
	does  func(*object.Object) []ability
}

func (k *kindAbility) matches(o *object.Object) bool {
	ofGroup := o.ID.Group == k.group || strings.HasPrefix(k.group, ".") && strings.HasSuffix("."+o.ID.Group, k.group)
	return ofGroup && (len(k.kinds) == 0 || slices.Contains(k.kinds, o.ID.Kind))
}

const (
	admissionGroup = "admissionregistration.k8s.io"
	storageGroup   = "storage.k8s.io"
)

// kindAbilities are the kinds that can do more than their namespace. To add one, write its row: what may it read, run, change or delete?
var kindAbilities = []kindAbility{
	{".toolkit.fluxcd.io", []string{"GitRepository", "OCIRepository", "HelmRepository", "Bucket"}, followsRepositories("url", "endpoint")},
	{".toolkit.fluxcd.io", []string{"Kustomization"}, kustomizationAbility},
	{".toolkit.fluxcd.io", []string{"HelmRelease"}, alwaysAbility(ChangesSync, Warning, "installs a chart, whose objects are not part of this review")},
	{".toolkit.fluxcd.io", []string{"ImageUpdateAutomation"}, alwaysAbility(ChangesSync, Warning, "writes to the repository without a review")},
	{".toolkit.fluxcd.io", []string{"Receiver"}, alwaysAbility(ChangesSync, Warning, "lets requests from outside start the GitOps engine")},
	{".toolkit.fluxcd.io", []string{"Alert", "Provider"}, alwaysAbility(ChangesSync, Warning, "sends what the GitOps engine does to another place")},
	{".toolkit.fluxcd.io", nil, alwaysAbility(ChangesSync, Warning, "tells the GitOps engine what no rule understands")},
	{argoGroup, []string{"Application", "ApplicationSet"}, followsRepositories("repoURL")},
	{argoGroup, []string{"AppProject"}, appProjectAbility},
	{argoGroup, nil, alwaysAbility(ChangesSync, Warning, "tells the GitOps engine what no rule understands, or runs programs")},

	{admissionGroup, webhookKinds, webhookAbility},
	{admissionGroup, []string{"MutatingAdmissionPolicy"}, mutatingPolicyAbility},
	{admissionGroup, []string{"MutatingAdmissionPolicyBinding"}, alwaysAbility(AdmitsMore, Warning, "puts a policy into force that rewrites what others ask for")},

	{"apiextensions.k8s.io", []string{"CustomResourceDefinition"}, customResourceAbility},
	{"apiregistration.k8s.io", []string{"APIService"}, apiServiceAbility},
	{"flowcontrol.apiserver.k8s.io", nil, alwaysAbility(WidensAccess, Warning, "decides whose requests the API server answers first, and whose wait")},
	{"certificates.k8s.io", nil, alwaysAbility(WidensAccess, Warning, "decides whom the cluster knows, or trusts")},

	{"", []string{"PersistentVolume"}, volumeAbility},
	{"", []string{"PersistentVolumeClaim"}, claimAbility},
	{"", []string{"Service"}, externalNameAbility},
	{"", []string{"Endpoints"}, endpointsAbility},
	{"", []string{"ConfigMap"}, configMapProgramAbility},
	{"", []string{"Node"}, machineAbility},
	{"discovery.k8s.io", []string{"EndpointSlice"}, endpointsAbility},
	{storageGroup, []string{"CSIDriver"}, csiDriverAbility},
	{storageGroup, []string{"StorageClass"}, defaultClassAbility("storageclass.kubernetes.io/is-default-class", "volumes that name no class")},
	{"networking.k8s.io", []string{"IngressClass"}, defaultClassAbility("ingressclass.kubernetes.io/is-default-class", "routes that name no class")},
	{"node.k8s.io", []string{"RuntimeClass"}, runtimeClassAbility},
	{"scheduling.k8s.io", []string{"PriorityClass"}, priorityClassAbility},

	{"kueue.x-k8s.io", []string{"LocalQueue"}, localQueueAbility},
	{"kueue.x-k8s.io", []string{"ClusterQueue", "Cohort"}, foreignAbility(WidensAccess, "gives machines to jobs, beside what specs give")},
	{"kueue.x-k8s.io", []string{"WorkloadPriorityClass"}, foreignAbility(ReordersQueue, "lets the jobs that name it go before others")},
	{"monitoring.coreos.com", []string{"AlertmanagerConfig", "ScrapeConfig", "Probe"}, foreignAbility(WidensAccess, "asks, or tells, another place what is measured")},
	{"monitoring.coreos.com", []string{"ServiceMonitor", "PodMonitor"}, scrapeAbility},
	{"policy", []string{"PodDisruptionBudget"}, disruptionBudgetAbility},
	{"", []string{"LimitRange"}, foreignAbility(AdmitsLess, "may refuse pods that were accepted before")},
	{"", []string{"ResourceQuota"}, resourceQuotaAbility},
	{admissionGroup, []string{"ValidatingAdmissionPolicyBinding"}, policyBindingAbility},

	{"machineconfiguration.openshift.io", nil, alwaysAbility(WidensAccess, Critical, "writes files and starts programs on machines, as root")},
	{"config.openshift.io", nil, alwaysAbility(WidensAccess, Critical, "sets up the cluster itself: who may sign in, what its API server accepts, where images come from")},
	{"operators.coreos.com", nil, alwaysAbility(WidensAccess, Critical, "installs programs with rights of their own, which are not part of this review")},
}

func alwaysAbility(consequence Consequence, severity Severity, words string) func(*object.Object) []ability {
	return func(*object.Object) []ability {
		return []ability{{consequence: consequence, severity: severity, description: words}}
	}
}

// machineAbility is that pods are sent to a machine that somebody adds. A taint NoExecute stops those that run there
// (https://kubernetes.io/docs/concepts/scheduling-eviction/taint-and-toleration/).
func machineAbility(o *object.Object) []ability {
	can := []ability{{consequence: WidensAccess, severity: Critical, description: "is a machine that pods are sent to"}}
	for taint := range o.Root.At("spec", "taints").Items() {
		if taint.Scalar("effect") == "NoExecute" {
			return append(can, ability{consequence: AdmitsLess, severity: Critical, jobs: JobsStopped, description: "stops the pods of its machine that do not tolerate the taint " + taint.Scalar("key")})
		}
	}
	return can
}

func warningAbility(consequence Consequence, words string) []ability {
	return []ability{{consequence: consequence, severity: Warning, description: words}}
}

// foreignAbility is what objects can do that an overlay or a chart brings; those of specs are told by the rules for them.
func foreignAbility(consequence Consequence, words string) func(*object.Object) []ability {
	return func(o *object.Object) []ability {
		if !isForeignObject(o) {
			return nil
		}
		return warningAbility(consequence, words)
	}
}

// localQueueAbility is that a queue lets jobs of a namespace have the machines of another queue.
func localQueueAbility(o *object.Object) []ability {
	return foreignAbility(WidensAccess, "lets jobs of "+o.ID.Namespace+" have what the queue "+o.Root.Scalar("spec", "clusterQueue")+" has")(o)
}

// resourceQuotaAbility is that a namespace may have no more than some amounts.
func resourceQuotaAbility(o *object.Object) []ability {
	var amounts []string
	for amount := range o.Root.At("spec", "hard").Items() {
		amounts = append(amounts, amount.Key+" "+amount.Text)
	}
	return foreignAbility(AdmitsLess, "bounds what "+o.ID.Namespace+" may have: "+severalText(amounts))(o)
}

// disruptionBudgetAbility is that by a budget none of its pods may be asked to go: whoever empties a machine waits forever.
func disruptionBudgetAbility(o *object.Object) []ability {
	spec := o.Root.Get("spec")
	switch {
	case spec.Scalar("maxUnavailable") == "0", spec.Scalar("maxUnavailable") == "0%", spec.Scalar("minAvailable") == "100%":
		return foreignAbility(AddsObjects, "lets no pod of its own be asked to go: machines with them cannot be emptied")(o)
	}
	return nil
}

// policyBindingAbility is that by a binding requests are refused, not only warned about.
func policyBindingAbility(o *object.Object) []ability {
	if !slices.Contains(o.Root.At("spec", "validationActions").Strings(), "Deny") {
		return nil
	}
	return foreignAbility(AdmitsLess, "puts the policy "+o.Root.Scalar("spec", "policyName")+" into force, which refuses requests")(o)
}

// followsRepositories is what makes an engine follow the repositories that are under some keys, at any depth.
func followsRepositories(keys ...string) func(*object.Object) []ability {
	return func(o *object.Object) []ability {
		if isForTenantJobs(o) {
			return nil
		}
		var can []ability
		for _, place := range followedPlaces(o.Root.Get("spec"), keys) {
			can = append(can, ability{consequence: ChangesSync, severity: Critical, description: "makes the GitOps engine follow " + place + ": all who can write there decide what runs on the cluster", follows: place})
		}
		if len(can) == 0 {
			return warningAbility(ChangesSync, "tells the GitOps engine to follow what no rule can read")
		}
		return can
	}
}

// isForTenantJobs reports whether an object that is compiled makes an engine apply TrainJobs of a tenant, and nothing else.
func isForTenantJobs(o *object.Object) bool {
	return strings.HasPrefix(o.ID.Name, "lockstep-jobs-") && !isForeignObject(o)
}

// followedPlaces are the repositories under some keys, each once.
func followedPlaces(n *object.Node, keys []string) []string {
	var found []string
	for child := range n.Items() {
		if slices.Contains(keys, child.Key) && child.Text != "" {
			found = append(found, repositoryPlace(child.Text))
		}
		found = append(found, followedPlaces(child, keys)...)
	}
	return sortedDistinct(found)
}

// kustomizationAbility is what a stage of Flux applies that an overlay or a chart brings.
func kustomizationAbility(o *object.Object) []ability {
	return warningAbility(ChangesSync, "makes the GitOps engine apply "+cmp.Or(o.Root.Scalar("spec", "path"), "everything")+" of "+cmp.Or(o.Root.Scalar("spec", "sourceRef", "name"), "a source")+", which is not part of this review")
}

func appProjectAbility(o *object.Object) []ability {
	if hasWildcard(&o.Root) {
		return []ability{{consequence: WidensAccess, severity: Critical, description: "lets Applications apply anything, from anywhere or everywhere"}}
	}
	return warningAbility(WidensAccess, "bounds what Applications may apply")
}

// criticalResources are those by which one who rewrites them has the cluster.
var criticalResources = []string{
	"*", "*/*", "pods", "pods/*", "secrets", "serviceaccounts", "nodes", "namespaces", "deployments", "daemonsets", "statefulsets", "jobs", "cronjobs",
	"trainjobs", "jobsets", "trainingruntimes", "clustertrainingruntimes", "roles", "clusterroles", "rolebindings", "clusterrolebindings", "networkpolicies", "validatingadmissionpolicies",
}

// isCriticalRule reports whether a rule of admission is about critical resources.
func isCriticalRule(rule *object.Node) bool {
	return slices.ContainsFunc(rule.Get("resources").Strings(), func(r string) bool { return slices.Contains(criticalResources, r) })
}

// webhookAbility is that a webhook reads what others ask the API server for, with the content of Secrets; one that mutates rewrites it.
func webhookAbility(o *object.Object) []ability {
	var rules []*object.Node
	reads, severity := "reads, and may refuse, ", Warning
	for hook := range o.Root.Get("webhooks").Items() {
		away := hook.Scalar("clientConfig", "url") != ""
		for rule := range hook.Get("rules").Items() {
			if rules = append(rules, rule); isAboutSecrets(rule, away) {
				severity = Critical
			}
		}
	}
	if o.ID.Kind == "MutatingWebhookConfiguration" {
		reads = "reads, and may rewrite, "
		if slices.ContainsFunc(rules, isCriticalRule) {
			severity = Critical
		}
	}
	return []ability{{consequence: AdmitsMore, severity: severity, description: reads + resourcesText(rules) + " that others ask for: it asks " + webhookTargets(o)}}
}

// isAboutSecrets reports whether a rule of admission is about Secrets, which are of the group without a name, or about
// everything of any group.
func isAboutSecrets(rule *object.Node, anyGroup bool) bool {
	return (anyGroup || slices.ContainsFunc(rule.Get("apiGroups").Strings(), holdsSecrets)) &&
		slices.ContainsFunc(rule.Get("resources").Strings(), func(r string) bool { return r == "*" || r == "*/*" || r == "secrets" })
}

func holdsSecrets(group string) bool { return group == "" || group == "*" }

// resourcesText are the resources of rules in a sentence.
func resourcesText(rules []*object.Node) string {
	var found []string
	for _, rule := range rules {
		list, groups := rule.Get("resources").Strings(), rule.Get("apiGroups").Strings()
		switch {
		case !slices.Contains(list, "*") && !slices.Contains(list, "*/*"):
			found = append(found, list...)
		case slices.ContainsFunc(groups, holdsSecrets):
			return "everything"
		default:
			found = append(found, "everything of "+severalText(groups))
		}
	}
	return cmp.Or(severalText(sortedDistinct(found)), "nothing")
}

func mutatingPolicyAbility(o *object.Object) []ability {
	rules, severity := slices.Collect(o.Root.At("spec", "matchConstraints", "resourceRules").Items()), Warning
	if slices.ContainsFunc(rules, isCriticalRule) {
		severity = Critical
	}
	return []ability{{consequence: AdmitsMore, severity: severity, description: "rewrites " + resourcesText(rules) + " that others ask for"}}
}

// jobGroups are the APIs by which jobs run.
var jobGroups = []string{"trainer.kubeflow.org", "jobset.x-k8s.io", "kueue.x-k8s.io"}

func customResourceAbility(o *object.Object) []ability {
	kind, severity := o.Root.Scalar("spec", "names", "kind"), Warning
	words := "adds the kind " + kind + " to the API: what its controller does for those who write one is not known here"
	if slices.Contains(jobGroups, o.Root.Scalar("spec", "group")) {
		severity = Critical
		words = "takes over " + o.ID.Name + ", by which jobs run: if its file goes, all of them go"
	}
	if client := o.Root.At("spec", "conversion", "webhook", "clientConfig"); client != nil {
		severity = Critical
		words += ", and all of them are read and rewritten by " + cmp.Or(client.Scalar("url"), "the Service "+client.Scalar("service", "namespace")+"/"+client.Scalar("service", "name"))
	}
	return []ability{{consequence: AddsObjects, severity: severity, description: words}}
}

// apiServiceAbility is that another server answers an API. Requests have the name of who asks, and what is written.
func apiServiceAbility(o *object.Object) []ability {
	group, service := o.Root.Scalar("spec", "group"), o.Root.At("spec", "service")
	if service == nil {
		return nil
	}
	severity, name := Warning, cmp.Or(group, "the API's own group")
	if !strings.Contains(group, ".") || strings.HasSuffix(group, ".k8s.io") && !strings.HasSuffix(group, "metrics.k8s.io") {
		severity = Critical
	}
	can := []ability{{
		consequence: WidensAccess, severity: severity,
		description: "lets the Service " + service.Scalar("namespace") + "/" + service.Scalar("name") + " answer requests for " + name +
			": it reads them, with who asks",
	}}
	if o.Root.Scalar("spec", "insecureSkipTLSVerify") == "true" {
		can = append(can, ability{
			consequence: WidensAccess, severity: Critical,
			description: "lets the API server check no certificate of the server of " + name + ": a machine between them answers in its place",
		})
	}
	return can
}

// volumeAbility is that pods get data that is there already.
func volumeAbility(o *object.Object) []ability {
	spec, whom := o.Root.Get("spec"), "pods"
	if claim := spec.At("claimRef"); claim != nil {
		whom = "those who mount the claim " + claim.Scalar("namespace") + "/" + claim.Scalar("name")
	}
	for _, kind := range []string{"hostPath", "local"} {
		if path := spec.Scalar(kind, "path"); path != "" {
			return []ability{{consequence: WidensAccess, severity: Critical, description: "gives " + whom + " the folder " + path + " of a machine"}}
		}
	}
	what := "data that is there already"
	switch {
	case spec.Scalar("nfs", "server") != "":
		what = "the files of " + spec.Scalar("nfs", "server") + ":" + spec.Scalar("nfs", "path")
	case spec.Scalar("csi", "volumeHandle") != "":
		what = "the volume " + spec.Scalar("csi", "volumeHandle") + " of " + spec.Scalar("csi", "driver")
	}
	return warningAbility(WidensAccess, "gives "+whom+" "+what)
}

// claimAbility is that a claim takes a volume that has data, or gets it from another one.
func claimAbility(o *object.Object) []ability {
	spec := o.Root.Get("spec")
	if name := spec.Scalar("volumeName"); name != "" {
		return warningAbility(WidensAccess, "takes the volume "+name+", with the data that it has")
	}
	for _, key := range []string{"dataSourceRef", "dataSource"} {
		if from := spec.At(key); from != nil {
			severity := Warning
			if other := from.Scalar("namespace"); other != "" && other != o.ID.Namespace {
				severity = Critical
			}
			return []ability{{consequence: WidensAccess, severity: severity, description: "gets a copy of the data of " + from.Scalar("kind") + " " + strings.TrimPrefix(from.Scalar("namespace")+"/"+from.Scalar("name"), "/")}}
		}
	}
	return nil
}

func externalNameAbility(o *object.Object) []ability {
	if o.Root.Scalar("spec", "type") != "ExternalName" {
		return nil
	}
	return []ability{{consequence: OpensNetwork, severity: severityOfLeading(o, o.ID.Name), description: "leads to " + o.Root.Scalar("spec", "externalName")}}
}

// severityOfLeading is how severe it is that a Service leads elsewhere: what asks those of the cluster itself, such as its DNS, its API and its
// operators, believes the answer.
func severityOfLeading(o *object.Object, service string) Severity {
	if isSystemNamespace(o.ID.Namespace) || slices.Contains(operators, o.ID.Namespace) || slices.Contains(clusterNames, service) {
		return Critical
	}
	return Warning
}

// endpointsAbility is where a Service leads to, whatever it selects.
func endpointsAbility(o *object.Object) []ability {
	var addresses []string
	for subset := range o.Root.Get("subsets").Items() {
		for address := range subset.Get("addresses").Items() {
			addresses = append(addresses, address.Scalar("ip"))
		}
	}
	for endpoint := range o.Root.Get("endpoints").Items() {
		addresses = append(addresses, endpoint.Get("addresses").Strings()...)
	}
	name := cmp.Or(o.Root.Scalar("metadata", "labels", "kubernetes.io/service-name"), o.ID.Name)
	return []ability{{consequence: OpensNetwork, severity: severityOfLeading(o, name),
		description: "leads what goes to the Service " + o.ID.Namespace + "/" + name + " to " + cmp.Or(severalText(sortedDistinct(addresses)), "nothing")}}
}

// configMapProgramAbility is that a file of a ConfigMap is a dangerous program where it is run.
func configMapProgramAbility(o *object.Object) []ability {
	var can []ability
	for file := range o.Root.Get("data").Items() {
		if found := risksOfText("", file.Text); len(found) > 0 && found[0].critical {
			can = append(can, warningAbility(WidensAccess, "has a program, "+file.Key+", that "+found[0].description)...)
		}
	}
	return can
}

func csiDriverAbility(o *object.Object) []ability {
	if requests := o.Root.At("spec", "tokenRequests"); requests != nil && len(requests.Children) > 0 {
		return []ability{{consequence: WidensAccess, severity: Critical, description: "gets tokens of the service accounts whose pods have its volumes"}}
	}
	return warningAbility(WidensAccess, "mounts volumes on machines for pods")
}

// defaultClassAbility is that a class holds for all who name none.
func defaultClassAbility(annotation, whose string) func(*object.Object) []ability {
	return func(o *object.Object) []ability {
		if o.Root.Scalar("metadata", "annotations", annotation) != "true" {
			return nil
		}
		by := cmp.Or(o.Root.Scalar("provisioner"), o.Root.Scalar("spec", "controller"))
		return warningAbility(WidensAccess, "is the default: "+whose+" get it, by "+by)
	}
}

func runtimeClassAbility(o *object.Object) []ability {
	return warningAbility(WidensAccess, "lets pods choose the program on the machine that runs them: "+o.Root.Scalar("handler"))
}

// priorityClassAbility is that pods go before others. Those of specs are told by the rule for queues, but for the default of all pods.
func priorityClassAbility(o *object.Object) []ability {
	value, _ := strconv.ParseFloat(o.Root.Scalar("value"), 64)
	switch {
	case o.Root.Scalar("globalDefault") == "true":
		return warningAbility(ReordersQueue, "is the default: all pods that name no priority get "+strconv.Itoa(int(value)))
	case isForeignObject(o) && value > 0 && o.Root.Scalar("preemptionPolicy") != "Never":
		return warningAbility(ReordersQueue, "lets pods stop those of others below the priority "+strconv.Itoa(int(value)))
	}
	return nil
}

// hasWildcard reports whether some text of a value is, or has, a `*`.
func hasWildcard(n *object.Node) bool {
	return strings.Contains(n.Text, "*") || slices.ContainsFunc(n.Children, func(child object.Node) bool { return hasWildcard(&child) })
}
