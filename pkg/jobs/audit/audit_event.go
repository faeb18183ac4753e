package audit

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"time"
)

// Event is what is read of an audit event (k8s.io/apiserver pkg/apis/audit/v1).
type Event struct {
	Kind, Stage, Verb        string
	User                     User
	ImpersonatedUser         *User
	RequestReceivedTimestamp time.Time
	// RequestObject is what was sent, where the policy's level has it.
	RequestObject json.RawMessage
	ObjectRef     struct {
		APIGroup, Resource, Subresource, Namespace, Name string
	}
	ResponseStatus struct {
		// Code is that of HTTP.
		Code    int
		Message string
	}
}

// User is who sent a request.
type User struct {
	Username string
}

// Person is who asked: behind a service that acts for somebody, that one.
func (e *Event) Person() string {
	if e.ImpersonatedUser != nil && e.ImpersonatedUser.Username != "" {
		return e.ImpersonatedUser.Username
	}
	return e.User.Username
}

// Service is the account that acted for the person, or empty.
func (e *Event) Service() string {
	if e.Person() == e.User.Username {
		return ""
	}
	return e.User.Username
}

// errUnfinished is of a last line that is still being written, or was cut off.
var errUnfinished = errors.New("the last line is not complete")

// IsUnfinishedLine reports whether an error of ReadEvents says no more than that the log ends in the middle of a line. What came before it was read.
func IsUnfinishedLine(err error) bool { return errors.Is(err, errUnfinished) }

// ReadEvents yields the events of a log, an object of JSON in each line, as the API server writes it. It ends with the first error, which names the line.
func ReadEvents(log io.Reader) iter.Seq2[*Event, error] {
	return func(yield func(*Event, error) bool) {
		lines := bufio.NewReader(log)
		for number := 1; ; number++ {
			line, err := lines.ReadBytes('\n')
			if err == io.EOF && len(line) == 0 {
				return
			}
			if err != nil && err != io.EOF {
				yield(nil, fmt.Errorf("read line %d: %w", number, err))
				return
			}
			event := &Event{}
			if wrong := json.Unmarshal(line, event); wrong != nil {
				if err == io.EOF {
					wrong = errUnfinished
				}
				yield(nil, fmt.Errorf("line %d is not an audit event: %w", number, wrong))
				return
			}
			if !yield(event, nil) {
				return
			}
		}
	}
}
