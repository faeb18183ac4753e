package access_test

import (
	"slices"
	"testing"

	"lockstep.dev/lockstep/pkg/compile/proof/access"
)

// TestAccountsAsPeople: accounts of programs and users may do in each place what a group with their role may do, and
// nothing else anywhere, also not in their own namespace.
func TestAccountsAsPeople(t *testing.T) {
	s := compiled(t, specs)
	found, held := prove(s, s.Objects)
	if len(found) > 0 {
		t.Fatal(found[0].Message)
	}
	rights := func(who access.Subject) map[string][]access.Right {
		all := map[string][]access.Right{}
		for _, h := range held {
			if h.Subject == who {
				all[h.Namespace] = h.Rights
			}
		}
		return all
	}
	people := rights(access.Subject{Kind: "Group", Name: "vision-editors"})
	if len(people) != 3 {
		t.Fatalf("editors have rights in %d places, not in two namespaces and on the catalog", len(people))
	}
	for _, who := range []access.Subject{
		{Kind: "ServiceAccount", Namespace: "ci", Name: "robot"},
		{Kind: "ServiceAccount", Namespace: "vision", Name: "workbench"},
		{Kind: "User", Name: "ann@example.com"},
	} {
		own := rights(who)
		for _, namespace := range []string{"", "ci", "vision", "vision-batch", "speech"} {
			if !slices.Equal(own[namespace], people[namespace]) {
				t.Errorf("%s in `%s`: %d rights, people have %d", who, namespace, len(own[namespace]), len(people[namespace]))
			}
		}
	}
}
