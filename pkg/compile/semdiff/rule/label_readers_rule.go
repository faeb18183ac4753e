package rule

import (
	"slices"
	"strings"

	"lockstep.dev/lockstep/pkg/compile/semdiff/match"
)

var readersRule = &Rule{
	Name: "readers", Title: "Labels and annotations that programs read",
	Doc: "Labels and annotations by which a program of the cluster does something: gives pods the rights of an account of a cloud, puts them into another " +
		"network, lifts what the kernel keeps from them, adds programs to them, writes certificates, publishes a Service, copies a Secret. They are " +
		"a warning, on objects and on the templates of pods, and critical where they lift what confines a pod. So is any other one whose domain belongs to " +
		"Kubernetes, a cloud or a known program, because no rule knows what it does. The other rules judge labels of other domains.",
	Says: []Consequence{WidensAccess, OpensNetwork, WidensSecurity, Unclassified},
	claims: func(c *match.Change) bool {
		return !c.Whole() && readerOf(c) != nil
	},
	judge: func(c *Cluster, changes []*match.Change) []Effect {
		effects := judgeByCauseAnd(readerOf, (*Cluster).labelReadByProgramEffect)(c, changes)
		for _, change := range c.added {
			if !change.Disposal.WithCluster && isForeignObject(change.After) {
				effects = append(effects, c.newLabelReadByProgramEffects(change)...)
			}
		}
		return effects
	},
}

// keyReader is who reads some labels and annotations, and what an object is to it that has them.
type keyReader struct {
	// keys are those that it reads: a domain with its slash, or the beginning of a key.
	keys []string
	// kinds are those of which it reads them, onPods for pods and their templates; none is every kind. Annotations and labels that an overlay
	// gives to all objects are nothing to it on the others.
	kinds       []string
	consequence Consequence
	description string
}

// onPods stands among the kinds of a reader for pods, and for the templates that they are made of.
const onPods = "pods"

// keyReaders are looked at in their order. To add one, say what it does for those who may write the label or the annotation.
var keyReaders = []keyReader{
	{[]string{"eks.amazonaws.com/", "iam.gke.io/"}, []string{"ServiceAccount"}, WidensAccess, "gives pods the rights of an account of a cloud"},
	{[]string{"iam.amazonaws.com/", "azure.workload.identity/"}, []string{"ServiceAccount", "Namespace", onPods}, WidensAccess, "gives pods the rights of an account of a cloud"},
	{[]string{"k8s.v1.cni.cncf.io/", "v1.multus-cni.io/", "cni.projectcalico.org/", "k8s.ovn.org/", "ovn.kubernetes.io/", "ipam.cilium.io/"}, []string{"Namespace", "Node", "NetworkAttachmentDefinition", onPods}, OpensNetwork, "puts pods into another network, where no NetworkPolicy may hold"},
	{[]string{"container.apparmor.security.beta.kubernetes.io/", "seccomp.security.alpha.kubernetes.io/", "container.seccomp.security.alpha.kubernetes.io/", "io.kubernetes.cri-o.", "openshift.io/scc", "openshift.io/required-scc"}, []string{"Namespace", onPods}, WidensSecurity, "changes what the kernel keeps from pods"},
	{[]string{"cert-manager.io/inject-", "service.beta.openshift.io/inject-", "config.openshift.io/inject-"}, nil, WidensAccess, "lets others write whom it trusts"},
	{[]string{"service.beta.kubernetes.io/", "service.kubernetes.io/", "external-dns.alpha.kubernetes.io/", "nginx.ingress.kubernetes.io/", "alb.ingress.kubernetes.io/", "haproxy", "traefik.", "metallb.", "networking.gke.io/", "cloud.google.com/"}, nil, OpensNetwork, "is published, or led to, in another way"},
	{[]string{"vault.hashicorp.com/", "sidecar.istio.io/", "inject.istio.io/", "proxy.istio.io/", "linkerd.io/", "config.linkerd.io/", "instrumentation.opentelemetry.io/", "admission.datadoghq.com/", "dapr.io/"}, []string{"Namespace", "Service", onPods}, WidensAccess, "lets others put programs, or secrets, into pods"},
	{[]string{"reflector.v1.k8s.emberstack.com/", "replicator.v1.mittwald.de/", "kubed.appscode.com/"}, []string{"ConfigMap", "Secret"}, WidensAccess, "is copied to or from other namespaces"},
	{[]string{"pod-security.kubernetes.io"}, []string{"Namespace"}, Unclassified, "is treated in another way by a program that reads this"},
	{knownKeys, nil, Unclassified, "is treated in another way by a program that reads this"},
}

// knownKeys are domains of programs: the end of what is before the slash of a key.
var knownKeys = []string{
	"kubernetes.io", "k8s.io", "openshift.io", "amazonaws.com", "azure.com", "google.com", "gke.io", "istio.io", "cilium.io", "projectcalico.org",
	"cncf.io", "cert-manager.io", "kyverno.io", "gatekeeper.sh", "crossplane.io", "keda.sh", "velero.io", "nvidia.com", "cattle.io", "rancher.io",
	"external-secrets.io", "knative.dev", "tekton.dev", "stakater.com", "karpenter.sh", "toolkit.fluxcd.io", "ovn.org",
}

// inertKeys begin the keys of those domains by which nothing is done: what people and consoles read, and what a restart leaves behind.
var inertKeys = []string{"kubectl.kubernetes.io/", "deployment.kubernetes.io/", "openshift.io/display-name", "openshift.io/description", "openshift.io/requester", "kubernetes.io/description", "kubernetes.io/change-cause", "kubernetes.io/metadata.name"}

func (r *keyReader) readsKey(key string) bool {
	domain, _, _ := strings.Cut(key, "/")
	return slices.ContainsFunc(r.keys, func(part string) bool {
		if r.consequence == Unclassified {
			return strings.Contains(key, "/") && (domain == part || strings.HasSuffix(domain, "."+part))
		}
		return strings.HasPrefix(key, part)
	})
}

// readerOf is who reads the label or the annotation that a change is about; nil where that is not a program that is known. What nobody but
// the API server reads of a namespace, a label that policies select it by, is told elsewhere.
func readerOf(c *match.Change) *keyReader {
	n := len(c.Path)
	if n < 3 || c.Path[n-3] != "metadata" || c.Path[n-2] != "annotations" && c.Path[n-2] != "labels" {
		return nil
	}
	r := readerOfKey(c.Path[n-1])
	switch {
	case r == nil || !r.readsOf(c.Kind(), n > 3):
		return nil
	case r.consequence == Unclassified && (c.Kind() == "Namespace" || c.Kind() == "StorageClass"):
		return nil
	case n > 3 && strings.HasPrefix(c.Path[n-1], fluxKeys):
		// Flux reads what it applies, not what pods are made of.
		return nil
	}
	return r
}

// readsOf reports whether it reads an object of a kind, or the template of its pods.
func (r *keyReader) readsOf(kind string, template bool) bool {
	of := kind
	if template || kind == "Pod" {
		of = onPods
	}
	return len(r.kinds) == 0 || slices.Contains(r.kinds, of)
}

func readerOfKey(key string) *keyReader {
	begins := func(prefix string) bool { return strings.HasPrefix(key, prefix) }
	if slices.ContainsFunc(displayPrefixes, begins) || slices.ContainsFunc(inertKeys, begins) {
		return nil
	}
	for i := range keyReaders {
		if keyReaders[i].readsKey(key) {
			return &keyReaders[i]
		}
	}
	return nil
}

func (c *Cluster) labelReadByProgramEffect(part []*match.Change) Effect {
	r, o := readerOf(part[0]), part[0].Object()
	severity := Warning
	if r.consequence == WidensSecurity && slices.ContainsFunc(part, func(change *match.Change) bool { return strings.EqualFold(change.New.Scalar(), "unconfined") }) {
		severity = Critical
	}
	key := part[0].Path.Last()
	e := c.effect(part, r.consequence, severity, withArticle(o.ID.Kind)+" "+r.description+": "+key).withClauseOf(objectName(o.ID), "get", key+", by which it "+r.description)
	if slices.ContainsFunc(part, func(change *match.Change) bool { return change.New != nil }) {
		return e
	}
	e.Title, e.Clause.Verb, e.Clause.Rest = withArticle(o.ID.Kind)+" no longer has what a program reads: "+key, "lose", key+", which a program reads"
	if r.consequence != Unclassified {
		e.Severity = Notice
	}
	return e
}

// newLabelReadByProgramEffects tells what a new object carries for a program whose doing is known.
func (c *Cluster) newLabelReadByProgramEffects(change *match.Change) []Effect {
	var effects []Effect
	for entry := range change.After.Root.At("metadata", "annotations").Items() {
		if r := readerOfKey(entry.Key); r != nil && r.consequence != Unclassified && r.readsOf(change.Kind(), false) {
			e := c.effect([]*match.Change{change}, r.consequence, Warning, "a new "+change.Kind()+" "+r.description+": "+entry.Key).withDetail(objectName(change.After.ID) + ": " + entry.Key + ": " + valueText(entry))
			effects = append(effects, e.withClauseOf(objectName(change.After.ID), "have", entry.Key+", by which it "+r.description))
		}
	}
	return effects
}
