package render

import (
	"cmp"
	"slices"
	"strings"
	"unicode"

	"lockstep.dev/lockstep/pkg/compile/semdiff/group"
	"lockstep.dev/lockstep/pkg/compile/semdiff/rule"
)

// sampleLines are the effects that an entry keeps, a line each. Those that differ in nothing but their cluster are one line.
func sampleLines(e *group.Entry) []string {
	type line struct {
		who, detail string
		clusters    []string
	}
	var lines []line
	for i := range e.Samples {
		s := &e.Samples[i].Subject
		who, detail := subjectText(s), e.Samples[i].Detail
		if detail == s.Object {
			// An object that comes or goes as a whole has nothing to tell but itself.
			detail = ""
		}
		at := slices.IndexFunc(lines, func(l line) bool { return l.who == who && l.detail == detail })
		if at < 0 {
			at = len(lines)
			lines = append(lines, line{who: who, detail: detail})
		}
		if s.Cluster != "" && !slices.Contains(lines[at].clusters, s.Cluster) {
			lines[at].clusters = append(lines[at].clusters, s.Cluster)
		}
	}
	var texts []string
	for _, l := range lines {
		text := l.who
		if len(l.clusters) > 0 {
			text = strings.TrimSpace(text + " on " + joinAnd(l.clusters))
		}
		if l.detail != "" {
			text = strings.TrimPrefix(text+": "+l.detail, ": ")
		}
		texts = append(texts, escapeControl(text))
	}
	return texts
}

// subjectText is whom one effect happens to, in words and without the cluster: `network policy lockstep-egress of vision`. The full identity
// is in JSON.
func subjectText(s *rule.Subject) string {
	kind, space, name := splitIdentity(s.Object)
	space = cmp.Or(space, s.Namespace)
	var what string
	switch {
	case s.Runtime != "" && (name == "" || name == s.Runtime):
		what, name = "runtime "+s.Runtime, s.Runtime
	case kind == "namespace" && name == s.Tenant:
		// The tenant says it.
	case name != "" && name == s.Tenant:
		what = kind
	case name != "":
		what = kind + " " + name
	}
	switch {
	case what == "":
		what = s.Tenant
	case s.Tenant != "":
		what += " of " + s.Tenant
	}
	if space != "" && space != s.Tenant && space != name {
		what = strings.TrimSpace(what + " in namespace " + space)
	}
	return what
}

// splitIdentity takes an object apart, `NetworkPolicy.networking.k8s.io vision/egress`, with its kind in words.
func splitIdentity(object string) (kind, namespace, name string) {
	kind, name, _ = strings.Cut(object, " ")
	kind, _, _ = strings.Cut(kind, ".")
	if namespace, name, _ = strings.Cut(name, "/"); name == "" {
		namespace, name = "", namespace
	}
	return kindWords(kind), namespace, name
}

// called are kinds that people call otherwise.
var called = map[string]string{
	"ClusterTrainingRuntime": "runtime", "TrainingRuntime": "runtime", "PersistentVolumeClaim": "volume", "ResourceQuota": "quota",
	"ClusterQueue": "queue", "LocalQueue": "queue", "ValidatingAdmissionPolicy": "admission policy",
	"ValidatingAdmissionPolicyBinding": "binding of the admission policy", "CustomResourceDefinition": "definition",
	"MutatingAdmissionPolicy":        "mutating admission policy",
	"MutatingAdmissionPolicyBinding": "binding of the mutating admission policy",
	"SecurityContextConstraints":     "security constraints", "ConfigMap": "config map",
}

// kindWords is a kind in words: `NetworkPolicy` is a network policy.
func kindWords(kind string) string {
	if known := called[kind]; known != "" {
		return known
	}
	var b strings.Builder
	letters := []rune(kind)
	for i, r := range letters {
		begins := unicode.IsUpper(r) && (i+1 == len(letters) || !unicode.IsUpper(letters[i+1]))
		if i > 0 && begins {
			b.WriteByte(' ')
		}
		if begins {
			r = unicode.ToLower(r)
		}
		b.WriteRune(r)
	}
	return b.String()
}
