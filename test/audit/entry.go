package audit

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"time"
)

// Entry is what tests read of an audit event (k8s.io/apiserver pkg/apis/audit).
type Entry struct {
	Verb                     string
	User, ImpersonatedUser   struct{ Username string }
	RequestReceivedTimestamp time.Time
	RequestObject            json.RawMessage
	ObjectRef                struct {
		APIGroup, Resource, Subresource, Namespace, Name string
	}
	ResponseStatus struct {
		Code    int
		Message string
	}
}

// longest is more than an entry of a policy with bodies takes.
const longest = 1 << 20

// Read returns the entries of a log that are wanted, in order.
func Read(log io.Reader, wanted func(Entry) bool) ([]Entry, error) {
	var entries []Entry
	lines := bufio.NewScanner(log)
	lines.Buffer(nil, longest)
	for lines.Scan() {
		var entry Entry
		if err := json.Unmarshal(lines.Bytes(), &entry); err != nil {
			return nil, fmt.Errorf("read the audit log: %w", err)
		}
		if wanted(entry) {
			entries = append(entries, entry)
		}
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("read the audit log: %w", err)
	}
	return entries, nil
}

// Write reports whether the request was to change something.
func (e Entry) Write() bool {
	return !slices.Contains([]string{"get", "list", "watch"}, e.Verb)
}

// Right is a verb on a resource of a group, as RBAC spells it.
func (e Entry) Right() string { return right(e.Verb, e.resource(), e.ObjectRef.APIGroup) }

func (e Entry) resource() string {
	if e.ObjectRef.Subresource != "" {
		return e.ObjectRef.Resource + "/" + e.ObjectRef.Subresource
	}
	return e.ObjectRef.Resource
}

// refused reports whether no role allowed the request. Admission answers with the same code and other words.
func (e Entry) refused() bool {
	return e.ResponseStatus.Code == http.StatusForbidden && strings.Contains(e.ResponseStatus.Message, "cannot "+e.Verb)
}

func right(verb, resource, group string) string {
	return fmt.Sprintf("%s %s.%s", verb, resource, group)
}
