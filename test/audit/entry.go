package audit

import (
	"bytes"
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

// Read returns the entries of a log that are wanted, in order. What follows the last end of a line may be half written, and counts if it is whole.
func Read(log io.Reader, wanted func(Entry) bool) ([]Entry, error) {
	text, err := io.ReadAll(log)
	if err != nil {
		return nil, fmt.Errorf("read the audit log: %w", err)
	}
	lines := bytes.Split(text, []byte("\n"))
	if last := len(lines) - 1; !json.Valid(lines[last]) {
		lines = lines[:last]
	}
	var entries []Entry
	for _, line := range lines {
		var entry Entry
		if err := json.Unmarshal(line, &entry); err != nil {
			return nil, fmt.Errorf("read the audit log: %w", err)
		}
		if wanted(entry) {
			entries = append(entries, entry)
		}
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
