package rule

import (
	"cmp"
	"regexp"
	"slices"
	"strings"

	"lockstep.dev/lockstep/pkg/compile/object"
	"lockstep.dev/lockstep/pkg/compile/proof/access"
	"lockstep.dev/lockstep/pkg/compile/semdiff/match"
)

// newWorkloadEffect is a workload that runs from now on. In a namespace of a tenant it has what is the tenant's.
func (c *Cluster) newWorkloadEffect(part []*match.Change) Effect {
	o := part[0].After
	brought, has := imagesOf(&o.Root), usedOfNamespace(&o.Root)
	with := "the image " + severalText(brought)
	if len(has) > 0 {
		with += ", and has " + severalText(has)
	}
	severity, title := Notice, "a component is new: "+o.ID.Kind
	if host := c.newRegistry(brought); host != "" {
		severity, title = Warning, title+", with an image from another registry: "+host
	}
	if found := c.existingMounts(o); len(found) > 0 {
		severity, title = Warning, title+", which has "+severalText(found)+", not new with it"
	} else if slices.ContainsFunc(podSpecs(&o.Root), toleratesEverything) {
		severity, title = Warning, title+", on all machines, those of the control plane too"
	}
	if account := c.unknownAccount(o); account != "" {
		severity, title = Warning, "a component is new: "+o.ID.Kind+" with the rights of the service account "+account+", which are not known here"
	}
	if account := c.powerfulAccount(o); account != "" {
		severity, title = Critical, "a component is new: "+o.ID.Kind+" with the rights of the service account "+account+", which are dangerous"
	} else if c.tenantOf(o) != "" {
		severity = c.severityOfMounts(part[0], c.existingMounts(o))
		title = "pods that are not of its jobs run in a namespace of a tenant: " + o.ID.Kind + " with " + with
	} else if isSystemNamespace(o.ID.Namespace) {
		severity, title = max(severity, Warning), title+", in "+o.ID.Namespace+", where the cluster keeps what it runs by"
	}
	return c.effect(part, AddsObjects, severity, title).withDetail(objectName(o.ID)+" with "+with).withClauseOf(objectName(o.ID), "are", "new, with "+with)
}

// existingMounts are the volumes and secrets of a new workload that did not come with it: somebody else put something there.
func (c *Cluster) existingMounts(o *object.Object) []string {
	return slices.DeleteFunc(usedOfNamespace(&o.Root), func(has string) bool {
		return strings.HasPrefix(has, "the service account ") || slices.ContainsFunc(c.added, func(change *match.Change) bool {
			id := change.After.ID
			return id.Namespace == o.ID.Namespace && (has == "the secret "+id.Name && id.Kind == "Secret" || has == "the volume "+id.Name && id.Kind == "PersistentVolumeClaim")
		})
	})
}

// severityOfMounts is how severe it is that pods in a namespace of a tenant get volumes and secrets that others filled.
// With a helper of the tenant it is a warning: all are volumes that the specs give the namespace, the pods name an
// account of it, their images come from a known registry, and their program neither sends nor deletes files.
func (c *Cluster) severityOfMounts(change *match.Change, found []string) Severity {
	o := change.After
	if len(found) == 0 {
		return Warning
	}
	isOther := func(has string) bool {
		return !slices.ContainsFunc(c.was.claims[o.ID.Namespace], func(v volumeClaim) bool {
			return v.ofSpecs && has == "the volume "+v.name
		})
	}
	namesNone := func(pod *object.Node) bool {
		return !c.was.accounts[o.ID.Namespace+"/"+pod.Scalar("serviceAccountName")]
	}
	takes := func(program *match.Change) bool {
		text := textOf(program.New)
		return sendsFiles.MatchString(text) || deletesFiles.MatchString(text) && !ofSomeAge.MatchString(text)
	}
	_, _, moved := c.namespaceHandover(o.ID.Namespace)
	programs := programsOf(change)
	switch {
	case moved, c.tenantOf(o) != c.ownerOfNamespace(o.ID.Namespace), slices.ContainsFunc(found, isOther),
		slices.ContainsFunc(podSpecs(&o.Root), namesNone), c.newRegistry(imagesOf(&o.Root)) != "",
		len(risksOf(programs)) > 0, slices.ContainsFunc(programs, takes):
		return Critical
	}
	return Warning
}

// How a program sends files, deletes folders, or only files that are old.
var (
	sendsFiles   = regexp.MustCompile(`\b(curl|wget|nc|ncat|netcat|socat|telnet|ssh|scp|sftp|ftp|rsync)\b`)
	deletesFiles = regexp.MustCompile(`\brm\s+(-\S+\s+)*-\w*[rR]|\b(mkfs|shred)\b|-delete\b`)
	ofSomeAge    = regexp.MustCompile(`-[acm](time|min)\s+\+`)
)

// unknownAccount is the account of a workload where neither state has it compiled, "" where it is known: nobody can say what it may do.
func (c *Cluster) unknownAccount(o *object.Object) string {
	for _, pod := range podSpecs(&o.Root) {
		name := pod.Scalar("serviceAccountName")
		if account := o.ID.Namespace + "/" + name; name != "" && name != "default" && !c.was.accounts[account] && !c.is.accounts[account] {
			return account
		}
	}
	return ""
}

// powerfulAccount is the account of a workload where that had rights already which break boundaries, "" where it had none: an account that gets rights
// anew is told by the rule for access.
func (c *Cluster) powerfulAccount(o *object.Object) string {
	for _, pod := range podSpecs(&o.Root) {
		account := access.Subject{Kind: "ServiceAccount", Namespace: o.ID.Namespace, Name: cmp.Or(pod.Scalar("serviceAccountName"), "default")}
		for h, held := range c.was.holdings() {
			if h.Subject == account && slices.ContainsFunc(held.Rights, func(r access.Right) bool { return r.SevereReason() != "" }) {
				return account.Namespace + "/" + account.Name
			}
		}
	}
	return ""
}
