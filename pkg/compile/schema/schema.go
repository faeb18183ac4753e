// Package schema says what the API server of a cluster would refuse, without an API server.
//
// A build embeds an archive of schemas: OpenAPI v3 of each Kubernetes minor version that a cluster may run, and the CRDs of the
// projects whose objects a bundle holds, all taken from pinned modules by the command in gen. SchemasFor returns the Schemas of one minor
// version; Schemas.Check walks an object beside the schema of its kind and returns what is wrong with it:
//
//   - fields that the schema does not know, wrong types, missing fields, and every constraint of OpenAPI and of structural
//     schemas (check.go, check_scalar.go, check_list_items.go);
//   - CEL rules of CRDs (cel_rules.go);
//   - what API servers check in Go code and no schema says, for the kinds that a bundle holds: names and labels (check_metadata.go),
//     amounts, selectors, ports, verbs (check_native_kinds.go and the files beside it that are named after kinds).
//
// The object is one that is applied to a cluster that does not have it: defaults of CRDs count as present, rules about changes
// do not apply. What needs the state of a cluster is not checked here: whether a namespace exists, quotas, admission webhooks, permissions.
//
// The package must stay cheap. It has no init of its own; a schema is unpacked when the first object of its kind comes; the verdict of a CEL rule is
// remembered by the values that the rule reads. It imports cel-go, but not the Kubernetes packages around it, because those add 6 ms to
// the start of every process; see docs/decisions/2026-11-21-embedded-schemas.md.
package schema

import (
	"fmt"
	"strings"
	"sync"

	"lockstep.dev/lockstep/pkg/compile/object"
	"lockstep.dev/lockstep/pkg/compile/origin"
)

// Problem is one reason for which the API server would refuse an object, or the pods of its jobs.
type Problem struct {
	// Path is the field, as kubectl writes it: spec.hard["requests.cpu"], spec.ports[0].port. Empty means the whole object.
	Path string
	// Message says what was found and what is allowed.
	Message string
	// From is where the value comes from, or the nearest container of it that knows; nil if none does.
	From *origin.Origin
	// Key is the last part of the path where a field itself is the mistake, and not its value.
	Key string
	// Unknown is true if there is no schema for the object's kind. Nothing else was checked then.
	Unknown bool
	// Unserved is true if no API server of the version has the kind. Message says what to write.
	Unserved bool
	// OfPods is true if not the object is refused, but the pods that others make of it.
	OfPods bool
}

// String returns the path and the message.
func (p Problem) String() string {
	if p.Path == "" {
		return p.Message
	}
	return p.Path + ": " + p.Message
}

// Schemas are those of a cluster that runs one minor version of Kubernetes. They are safe for concurrent use.
type Schemas struct {
	minor   int
	archive *schemaArchive

	mu     sync.RWMutex
	tables map[objectKind]*kindTable
}

// objectKind is what an object says about its kind, as it says it.
type objectKind struct{ apiVersion, kind string }

// Available reports whether this build has schemas. One from a fresh clone has none: `make schemas` makes them.
func Available() bool { return opened() != nil }

// AvailableMinors returns the minor versions of Kubernetes 1 that this build has schemas for, in order; none if it has no archive.
func AvailableMinors() []int {
	if a := opened(); a != nil {
		return a.minors
	}
	return nil
}

// SchemasFor returns the schemas of Kubernetes 1.minor. It fails if the build has none.
func SchemasFor(minor int) (*Schemas, error) {
	a := opened()
	if a == nil {
		return nil, fmt.Errorf("this build has no schemas of Kubernetes: run `make schemas` and build again")
	}
	var known []string
	for _, have := range a.minors {
		if have == minor {
			return &Schemas{minor: minor, archive: a, tables: map[objectKind]*kindTable{}}, nil
		}
		known = append(known, fmt.Sprintf("1.%d", have))
	}
	return nil, fmt.Errorf("this build has no schemas of Kubernetes 1.%d, only of %s", minor, strings.Join(known, ", "))
}

// Check returns why the API server would refuse an object, in the order of the object's fields as far as one check finds them; nothing
// if it would accept it.
func (s *Schemas) Check(root *object.Node) []Problem {
	k := objectKind{root.StringAt("apiVersion"), root.StringAt("kind")}
	table := s.table(k)
	if table == nil {
		if why := s.archive.unservedReason(s.minor, k); why != "" {
			return []Problem{{Unserved: true, From: root.From, Message: why}}
		}
		return []Problem{{Path: "", Unknown: true, From: root.From,
			Message: fmt.Sprintf("no schema for kind `%s` of `%s`", root.StringAt("kind"), root.StringAt("apiVersion"))}}
	}
	c := check{table: table, root: root, minor: s.minor}
	c.object()
	return c.problems
}

// table returns the schema of a kind, or nil if there is none.
func (s *Schemas) table(k objectKind) *kindTable {
	s.mu.RLock()
	found, known := s.tables[k]
	s.mu.RUnlock()
	if known {
		return found
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if found, known = s.tables[k]; !known {
		found = s.archive.table(s.minor, k)
		s.tables[k] = found
	}
	return found
}
