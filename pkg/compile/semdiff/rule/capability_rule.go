package rule

import (
	"cmp"
	"slices"
	"strings"

	"lockstep.dev/lockstep/pkg/compile/object"
	"lockstep.dev/lockstep/pkg/compile/origin"
	"lockstep.dev/lockstep/pkg/compile/semdiff/match"
)

var capabilityRule = &Rule{
	Name: "capability", Title: "What an object can do to the cluster",
	Doc: "An object is judged by what its kind can do, whether it is a resource of an overlay, of a chart or of a spec. The table has what follows " +
		"a repository (Flux and Argo CD: who can write there decides what runs), what reads or rewrites the requests of others (webhooks, " +
		"mutating policies, APIs that another server answers), what hands out data that is there already (volumes that name a folder of a machine, a " +
		"server, or another volume), what leads traffic elsewhere (Endpoints, external names; critical for names of the cluster itself, such as its DNS), what holds for all who choose nothing " +
		"(default classes and priorities), what lets jobs have the machines of others or refuses them, what sets up machines or the cluster itself, and what stands in the cluster's own namespaces. A new kind " +
		"of objects is a warning, because what its controller does is not known here. An object that was there before has an entry if it can do " +
		"more than before. The rule for security judges what its pods may do on their machine, the rule for access what roles give.",
	Says: []Consequence{ChangesSync, WidensAccess, AdmitsMore, AdmitsLess, OpensNetwork, ReordersQueue, AddsObjects},
	claims: func(c *match.Change) bool {
		if c.Whole() {
			return c.Added() && !c.Renamed() && len(abilitiesOf(c.After)) > 0
		}
		return len(abilitiesGained(c)) > 0
	},
	judge: func(c *Cluster, changes []*match.Change) []Effect {
		var effects []Effect
		for _, part := range match.ByObject(changes) {
			if part[0].Whole() {
				effects = append(effects, c.newAbility(part[0]))
			} else {
				effects = append(effects, c.gainedAbility(part, abilitiesGained(part[0])))
			}
		}
		for _, change := range c.added {
			// Others are told by the rule. On a cluster that is new there is nothing yet that an object could take.
			if change.Disposal.WithTenant && isForeignObject(change.After) {
				if can := abilitiesOf(change.After); len(can) > 0 && (!change.Disposal.WithCluster || mostSevere(can).severity == Critical) {
					effects = append(effects, c.gainedAbility([]*match.Change{change}, can))
				}
			}
		}
		return effects
	},
}

// ability is one thing that an object can do to the cluster or to those who work there.
type ability struct {
	consequence Consequence
	severity    Severity
	// jobs is what becomes of running jobs, where the consequence does not say it.
	jobs JobsImpact
	// description follow the kind of the object: "may rewrite pods".
	description string
	// follows is the repository that the object makes an engine follow, as repositoryPlace has it; "" for all else.
	follows string
}

// abilitiesOf are what an object can do; none where nothing is known to matter.
func abilitiesOf(o *object.Object) []ability {
	var can []ability
	for i := range kindAbilities {
		if row := &kindAbilities[i]; row.matches(o) {
			can = append(can, row.does(o)...)
			break
		}
	}
	if isEngineObject(o) && !isForeignObject(o) {
		// What the compiler makes of specs matters by the repository only.
		can = slices.DeleteFunc(can, func(a ability) bool { return a.follows == "" })
	}
	return append(can, abilitiesByPlace(o)...)
}

// abilitiesByPlace is what a plain object that a chart or an overlay brings can do by its place: others look for it there.
func abilitiesByPlace(o *object.Object) []ability {
	if !isForeignObject(o) || isEngineObject(o) || !slices.Contains(match.PlainKinds, o.ID.Kind) {
		return nil
	}
	switch namespace := o.ID.Namespace; {
	case isSystemNamespace(namespace) && o.ID.Kind == "Service" || severityOfLeading(o, "") == Critical && slices.Contains(powerfulNames, o.ID.Name):
		return []ability{{consequence: WidensAccess, severity: Critical, description: "takes the place of what the cluster, or an operator, asks or believes: " + namespace + "/" + o.ID.Name}}
	case isSystemNamespace(namespace):
		return warningAbility(WidensAccess, "stands in "+namespace+", where the cluster keeps what it runs by")
	case slices.Contains(operators, namespace) && !isRendered(o):
		return warningAbility(WidensAccess, "stands in "+namespace+", where an operator may run by it")
	case slices.Contains(clusterNames, o.ID.Name) || o.Root.Scalar("type") == "helm.sh/release.v1":
		return warningAbility(WidensAccess, "takes the place of one that the cluster, or Helm, keeps for itself: "+o.ID.Name)
	}
	return nil
}

// clusterNames are names of objects that the cluster makes for itself: whom pods trust, and where the API is.
var clusterNames = []string{"kube-root-ca.crt", "openshift-service-ca.crt", "kubernetes"}

// powerfulNames are objects of the cluster and of operators that decide who may do what, or where names lead.
var powerfulNames = []string{
	"aws-auth", "coredns", "coredns-custom", "kube-dns", "node-local-dns", "kube-proxy", "extension-apiserver-authentication", "cluster-info",
	"kubeadm-config", "argocd-cm", "argocd-rbac-cm", "argocd-cmd-params-cm", "argocd-ssh-known-hosts-cm", "argocd-tls-certs-cm", "kueue-manager-config",
}

// operators are the namespaces of those that the bundle works with, as they are installed by default. What runs there is not compiled.
var operators = []string{"flux-system", "argocd", "kueue-system", "jobset-system", "kubeflow-system", "kubeflow", "cert-manager", "istio-system"}

// isForeignObject reports whether an object is not one that the compiler makes of specs: an overlay or a chart brings it.
func isForeignObject(o *object.Object) bool { return o.Rule == nil || o.Rule.Kind != origin.Constant }

// isSystemNamespace reports whether a namespace is one of the cluster itself.
func isSystemNamespace(namespace string) bool {
	return strings.HasPrefix(namespace, "kube-") || strings.HasPrefix(namespace, "openshift-")
}

// mostSevere is the most severe of some abilities, the first of those that are alike; stopped jobs are worse than all else.
func mostSevere(can []ability) ability {
	return slices.MaxFunc(can, func(a, b ability) int {
		return cmp.Or(cmp.Compare(a.severity, b.severity), cmp.Compare(a.jobs, b.jobs))
	})
}

// newAbility is a new object that can do something.
func (c *Cluster) newAbility(change *match.Change) Effect {
	part, can := []*match.Change{change}, abilitiesOf(change.After)
	if isEngine(change) {
		can = slices.DeleteFunc(can, func(a ability) bool { return a.follows != "" && c.was.sources[a.follows] })
		switch {
		case len(can) == 0 && isForeignObject(change.After):
			can = warningAbility(ChangesSync, "makes the GitOps engine apply more of a repository that it follows, which is not part of this review")
		case len(can) == 0:
			return c.stageAddedOrRemoved(part)
		}
	}
	return c.gainedAbility(part, can)
}

// gainedAbility says what an object can do that it could not do before.
func (c *Cluster) gainedAbility(part []*match.Change, can []ability) Effect {
	o, worst := part[0].After, mostSevere(can)
	words := make([]string, len(can))
	for i := range can {
		words[i] = can[i].description
	}
	subject, detail := withArticle(o.ID.Kind), changesText(part)
	if part[0].Whole() {
		subject, detail = "a new "+o.ID.Kind, objectName(o.ID)+" "+strings.Join(words, "; ")
	}
	severity := worst.severity
	if worst.follows != "" && !isForeignObject(o) && c.appliedByHand() {
		severity = Warning // the cluster gets its first engine, by a line of its spec
	}
	e := c.effect(part, worst.consequence, severity, subject+" "+worst.description).withDetail(detail)
	e.Aspect = Aspect(o.ID.Kind)
	switch {
	case worst.jobs != JobsUntouched:
		e.Jobs = worst.jobs
	case worst.consequence == ChangesSync, worst.consequence == OpensNetwork:
		e.Jobs = JobsIncluded
	case worst.consequence == AdmitsLess:
		e.Jobs = JobsHampered
	}
	if worst.follows != "" {
		return e.withClauseOf("cluster "+c.Name, "follow", "the repository "+worst.follows).withHelp("merge it when you know who can write there")
	}
	if part[0].Whole() {
		return e.withClauseOf("cluster "+c.Name, "get", withArticle(o.ID.Kind)+" that "+worst.description)
	}
	return e.withClauseOf("cluster "+c.Name, "have", withArticle(o.ID.Kind)+" that now "+worst.description)
}

// abilitiesGained is what an object that was there before can do now. What an engine follows, where a Service leads, and what the API server does
// not let change is told by the rules for these.
func abilitiesGained(change *match.Change) []ability {
	if change.Before == nil || change.After == nil || isEngine(change) || isService(change) || isImmutableField(change) {
		return nil
	}
	return missingFrom(abilitiesOf(change.After), abilitiesOf(change.Before))
}
