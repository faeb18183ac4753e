package rule

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"lockstep.dev/lockstep/pkg/compile/object"
	"lockstep.dev/lockstep/pkg/compile/proof/labels"
	"lockstep.dev/lockstep/pkg/compile/semdiff/match"
)

var admissionRule = &Rule{
	Name: "admission", Title: "What the API server accepts",
	Doc: "ValidatingAdmissionPolicies and their bindings, webhooks, LimitRanges, and the annotations of namespaces that say what a tenant may " +
		"run: runtimes, sizes, queues. The parameters of a policy count as part of it. The entry says what is accepted that was refused, and the other way round. A validation that is added refuses more, a match " +
		"condition that is added refuses less. Requests are judged when they come: what exists stays, but a pod that must be replaced is judged again. Where an expression is replaced by another one " +
		"no rule can compare them: the entry has both.",
	Says:   []Consequence{AdmitsMore, AdmitsLess, NewJobsOnly, RestartsNothing},
	claims: isAdmission,
	judge:  judgeByCauseAnd(judgeAdmission, (*Cluster).admissionEffect),
}

var (
	policyKinds  = []string{"ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding", "MutatingAdmissionPolicy", "MutatingAdmissionPolicyBinding"}
	webhookKinds = []string{"ValidatingWebhookConfiguration", "MutatingWebhookConfiguration"}
	// tenantLimits are the annotations of a namespace that policies read.
	tenantLimits = []string{
		runtimesAnnotation, externalAnnotation, "lockstep.dev/variants", "lockstep.dev/max-accelerators", "lockstep.dev/max-container", "lockstep.dev/queue",
	}
)

func isAdmission(c *match.Change) bool {
	kind := c.Kind()
	switch {
	case comesWithOwner(c):
		return false
	case slices.Contains(policyKinds, kind) || slices.Contains(webhookKinds, kind):
		return c.Whole() || c.Path[0] != "metadata"
	case kind == "LimitRange":
		return c.Whole() || c.Path[0] == "spec"
	}
	return kind == "Namespace" && c.Path.Is("metadata", "annotations", "*") && slices.Contains(tenantLimits, c.Path[2])
}

// judgement is what a change of admission means.
type judgement struct {
	consequence Consequence
	severity    Severity
	title       string
	clause      Clause
}

func (c *Cluster) admissionEffect(changes []*match.Change) Effect {
	first, j := changes[0], judgeAdmission(changes[0])
	if id := first.Object().ID; first.Whole() && id.Kind == "ValidatingAdmissionPolicy" &&
		(first.Added() && c.is.onlyWarns(id.Name) || first.Removed() && c.was.onlyWarns(id.Name)) {
		j = judgeWarnings(first)
	}
	e := c.effect(changes, j.consequence, j.severity, j.title)
	e.Clause = j.clause
	switch {
	case isCatalogTable(first):
		e.Detail = catalogTableChangesText(changes)
		if runtime, found := strings.CutPrefix(first.Path[2], "runtime_"); found {
			// Variables of CEL have no dashes, and names of runtimes no underscores.
			e.Subject.Runtime = strings.ReplaceAll(runtime, "_", "-")
		}
	case j.consequence == AdmitsLess && first.Kind() != "Namespace":
		// Pods that replace others of a running job are judged again.
		e.Jobs = JobsHampered
	}
	return e
}

func judgeAdmission(c *match.Change) judgement {
	kind := c.Kind()
	switch {
	case kind == "Namespace":
		return judgeTenantLimit(c)
	case kind == "LimitRange":
		return judgeLimitRange(c)
	case slices.Contains(webhookKinds, kind):
		return judgeWebhook(c)
	case !slices.Contains(policyKinds, kind):
		return judgeParameters(c.Object().ID, c.Whole())
	case c.Whole() && (c.Added() && strings.HasSuffix(kind, "Binding") || kind == "ValidatingAdmissionPolicyBinding") &&
		!slices.Contains(c.Object().Root.At("spec", "validationActions").Strings(), "Deny"):
		return judgeWarnings(c)
	case c.Whole() && c.Added():
		return judgement{AdmitsLess, Notice, "a policy is new: " + c.Object().ID.Name, Clause{Verb: "refuse", Rest: "more: a new admission policy"}}
	case c.Whole() && strings.HasPrefix(kind, "Mutating"):
		return judgement{AdmitsMore, Warning, "a policy that rewrites what others ask for is gone: " + c.Object().ID.Name, Clause{Verb: "lose", Rest: "the mutating policy " + c.Object().ID.Name}}
	case c.Whole():
		return judgement{AdmitsMore, Critical, "a policy is gone: what it refused is accepted (" + c.Object().ID.Name + ")", Clause{Verb: "lose", Rest: "the admission policy " + c.Object().ID.Name}}
	case strings.HasSuffix(kind, "Binding"):
		return judgePolicyBinding(c)
	}
	return judgeAdmissionPolicy(c)
}

var (
	refusesMore = Clause{Verb: "refuse", Rest: "more"}
	acceptsMore = Clause{Verb: "accept", Rest: "more"}
	// seesOtherWarnings is about policies that refuse nothing.
	seesOtherWarnings = Clause{Verb: "see", Rest: "other warnings"}
)

// judgeWarnings judges a policy that refuses nothing, or its binding.
func judgeWarnings(c *match.Change) judgement {
	if c.Removed() {
		return judgement{RestartsNothing, Notice, "a policy no longer warns or records: " + c.Object().ID.Name, seesOtherWarnings}
	}
	return judgement{RestartsNothing, Info, "a policy warns or records, and refuses nothing: " + c.Object().ID.Name, seesOtherWarnings}
}

func judgeAdmissionPolicy(c *match.Change) judgement {
	last := c.Path.Last()
	added := c.Added() || !c.Removed() && c.Path.Has("validations")
	switch {
	case last == "message" || last == "messageExpression" || last == "reason" || c.Path.Has("auditAnnotations"):
		return judgement{RestartsNothing, Info, "a policy says its reason in other words", Clause{Verb: "read", Rest: "other words of a policy"}}
	case last == "failurePolicy":
		return trendJudgement(c.New.Scalar() != "Ignore", "what a policy cannot judge is refused", "what a policy cannot judge is accepted")
	case c.Path.Has("validations"):
		return trendJudgement(added, "a policy has another condition: what does not meet it is refused", "a policy has a condition less: what it refused is accepted")
	case c.Path.Has("matchConditions"):
		return trendJudgement(!added, "a policy is about more requests", "a policy is about fewer requests")
	case c.Path.Has("resourceRules") || last == "operations":
		return trendJudgement(c.Added(), "a policy is about more requests", "a policy is about fewer requests")
	case isCatalogTable(c):
		return judgeCatalogTable(c)
	case c.Path.Has("namespaceSelector"), c.Path.Has("objectSelector"):
		return judgeSelector(c, "a policy")
	case c.Path.Has("excludeResourceRules"):
		return trendJudgement(c.Removed(), "a policy is about more requests", "a policy is about fewer requests")
	}
	return judgement{AdmitsMore, Warning, "a policy decides in another way: read its expressions", Clause{Verb: "decide", Rest: "in another way on what is accepted"}}
}

// judgeWebhook says where a webhook goes as far as its fields say it; what its program decides nobody knows. A webhook that is missing judges
// nothing, and one without a failurePolicy refuses what it cannot answer for
// (https://kubernetes.io/docs/reference/access-authn-authz/extensible-admission-controllers/#failure-policy).
func judgeWebhook(c *match.Change) judgement {
	other := judgement{AdmitsMore, Warning, "a webhook decides in another way, and nobody can say which", Clause{Verb: "have", Rest: "another webhook"}}
	of := func(field string) bool { return len(c.Path) > 2 && c.Path[2] == field }
	switch {
	case (c.Whole() || len(c.Path) <= 2) && c.Removed() && c.Kind() == "ValidatingWebhookConfiguration":
		return judgement{AdmitsMore, Critical, "a webhook is gone: what it refused is accepted (" + c.Object().ID.Name + ")", Clause{Verb: "lose", Rest: "the webhook " + c.Object().ID.Name}}
	case (c.Whole() || len(c.Path) <= 2) && c.Removed():
		return judgement{AdmitsMore, Warning, "a webhook that rewrites what others ask for is gone: " + c.Object().ID.Name, Clause{Verb: "lose", Rest: "the webhook " + c.Object().ID.Name}}
	case of("failurePolicy"):
		return trendJudgement(c.New.Scalar() != "Ignore", "what a webhook does not answer for is refused", "what a webhook does not answer for is accepted")
	case of("timeoutSeconds"):
		return judgement{RestartsNothing, Notice, "a webhook has another time to answer", Clause{Verb: "have", Rest: "a webhook with another time to answer"}}
	case of("matchConditions") && (c.Added() || c.Removed()):
		return trendJudgement(c.Removed(), "a webhook is about more requests", "a webhook is about fewer requests")
	case of("rules") && (c.Added() || c.Removed()):
		return trendJudgement(c.Added(), "a webhook is about more requests", "a webhook is about fewer requests")
	case of("rules") && c.Path.Last() == "scope", of("matchPolicy"):
		return trendJudgement(c.New.Scalar() == "*" || c.New.Scalar() == "Equivalent", "a webhook is about more requests", "a webhook is about fewer requests")
	case of("namespaceSelector"), of("objectSelector"):
		return judgeSelector(c, "a webhook")
	case of("clientConfig") && c.Path.Last() == "caBundle":
		return judgement{AdmitsMore, Warning, "a webhook is believed by another certificate", Clause{Verb: "believe", Rest: "another certificate of a webhook"}}
	case of("clientConfig"):
		return judgement{AdmitsMore, Warning, "a webhook asks somebody else, who decides from now on: " + webhookTargets(c.After), Clause{Verb: "ask", Rest: webhookTargets(c.After) + " what is accepted"}}
	}
	return other
}

// judgeSelector reports whether what is judged by a selector of namespaces, or of objects, becomes more or less.
func judgeSelector(c *match.Change, what string) judgement {
	last := slices.IndexFunc(c.Path, func(key string) bool { return key == "namespaceSelector" || key == "objectSelector" })
	of, whose := c.Path[:last+1], "namespaces"
	if c.Path[last] == "objectSelector" {
		whose = "objects"
	}
	was, readable := labels.ReadSelector(valueAtPath(&c.Before.Root, of))
	is, ok := labels.ReadSelector(valueAtPath(&c.After.Root, of))
	fewer, more := len(was.Minus(is)) > 0, len(is.Minus(was)) > 0
	if !readable || !ok || fewer == more {
		return judgement{AdmitsMore, Warning, what + " is about other " + whose, Clause{Verb: "have", Rest: what + " about other " + whose}}
	}
	return trendJudgement(more, what+" is about more "+whose, what+" is about fewer "+whose)
}

// valueAtPath is the value at a path of keys, and of names or numbers of items; nil where there is none.
func valueAtPath(n *object.Node, path match.Path) *object.Node {
	for _, key := range path {
		if n == nil {
			return nil
		}
		i := slices.IndexFunc(n.Children, func(child object.Node) bool { return child.Key == key || child.StringAt("name") == key })
		if at, err := strconv.Atoi(key); i < 0 && err == nil && at < len(n.Children) {
			i = at
		}
		if i < 0 {
			return nil
		}
		n = &n.Children[i]
	}
	return n
}

func judgePolicyBinding(c *match.Change) judgement {
	if c.Path.Has("validationActions") {
		deny := c.Path.Last() == "Deny"
		switch {
		case deny && c.Removed():
			return judgement{AdmitsMore, Critical, "a policy no longer refuses, it only warns or records", Clause{Verb: "lose", Rest: "an admission policy, which only warns now"}}
		case deny:
			return judgement{AdmitsLess, Warning, "a policy refuses what it only warned about", refusesMore}
		}
		if c.Removed() {
			return judgeWarnings(c)
		}
		return judgement{RestartsNothing, Info, "what a policy warns about or records changes", seesOtherWarnings}
	}
	if c.Path.Has("namespaceSelector") || c.Path.Has("objectSelector") {
		return judgeSelector(c, "a policy")
	}
	if c.Path.Has("matchResources") {
		return judgement{AdmitsMore, Warning, "a policy is about other objects", Clause{Verb: "have", Rest: "a policy about other objects"}}
	}
	return judgement{AdmitsMore, Warning, "a binding is about another policy", Clause{Verb: "have", Rest: "a binding to another policy"}}
}

func trendJudgement(tightens bool, less, more string) judgement {
	if tightens {
		return judgement{AdmitsLess, Warning, less, refusesMore}
	}
	return judgement{AdmitsMore, Warning, more, acceptsMore}
}

// judgeTenantLimit judges what a tenant may run.
func judgeTenantLimit(c *match.Change) judgement {
	was, is := splitList(c.Old.Scalar()), splitList(c.New.Scalar())
	added, removed := missingFrom(is, was), missingFrom(was, is)
	if c.Old != nil && c.New != nil && len(added)+len(removed) == 0 {
		return judgement{RestartsNothing, Info, "what a tenant may run is written in another way, and is the same", Clause{Verb: "may", Rest: "run the same as before"}}
	}
	switch c.Path.Last() {
	case runtimesAnnotation:
		return judgeRuntimes(added, removed)
	case externalAnnotation:
		return judgeExternal(externalRuntimesNote(added), externalRuntimesNote(removed))
	case "lockstep.dev/queue":
		if c.Removed() {
			return judgement{AdmitsMore, Notice, "jobs need name no queue", Clause{Verb: "need", Rest: "name no queue"}}
		}
		return judgement{AdmitsLess, Warning, "jobs must name the queue " + c.New.Scalar(), Clause{Verb: "must", Rest: "name a queue in their jobs"}}
	case "lockstep.dev/variants":
		return judgeVariants(added, removed)
	}
	_, amount, _ := strings.Cut(strings.Join(added, ""), "=")
	if len(added) == 1 && len(removed) == 1 && strings.HasSuffix(removed[0], "="+amount) {
		return judgement{RestartsNothing, Notice, "a bound of jobs has another name: " + strings.Join(removed, ", ") + " is " + strings.Join(added, ", "), Clause{Verb: "have", Rest: "a bound of jobs under another name"}}
	}
	// An entry that is missing bounds nothing.
	if boundsLoosened(was, is) {
		return judgement{AdmitsMore, Notice, "jobs may be larger: " + maxNodesText(added), Clause{Verb: "may", Rest: "run larger jobs"}}
	}
	return judgement{AdmitsLess, Warning, "jobs must be smaller: at most " + strings.Join(added, ", "), Clause{Verb: "must", Rest: "run smaller jobs"}}
}

// maxNodesText says how large jobs may be; where no bound is named there is none.
func maxNodesText(bounds []string) string {
	if len(bounds) == 0 {
		return "without a bound"
	}
	return "up to " + strings.Join(bounds, ", ")
}

func judgeRuntimes(added, removed []string) judgement {
	switch {
	case len(removed) > 0 && len(added) > 0:
		return judgement{AdmitsLess, Warning, "other runtimes may be used: " + strings.Join(added, ", ") + " instead of " + strings.Join(removed, ", "), Clause{Verb: "may", Rest: "use " + strings.Join(added, ", ") + " instead of " + strings.Join(removed, ", ")}}
	case len(removed) > 0:
		return judgement{AdmitsLess, Warning, "runtimes may no longer be used: " + strings.Join(removed, ", "), Clause{Verb: "may", Rest: "no longer use " + strings.Join(removed, ", ")}}
	}
	return judgement{AdmitsMore, Notice, "more runtimes may be used: " + strings.Join(added, ", "), Clause{Verb: "may", Rest: "use " + strings.Join(added, ", ")}}
}

// judgeExternal warns of runtimes that others installed: their jobs have no bounds but quota and queue.
func judgeExternal(added, removed []string) judgement {
	j := judgeRuntimes(added, removed)
	if len(added) > 0 {
		j.severity = Warning
	}
	return j
}

// externalRuntimesNote says of runtimes that others installed that nothing is known of them here: a reviewer looks at them elsewhere.
func externalRuntimesNote(list []string) []string {
	words := make([]string, len(list))
	for i, name := range list {
		words[i] = name + " (not compiled here)"
	}
	return words
}

// judgeVariants judges entries of variants that came and went. A variant that stays with another runtime, size or
// default is the same variant.
func judgeVariants(added, removed []string) judgement {
	names := func(list []string) []string {
		var found []string
		for _, item := range list {
			name, _, _ := strings.Cut(item, "=")
			found = append(found, name)
		}
		return sortedDistinct(found)
	}
	if is, was := names(added), names(removed); !slices.Equal(is, was) || len(is) == 0 {
		return judgeRuntimes(variantsText(added), variantsText(removed))
	}
	text := strings.Join(variantsText(added), ", ") + " instead of " + strings.Join(variantsText(removed), ", ")
	withoutDefault := func(list []string) []string {
		var found []string
		for _, item := range list {
			found = append(found, item[:strings.LastIndexByte(item, ':')+1])
		}
		slices.Sort(found)
		return found
	}
	if slices.Equal(withoutDefault(added), withoutDefault(removed)) {
		return judgement{NewJobsOnly, Notice, "the policy for TrainJobs counts with another default of a variant",
			Clause{Verb: "start", Rest: "new jobs with another number of nodes"}}
	}
	return judgement{AdmitsLess, Warning, "a variant of a runtime changes: " + text,
		Clause{Verb: "have", Rest: "a variant of a runtime that changes"}}
}

// variantsText says in words what the annotation says of each: `ros=mpi-h100:1:4:2` is the variant ros of mpi-h100, for 1 to 4 nodes, 2 if a
// job does not say.
func variantsText(list []string) []string {
	words := make([]string, len(list))
	for i, item := range list {
		name, rest, _ := strings.Cut(item, "=")
		parts := strings.Split(rest, ":")
		words[i] = item
		if len(parts) == 4 {
			words[i] = name + " (made of " + parts[0] + ", " + parts[1] + " to " + parts[2] + " nodes, " + parts[3] + " by default)"
		}
	}
	return words
}

// boundsLoosened reports whether each bound `name=amount` is as wide as before, or gone.
func boundsLoosened(was, is []string) bool {
	bounds := map[string]string{}
	for _, item := range was {
		name, amount, _ := strings.Cut(item, "=")
		bounds[name] = amount
	}
	for _, item := range is {
		name, amount, _ := strings.Cut(item, "=")
		a, b, ok := match.ParseQuantities(cmp.Or(bounds[name], "-1"), amount)
		if !ok || bounds[name] == "" || b.Cmp(a) < 0 {
			return false
		}
	}
	return true
}

// judgeLimitRange judges bounds and defaults of containers.
func judgeLimitRange(c *match.Change) judgement {
	towards := trendOf(c.Old, c.New)
	switch {
	case c.Whole() || c.Path.Is("spec", "limits", "*"):
		if c.Removed() {
			return judgement{AdmitsMore, Warning, "containers have no bounds and no defaults any more", Clause{Verb: "may", Rest: "run containers without bounds"}}
		}
		return judgement{AdmitsLess, Notice, "containers get bounds and defaults", Clause{Verb: "get", Rest: "bounds for containers"}}
	case c.Path.Has("default") || c.Path.Has("defaultRequest"):
		return judgement{NewJobsOnly, Notice, "containers that say nothing get other resources", Clause{Verb: "get", Rest: "other defaults for containers"}}
	case c.Path.Has("min"):
		return trendJudgement(towards == more, "small containers are refused", "smaller containers are accepted")
	}
	// Without a maximum everything is accepted.
	if c.Removed() || !c.Added() && towards == more {
		return judgement{AdmitsMore, Notice, "larger containers are accepted", Clause{Verb: "may", Rest: "run larger containers"}}
	}
	return judgement{AdmitsLess, Warning, "large containers are refused", Clause{Verb: "must", Rest: "run smaller containers"}}
}

// webhookTargets is whom webhooks ask: addresses, and Services of the cluster.
func webhookTargets(o *object.Object) string {
	var found []string
	for hook := range o.Root.Get("webhooks").Items() {
		client := hook.Get("clientConfig")
		if service := client.Scalar("service", "name"); service != "" {
			found = append(found, "the Service "+client.Scalar("service", "namespace")+"/"+service)
		}
		found = append(found, client.Scalar("url"))
	}
	return cmp.Or(severalText(sortedDistinct(found)), "nobody")
}
