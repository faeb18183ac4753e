package references

import (
	"slices"
	"strings"

	"lockstep.dev/lockstep/pkg/compile/object"
	"lockstep.dev/lockstep/pkg/compile/proof/labels"
)

// What objects name is of these groups.
const (
	rbacGroup      = "rbac.authorization.k8s.io"
	admissionGroup = "admissionregistration.k8s.io"
	kueueGroup     = "kueue.x-k8s.io"
	routesGroup    = "gateway.networking.k8s.io"
	queueLabel     = "kueue.x-k8s.io/queue-name"
	nameLabel      = "kubernetes.io/metadata.name"
)

// plainGroups are the groups of which it is known that what is made of their objects is made of a template in them, or nothing.
var plainGroups = []string{
	"", "apps", "batch", "autoscaling", "policy", "networking.k8s.io", rbacGroup, "coordination.k8s.io", "discovery.k8s.io", "events.k8s.io", routesGroup, kueueGroup, "route.openshift.io",
}

// plainKinds are those of other groups of which it is known.
var plainKinds = []string{"ServiceMonitor", "PodMonitor", "PrometheusRule", "Certificate", "Issuer", "Kustomization", "GitRepository", "Application", "AppProject", "ExternalSecret"}

// templates are where objects have their pods.
var templates = map[string][]string{
	"CronJob":               {"spec", "jobTemplate", "spec", "template"},
	"DaemonSet":             {"spec", "template"},
	"Deployment":            {"spec", "template"},
	"Job":                   {"spec", "template"},
	"Pod":                   {},
	"ReplicaSet":            {"spec", "template"},
	"ReplicationController": {"spec", "template"},
	"StatefulSet":           {"spec", "template"},
}

func (r factReader) readObject() {
	o := r.object
	root, spec, own := &o.Root, o.Root.Get("spec"), o.ID.Namespace
	if own != "" && !r.patchedOnly {
		r.noteNamespace(root.At("metadata", "namespace"))
		if !slices.Contains(plainGroups, o.ID.Group) && !slices.Contains(plainKinds, o.ID.Kind) {
			r.facts.makers = append(r.facts.makers, own)
		}
	}
	r.readNamespaceNames(root)
	switch o.ID.Kind {
	case "RoleBinding", "ClusterRoleBinding":
		r.readBinding()
	case "Service":
		r.readService()
	case "ConfigMap":
		r.facts.configs = append(r.facts.configs, configMapFact{o.ID, append(keysOfMap(root.Get("data")), keysOfMap(root.Get("binaryData"))...)})
	case "NetworkPolicy", "PodDisruptionBudget":
		r.readPodSelector(spec)
		r.readIdleRules(spec)
	case "Role", "ClusterRole":
		r.readRights(root)
	case "ServiceMonitor", "PodMonitor":
		r.readMonitor(spec)
	case "ValidatingWebhookConfiguration", "MutatingWebhookConfiguration":
		for hook := range root.Get("webhooks").Items() {
			r.readAskedService(hook.At("clientConfig", "service"), "443", "nothing answers, and what the webhook is about is refused or not judged")
		}
	case "APIService":
		r.readAskedService(spec.At("service"), "443", "nothing answers requests for the API")
	case "ValidatingAdmissionPolicyBinding":
		r.noteName(spec.At("policyName"), admissionGroup, "ValidatingAdmissionPolicy", "", everywhere, "the binding enforces nothing")
	case "MutatingAdmissionPolicyBinding":
		r.noteName(spec.At("policyName"), admissionGroup, "MutatingAdmissionPolicy", "", everywhere, "the binding enforces nothing")
	case "HorizontalPodAutoscaler":
		target := spec.At("scaleTargetRef")
		group, _, _ := strings.Cut(target.Scalar("apiVersion"), "/")
		r.noteName(target.At("name"), group, target.Scalar("kind"), own, closed, "nothing is scaled")
	case "PersistentVolumeClaim":
		r.noteName(spec.At("storageClassName"), "storage.k8s.io", "StorageClass", "", everywhere, "no volume is made")
	case "LocalQueue":
		r.noteName(spec.At("clusterQueue"), kueueGroup, "ClusterQueue", "", everywhere, "jobs wait forever")
	case "Ingress", "Route", "HTTPRoute", "GRPCRoute":
		r.readRoutedServices(root)
	}
	if path, has := templates[o.ID.Kind]; has {
		r.readPods(root.At(path...))
	}
	r.noteName(root.At("metadata", "labels", queueLabel), kueueGroup, "LocalQueue", own, compiled, "it waits forever")
}

// readBinding reads whom a binding gives what. ClusterRoles may be everybody's, and those that are not known are told by the proof of access.
func (r factReader) readBinding() {
	o := r.object
	if role := o.Root.Get("roleRef"); role.Scalar("kind") == "Role" {
		r.noteName(role.At("name"), rbacGroup, "Role", o.ID.Namespace, compiled, "the binding gives nothing")
	}
	for subject := range o.Root.Get("subjects").Items() {
		if subject.Scalar("kind") == "ServiceAccount" {
			r.noteNamespace(subject.At("namespace"))
			r.noteName(subject.At("name"), "", "ServiceAccount", subject.Scalar("namespace"), compiled, "nobody has the rights")
		}
	}
}

func (r factReader) readService() {
	o := r.object
	spec := o.Root.Get("spec")
	own := serviceFact{id: o.ID, labels: textsByKey(o.Root.At("metadata", "labels"))}
	s := labelSelection{by: o.ID, namespace: o.ID.Namespace, at: r.placeOf(spec.At("selector"))}
	for port := range spec.At("ports").Items() {
		own.ports = append(own.ports, port.Scalar("port"), port.Scalar("name"))
		if target := port.At("targetPort"); target != nil && target.Kind == object.TextNode {
			s.ports = append(s.ports, placedText{target.Text, r.placeOf(target)})
		}
	}
	r.facts.services = append(r.facts.services, own)
	if selector := spec.At("selector"); selector != nil && len(selector.Children) > 0 && r.isJudged(selector) {
		s.selector = selectorOrEverything(object.Map("", selector.Named("matchLabels")))
		r.facts.selections = append(r.facts.selections, s)
	}
}

// readPodSelector reads which pods a policy or a budget is for. An empty selector is for all.
func (r factReader) readPodSelector(spec *object.Node) {
	key := map[string]string{"NetworkPolicy": "podSelector", "PodDisruptionBudget": "selector"}[r.object.ID.Kind]
	selector := spec.At(key)
	if selector == nil || len(selector.Children) == 0 || !r.isJudged(selector) {
		return
	}
	s := labelSelection{by: r.object.ID, namespace: r.object.ID.Namespace, selector: selectorOrEverything(*selector), at: r.placeOf(selector)}
	for rule := range spec.At("ingress").Items() {
		for port := range rule.Get("ports").Items() {
			if own := port.Get("port"); own != nil && own.Kind == object.TextNode {
				s.ports = append(s.ports, placedText{own.Text, r.placeOf(own)})
			}
		}
	}
	r.facts.selections = append(r.facts.selections, s)
}

// monitor reads what a monitor measures in its own namespace.
// directions reads the rules of a policy for a direction that it is not about.
func (r factReader) readIdleRules(spec *object.Node) {
	types := spec.Get("policyTypes")
	if r.object.ID.Kind != "NetworkPolicy" || types == nil {
		return
	}
	for key, direction := range map[string]string{"egress": "Egress", "ingress": "Ingress"} {
		if rules := spec.Get(key); rules != nil && len(rules.Children) > 0 && r.isJudged(rules) && !slices.Contains(types.Strings(), direction) {
			r.facts.idle = append(r.facts.idle, idleRules{r.object.ID, placedText{key, r.placeOf(rules)}})
		}
	}
}

func (r factReader) readMonitor(spec *object.Node) {
	namespace, elsewhere := r.object.ID.Namespace, spec.At("namespaceSelector")
	for n := range elsewhere.At("matchNames").Items() {
		r.noteNamespace(n)
		namespace = n.Text
	}
	several := elsewhere != nil && (len(elsewhere.Children) != 1 || len(elsewhere.At("matchNames").Strings()) != 1)
	selector := spec.At("selector")
	if several || selector == nil || len(selector.Children) == 0 || !r.isJudged(selector) {
		return
	}
	var ports []placedText
	for endpoint := range spec.At("endpoints").Items() {
		if port := endpoint.At("port"); r.isJudged(port) {
			ports = append(ports, placedText{port.Text, r.placeOf(port)})
		}
	}
	r.facts.selections = append(r.facts.selections, labelSelection{
		ports: ports, by: r.object.ID, namespace: namespace, services: r.object.ID.Kind == "ServiceMonitor", selector: selectorOrEverything(*selector), at: r.placeOf(selector),
	})
}

// readAskedService reads which Service is asked by something outside of its namespace.
func (r factReader) readAskedService(client *object.Node, port, without string) {
	if own := client.Scalar("port"); own != "" {
		port = own
	}
	r.noteNamespace(client.At("namespace"))
	r.noteNameOfPart(client.At("name"), client.At("port"), objectName{of: object.ID{Kind: "Service", Namespace: client.Scalar("namespace")}, port: port, reach: closed, without: without})
}

// readRoutedServices reads to which Services requests from outside go, however deep their names are.
func (r factReader) readRoutedServices(n *object.Node) {
	const without = "requests are answered with an error"
	at := object.ID{Kind: "Service", Namespace: r.object.ID.Namespace}
	switch backend := n.At("service"); {
	case backend != nil: // of an Ingress
		port := backend.At("port", "number")
		if port == nil {
			port = backend.At("port", "name")
		}
		r.noteNameOfPart(backend.At("name"), port, objectName{of: at, port: textOrEmpty(port), reach: closed, without: without})
		return
	case n.Key == "to" && n.Scalar("kind") == "Service": // of a Route
		r.noteNameOfPart(n.At("name"), nil, objectName{of: at, reach: closed, without: without})
		return
	}
	for child := range n.Items() {
		if n.Key == "backendRefs" && (child.Scalar("kind") == "" || child.Scalar("kind") == "Service") {
			if other := child.Scalar("namespace"); other != "" {
				at.Namespace = other
			}
			r.noteNameOfPart(child.At("name"), child.At("port"), objectName{of: at, port: textOrEmpty(child.At("port")), reach: closed, without: without})
			continue
		}
		r.readRoutedServices(child)
	}
}

func textOrEmpty(n *object.Node) string {
	if n == nil {
		return ""
	}
	return n.Text
}

// readNamespaceNames reads the names of namespaces in selectors.
func (r factReader) readNamespaceNames(n *object.Node) {
	for child := range n.Items() {
		switch {
		case child.Key == nameLabel && child.Leaf():
			r.noteNamespace(child)
		case child.Scalar("key") == nameLabel && child.Get("values") != nil:
			for value := range child.Get("values").Items() {
				r.noteNamespace(value)
			}
		default:
			r.readNamespaceNames(child)
		}
	}
}

func (r factReader) noteNamespace(n *object.Node) {
	if n != nil && n.Text != "" && r.isJudged(n) {
		r.facts.mentions = append(r.facts.mentions, namespaceMention{r.object.ID, placedText{n.Text, r.placeOf(n)}})
	}
}

// selectorOrEverything reads a selector; one that cannot be read, or that asks for labels that controllers set, selects everything.
func selectorOrEverything(n object.Node) labels.Selector {
	for label := range n.Get("matchLabels").Items() {
		if isSetByController(label.Key) {
			return nil
		}
	}
	for expression := range n.Get("matchExpressions").Items() {
		if isSetByController(expression.Scalar("key")) {
			return nil
		}
	}
	s, _ := labels.ReadSelector(&n)
	return s
}

// isSetByController reports whether controllers set a label of pods.
func isSetByController(key string) bool {
	prefix, _, _ := strings.Cut(key, "/")
	return slices.Contains([]string{"job-name", "controller-uid", "pod-template-hash", "controller-revision-hash"}, key) ||
		slices.Contains([]string{"batch.kubernetes.io", "apps.kubernetes.io", "statefulset.kubernetes.io", "jobset.sigs.k8s.io"}, prefix)
}

func keysOfMap(n *object.Node) []string {
	var found []string
	for child := range n.Items() {
		found = append(found, child.Key)
	}
	return found
}

func textsByKey(n *object.Node) map[string]string {
	found := map[string]string{}
	for child := range n.Items() {
		found[child.Key] = child.Text
	}
	return found
}
