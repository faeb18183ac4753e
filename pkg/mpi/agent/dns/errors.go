package dns

import "fmt"

// NotFoundError says that a server knows no pod of that name.
type NotFoundError struct{ Name, Server string }

func (e *NotFoundError) Error() string { return fmt.Sprintf("%s does not know `%s`", e.Server, e.Name) }

// ServerError says that no server gave an answer that can be used.
type ServerError struct {
	// Server is the IP address of the server that was asked last.
	Server string
	Err    error
}

func (e *ServerError) Error() string { return fmt.Sprintf("%s: %v", e.Server, e.Err) }

func (e *ServerError) Unwrap() error { return e.Err }
