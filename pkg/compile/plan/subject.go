package plan

import (
	"cmp"
	"slices"
	"strings"

	"lockstep.dev/lockstep/api/v1alpha1"
	"lockstep.dev/lockstep/pkg/compile/decode"
)

// The kinds of a Subject.
const (
	GroupKind          = "Group"
	UserKind           = "User"
	ServiceAccountKind = "ServiceAccount"
)

// Subject is a User, a Group or a ServiceAccount, which has a namespace.
type Subject struct{ Kind, Namespace, Name string }

// String returns for example `Group vision-editors` or `ServiceAccount vision/default`.
func (s Subject) String() string {
	if s.Namespace != "" {
		return s.Kind + " " + s.Namespace + "/" + s.Name
	}
	return s.Kind + " " + s.Name
}

// Compare orders subjects by kind, namespace and name.
func (s Subject) Compare(other Subject) int {
	return cmp.Or(
		strings.Compare(s.Kind, other.Kind),
		strings.Compare(s.Namespace, other.Namespace),
		strings.Compare(s.Name, other.Name),
	)
}

// sortedSubjects are the subjects of a role, sorted, each once. Each has the place of its name.
func sortedSubjects(d *decode.Document, list []v1alpha1.Subject) []Value[Subject] {
	result := make([]Value[Subject], len(list))
	for i := range list {
		result[i] = subjectOf(d, &list[i])
	}
	slices.SortStableFunc(result, func(a, b Value[Subject]) int { return a.V.Compare(b.V) })
	return slices.CompactFunc(result, func(a, b Value[Subject]) bool { return a.V == b.V })
}

func subjectOf(d *decode.Document, s *v1alpha1.Subject) Value[Subject] {
	switch {
	case s.ServiceAccount != "":
		namespace, name, _ := strings.Cut(s.ServiceAccount, "/")
		return Value[Subject]{Subject{ServiceAccountKind, namespace, name}, d.Origin(&s.ServiceAccount)}
	case s.User != "":
		return Value[Subject]{Subject{UserKind, "", s.User}, d.Origin(&s.User)}
	}
	return Value[Subject]{Subject{GroupKind, "", s.Group}, d.Origin(&s.Group)}
}

// SubjectsOfRoles returns the subjects of all roles, sorted, each once.
func (t *Tenant) SubjectsOfRoles() []*Value[Subject] {
	var people []*Value[Subject]
	for _, subjects := range [][]Value[Subject]{t.Admins, t.Editors, t.Viewers, t.Shell, t.Secrets} {
		for i := range subjects {
			people = append(people, &subjects[i])
		}
	}
	slices.SortStableFunc(people, func(a, b *Value[Subject]) int { return a.V.Compare(b.V) })
	return slices.CompactFunc(people, func(a, b *Value[Subject]) bool { return a.V == b.V })
}

// WritesSecrets returns the first tenant whose people may write Secrets, or nil.
func (c *Cluster) WritesSecrets() *Tenant {
	i := slices.IndexFunc(c.Tenants, func(t *Tenant) bool { return len(t.Secrets) > 0 })
	if i < 0 {
		return nil
	}
	return c.Tenants[i]
}

// GroupsOfRoles returns the groups among SubjectsOfRoles.
func (t *Tenant) GroupsOfRoles() []*Value[Subject] {
	return slices.DeleteFunc(t.SubjectsOfRoles(), func(s *Value[Subject]) bool { return s.V.Kind != GroupKind })
}
