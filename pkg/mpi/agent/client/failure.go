package client

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"slices"
	"strings"
	"syscall"

	"golang.org/x/crypto/ssh"

	"lockstep.dev/lockstep/pkg/mpi/agent/dns"
	"lockstep.dev/lockstep/pkg/mpi/agent/identity"
	"lockstep.dev/lockstep/pkg/mpi/agent/liveness"
)

// Cause is why an agent could not be reached, in words for a user.
type Cause string

// The causes.
const (
	NoAddress      Cause = "no address"
	NoName         Cause = "its name is not in DNS"
	NoDNS          Cause = "DNS does not answer"
	Refused        Cause = "connection refused"
	TimedOut       Cause = "connection timed out"
	NoHandshake    Cause = "it accepts connections but does not answer"
	Unreachable    Cause = "no route to host"
	Authentication Cause = "authentication failed"
	NotAnAgent     Cause = "something else than the agent answers"
	Lost           Cause = "connection lost"
	Silent         Cause = "stopped answering"
	Other          Cause = "connection failed"
	// NoTable and OtherPod are causes of the gate.
	NoTable  Cause = "nobody sent the addresses of the pods"
	OtherPod Cause = "another pod of the job answers there"
)

// HasCause reports whether an error is a *Failure of one of these causes.
func HasCause(err error, causes ...Cause) bool {
	var failure *Failure
	return errors.As(err, &failure) && slices.Contains(causes, failure.Cause)
}

// Remedy says what to check.
func (c Cause) Remedy() string {
	switch c {
	case NoAddress:
		return "check that the pod exists and has an IP address"
	case NoName:
		return "nobody sent the addresses of the pods, so DNS was asked: check that all pods of the job could be created, and that the Service of the job publishes addresses that are not ready"
	case NoDNS:
		return "nobody sent the addresses of the pods, so DNS was asked: check the DNS of the cluster and that a NetworkPolicy admits port 53; with mpi-controller the launcher needs no DNS"
	case Refused:
		return "check that the container `node` of the pod runs the agent and that no NetworkPolicy rejects port 2222"
	case TimedOut, Unreachable:
		return "check that a NetworkPolicy admits port 2222 between the pods of the job and that the node is healthy"
	case NoHandshake:
		return "check whether the node is overloaded, or the network loses large packets (MTU)"
	case Authentication:
		return "check that both pods mount the same Secret with the key of the job"
	case NotAnAgent:
		return "check that the container `node` of the pod runs `mpi-agent serve`"
	case Lost, Silent:
		return "check whether the pod was ended or frozen, its node failed, or the network was cut"
	case NoTable:
		return "check that mpi-controller runs and that a NetworkPolicy admits it to port 2222 of the launcher, and that all pods of the job could be created and scheduled"
	case OtherPod:
		return "check that no pod of the job uses hostNetwork, and that the addresses are not those of pods that are gone"
	}
	return "see the agent's log in the pod"
}

// Failure is a connection that could not be made or did not last.
type Failure struct {
	Cause Cause
	// Err is the error behind it.
	Err error
}

func (f *Failure) Error() string {
	switch f.Cause {
	case Other, Silent, OtherPod:
		return fmt.Sprintf("%s: %v", f.Cause, f.Err)
	case NoName, NoDNS:
		return fmt.Sprintf("%s (%v)", f.Cause, f.Err)
	}
	return string(f.Cause)
}

func (f *Failure) Unwrap() error { return f.Err }

// failureOf finds the cause of an error; nil stays nil.
func failureOf(err error) error {
	var known *Failure
	if err == nil || errors.As(err, &known) {
		return err
	}
	return &Failure{Cause: causeOf(err), Err: err}
}

func causeOf(err error) Cause {
	var silent *liveness.SilentError
	var system *net.DNSError
	var missing *dns.NotFoundError
	var broken *dns.ServerError
	switch {
	case errors.As(err, &missing):
		return NoName
	case errors.As(err, &broken):
		return NoDNS
	case errors.As(err, &silent):
		return Silent
	case errors.As(err, &system):
		return NoAddress
	case errors.Is(err, syscall.ECONNREFUSED):
		return Refused
	case errors.Is(err, syscall.EHOSTUNREACH), errors.Is(err, syscall.ENETUNREACH):
		return Unreachable
	case errors.Is(err, os.ErrDeadlineExceeded), errors.Is(err, context.DeadlineExceeded), errors.Is(err, syscall.ETIMEDOUT):
		return TimedOut
	case isAuthentication(err):
		return Authentication
	case errors.Is(err, syscall.ECONNRESET), errors.Is(err, io.EOF), errors.Is(err, net.ErrClosed), errors.Is(err, syscall.EPIPE):
		return Lost
	}
	return Other
}

// isAuthentication recognises a wrong key on either side. A server with a key on another curve shares no host key
// algorithm with us; golang.org/x/crypto/ssh has no type for a client key that was refused.
func isAuthentication(err error) bool {
	var negotiation *ssh.AlgorithmNegotiationError
	return errors.Is(err, identity.ErrOtherKey) || errors.As(err, &negotiation) ||
		strings.Contains(err.Error(), "unable to authenticate")
}

// ExplainSessionEnd returns the error of an open connection as a *Failure. A session that ended without an exit status has lost
// its connection.
func ExplainSessionEnd(err error) error {
	var missing *ssh.ExitMissingError
	if errors.As(err, &missing) {
		return &Failure{Cause: Lost, Err: err}
	}
	return failureOf(err)
}

// DescribeError is an error in words for a table of failures, with what to check.
func DescribeError(err error) string {
	var failure *Failure
	if errors.As(err, &failure) {
		return failure.Error()
	}
	return ErrorInOneLine(err)
}

// ErrorInOneLine is an error in one line.
func ErrorInOneLine(err error) string { return strings.ReplaceAll(err.Error(), "\n", " ") }
