package rule

import (
	"cmp"
	"slices"
	"strings"

	"lockstep.dev/lockstep/pkg/compile/proof/access"
)

// holder is a subject in a namespace, or everywhere for "".
type holder struct {
	access.Subject
	namespace string
}

// holdings are what everybody may do.
func (s *clusterState) holdings() map[holder]*access.Holding {
	if s.held == nil {
		all := s.access.Holdings()
		s.held = make(map[holder]*access.Holding, len(all))
		for i := range all {
			s.held[holder{all[i].Subject, all[i].Namespace}] = &all[i]
		}
	}
	return s.held
}

// withoutDeleted leaves out of the rights of the other state whatever a role allows that only this one has: without it a binding gives nothing.
func (s *clusterState) withoutDeleted(rights []access.Right) []access.Right {
	return slices.DeleteFunc(rights, func(r access.Right) bool {
		namespace, name, inNamespace := strings.Cut(r.Name, "/")
		if !inNamespace {
			namespace, name = "", r.Name
		}
		return r.Resource == access.Unknown && s.access.RightsOfRole(namespace, name) != nil
	})
}

func sortedHolders(was, is map[holder]*access.Holding) []holder {
	var all []holder
	for h := range was {
		all = append(all, h)
	}
	for h := range is {
		if was[h] == nil {
			all = append(all, h)
		}
	}
	slices.SortFunc(all, func(a, b holder) int {
		return cmp.Or(strings.Compare(a.namespace, b.namespace), a.Compare(b.Subject))
	})
	return all
}

// effectiveRights are the rights in a namespace, with those that hold everywhere.
func effectiveRights(all map[holder]*access.Holding, h holder) []access.Right {
	var rights []access.Right
	if own := all[h]; own != nil {
		rights = own.Rights
	}
	if everywhere := all[holder{h.Subject, ""}]; everywhere != nil && h.namespace != "" {
		rights = slices.Concat(rights, everywhere.Rights)
	}
	return rights
}
