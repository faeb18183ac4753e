package rule

import (
	"slices"
	"strings"

	"lockstep.dev/lockstep/pkg/compile/proof/access"
)

// Groups that Kubernetes itself puts subjects into, with whom they mean
// (https://kubernetes.io/docs/reference/access-authn-authz/rbac/#default-roles-and-role-bindings).
var builtInGroups = map[string]string{
	"system:authenticated":   "everybody who can log in",
	"system:unauthenticated": "everybody, without logging in",
	"system:serviceaccounts": "every service account of the cluster",
	"system:masters":         "all with a certificate of an administrator",
}

// accountsOf begins the group of all service accounts of a namespace; anonymous is the user without a login.
const (
	accountsOf = "system:serviceaccounts:"
	anonymous  = "system:anonymous"
)

// outsideSubject is a subject that gets rights in a place that is not its own: people or accounts of another tenant, everybody, an account that is
// not compiled. The zero value is none.
type outsideSubject struct {
	// description say in a sentence who it is.
	description string
	// everybody reports whether it is not known who all it is.
	everybody bool
	// common reports whether it is a group of several other tenants, such as the people of the platform.
	common bool
}

// outsideSubjectIn says who a subject is where it is not one of those who belong in a place.
func (c *Cluster) outsideSubjectIn(h holder) outsideSubject {
	own := c.ownerOfNamespace(h.namespace)
	switch h.Kind {
	case "Group":
		return c.outsideGroup(h, own)
	case "User":
		if h.Name == anonymous {
			return outsideSubject{description: "everybody, without logging in (the user " + anonymous + ")", everybody: true}
		}
	case "ServiceAccount":
		return c.outsideAccount(h, own)
	}
	return outsideSubject{}
}

func (c *Cluster) outsideGroup(h holder, own string) outsideSubject {
	if who := builtInGroups[h.Name]; who != "" {
		return outsideSubject{description: who + " (the group " + h.Name + ")", everybody: true}
	}
	if namespace, found := strings.CutPrefix(h.Name, accountsOf); found {
		other := c.ownerOfNamespace(namespace)
		if other != "" && other == own {
			return outsideSubject{}
		}
		words := "every service account of the namespace " + namespace
		if other != "" {
			words += " of the tenant " + other
		}
		return outsideSubject{description: words}
	}
	tenants := c.allClusters.tenantsOfGroup(h.Name, own)
	if own == "" || len(tenants) == 0 {
		return outsideSubject{}
	}
	return outsideSubject{description: "the group " + h.Name + " of the tenant " + severalText(tenants), common: len(tenants) > 1}
}

func (c *Cluster) outsideAccount(h holder, own string) outsideSubject {
	other, name := c.ownerOfNamespace(h.Namespace), h.Namespace+"/"+h.Name
	switch {
	case c.isApplier(h) || c.isJobController(h) || other != "" && other == own:
	case other != "" && own != "":
		return outsideSubject{description: "the service account " + name + " of the tenant " + other}
	case other == "" && !c.was.accounts[name] && !c.is.accounts[name] && h.Name != "default": // that one is in every namespace
		return outsideSubject{description: "the service account " + name + ", which is not compiled here,"}
	}
	return outsideSubject{}
}

// outsideSubjects are the subjects that are strange somewhere. Their rights are told on their own: one line may name several.
func (c *Cluster) outsideSubjects(all []holder) map[access.Subject]Aspect {
	found := map[access.Subject]Aspect{}
	for _, h := range all {
		if c.outsideSubjectIn(h).description != "" {
			found[h.Subject] = Aspect(h.String())
		}
	}
	return found
}

// severityOfRights says how severe it is that an outside subject gains rights. To be in the pods of a tenant, or to run some, is at least as severe as traffic
// to them: it gives their data, their Secrets and their token.
func (s outsideSubject) severityOfRights(c *Cluster, h holder, rights []access.Right) Severity {
	inside := slices.ContainsFunc(rights, func(r access.Right) bool { return rightWeight(r) >= strengthToRun })
	tenant := c.ownerOfNamespace(h.namespace)
	switch {
	case s.description == "":
		return Info
	case s.everybody && (tenant != "" || slices.ContainsFunc(rights, func(r access.Right) bool { return rightWeight(r) > 0 })):
		return Critical
	case tenant != "" && !c.was.tenants[tenant]:
		// Nothing of the tenant's is there yet.
		return Warning
	case inside && tenant != "" && !s.common:
		return Critical
	}
	return Warning
}
