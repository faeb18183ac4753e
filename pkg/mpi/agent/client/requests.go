package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"golang.org/x/crypto/ssh"

	"lockstep.dev/lockstep/pkg/mpi"
	"lockstep.dev/lockstep/pkg/mpi/agent/identity"
)

// RefusedError is an answer of an agent that could not do what it was asked.
type RefusedError struct{ Message string }

func (e *RefusedError) Error() string { return e.Message }

// AskHello asks a node whether its agent is there.
func AskHello(ctx context.Context, dial Dial, key identity.Key, address string) (mpi.Hello, error) {
	return askOnNewConnection[mpi.Hello](ctx, dial, key, address, mpi.HelloSubsystem, nil)
}

// SendHostTable gives a node the table of the job, so that a launch daemon on the node can reach the other nodes, and asks
// whom of them it cannot reach.
func SendHostTable(ctx context.Context, dial Dial, key identity.Key, address string, table mpi.HostTable) (mpi.Hello, error) {
	return askOnNewConnection[mpi.Hello](ctx, dial, key, address, mpi.HelloSubsystem, table)
}

// ReportReply is what a node answers to mpi.ReportSubsystem: a report, and what is needed to judge by it.
type ReportReply struct {
	mpi.NodeReport
	// LaunchAge is that of mpi.Progress at the moment of the report: whether a rank failed before a launch or in it can be a
	// matter of milliseconds.
	LaunchAge *float64 `json:"launchAge,omitempty"`
}

// NodeAnswer is all that a node says of what ran there.
type NodeAnswer struct {
	ReportReply
	// Received is when the report came: its times count from then.
	Received time.Time
	Progress mpi.Progress
}

// AskReport asks a node what ran there, and when it began.
func AskReport(ctx context.Context, dial Dial, key identity.Key, address string) (NodeAnswer, error) {
	var answer NodeAnswer
	err := withConnection(ctx, dial, key, address, func(conn ssh.Conn) error {
		if err := askSubsystem(conn, mpi.ReportSubsystem, nil, &answer.ReportReply); err != nil {
			return err
		}
		answer.Received = time.Now()
		return askSubsystem(conn, mpi.ProgressSubsystem, nil, &answer.Progress)
	})
	return answer, err
}

// AskProgress asks a node what its ranks have done so far.
func AskProgress(ctx context.Context, dial Dial, key identity.Key, address string, request mpi.ProgressRequest) (mpi.Progress, error) {
	return askOnNewConnection[mpi.Progress](ctx, dial, key, address, mpi.ProgressSubsystem, request)
}

// AskTraffic asks a node what its ranks have sent.
func AskTraffic(ctx context.Context, dial Dial, key identity.Key, address string, request mpi.TrafficRequest) (mpi.NodeTraffic, error) {
	return askOnNewConnection[mpi.NodeTraffic](ctx, dial, key, address, mpi.TrafficSubsystem, request)
}

// AskWaiting asks a node how long its ranks have been inside of MPI.
func AskWaiting(ctx context.Context, dial Dial, key identity.Key, address string, request mpi.WaitingRequest) (mpi.NodeWaiting, error) {
	return askOnNewConnection[mpi.NodeWaiting](ctx, dial, key, address, mpi.WaitingSubsystem, request)
}

// AskLaunchTimings asks a launcher how far the launch is.
func AskLaunchTimings(ctx context.Context, dial Dial, key identity.Key, address string) (mpi.LaunchTimings, error) {
	return askOnNewConnection[mpi.LaunchTimings](ctx, dial, key, address, mpi.LaunchTimingsSubsystem, nil)
}

// ExchangeProbe brings something to an exchange between ranks and waits for the others.
func ExchangeProbe(ctx context.Context, dial Dial, key identity.Key, address string, request mpi.ProbeRequest) (mpi.ProbeReply, error) {
	return askOnNewConnection[mpi.ProbeReply](ctx, dial, key, address, mpi.ProbeSubsystem, request)
}

// PassTraining passes the post of a program in this pod to the agent of the launcher.
func PassTraining(ctx context.Context, dial Dial, key identity.Key, address string,
	progress mpi.TrainingProgress) error {
	_, err := askOnNewConnection[struct{}](ctx, dial, key, address, mpi.TrainingSubsystem, progress)
	return err
}

// AskWarnings asks the launcher of a running job for warnings and progress, and waits until they differ from the known
// ones, at most mpi.WarningsHold. Progress alone ends the wait only after trainingAfter. The error is a *RefusedError if
// the agent is too old to answer.
func AskWarnings(ctx context.Context, dial Dial, key identity.Key, launcher mpi.HostAddress, known mpi.JobWarnings,
	trainingAfter time.Duration) (mpi.JobWarnings, error) {
	address, err := AgentAddress(launcher, mpi.AgentPort)
	if err != nil {
		return known, err
	}
	ctx, cancel := context.WithTimeout(ctx, mpi.WarningsHold+mpi.GateHolds)
	defer cancel()
	request := mpi.WarningsRequest{JobWarnings: known, TrainingAfter: new(trainingAfter.Seconds())}
	var warnings mpi.JobWarnings
	err = withConnection(ctx, dial, key, address, func(conn ssh.Conn) error {
		return askWithReplyLimit(conn, mpi.WarningsSubsystem, request, &warnings, maxGateReply)
	})
	if err != nil {
		return known, err
	}
	return warnings.WithinBounds(), nil
}

// launcherAnswers is how long a launcher may take to answer: it says after mpi.GateHolds at the latest that it still waits.
var launcherAnswers = 2 * mpi.GateHolds

// PushHostTable gives the table of a job to its launcher, the first host of the table, and waits until the launcher's gate has
// passed or failed, or the launcher says that it still waits, mpi.GateHolds at most. It may be called again: the answer stays the same. The error is a *Failure when the launcher cannot
// be reached (its container may not run yet) and a *RefusedError when it does not accept the table.
func PushHostTable(ctx context.Context, dial Dial, key identity.Key, table mpi.HostTable) (mpi.GateResult, error) {
	if len(table.Hosts) == 0 {
		return mpi.GateResult{}, errors.New("push the table of hosts: it is empty")
	}
	launcher := table.Hosts[0]
	address, err := AgentAddress(launcher, mpi.AgentPort)
	if err != nil {
		return mpi.GateResult{}, fmt.Errorf("push the table of hosts to %s: %w", launcher.Name, err)
	}
	ctx, cancel := context.WithTimeout(ctx, launcherAnswers)
	defer cancel()
	var result mpi.GateResult
	err = withConnection(ctx, dial, key, address, func(conn ssh.Conn) error {
		return askWithReplyLimit(conn, mpi.HostTableSubsystem, table, &result, maxGateReply)
	})
	if err != nil {
		return mpi.GateResult{}, fmt.Errorf("push the table of hosts to %s: %w", launcher.Name, err)
	}
	return result.WithinBounds(), nil
}

// askOnNewConnection connects, asks one subsystem and disconnects.
func askOnNewConnection[Reply any](ctx context.Context, dial Dial, key identity.Key, address, subsystem string, request any) (Reply, error) {
	var reply Reply
	err := withConnection(ctx, dial, key, address, func(conn ssh.Conn) error { return askSubsystem(conn, subsystem, request, &reply) })
	return reply, err
}

// withConnection connects, talks and disconnects.
func withConnection(ctx context.Context, dial Dial, key identity.Key, address string, talk func(ssh.Conn) error) error {
	conn, err := Connect(ctx, dial, key, address)
	if err != nil {
		return err
	}
	defer conn.Close()
	stop := context.AfterFunc(ctx, func() { conn.Close() })
	err = talk(conn)
	if !stop() {
		return failureOfEndedContext(context.Cause(ctx))
	}
	return err
}

// What an agent may answer, in bytes: to another pod of its job, and to the controller, which asks the launchers of all jobs, whoever wrote
// those.
const (
	maxReply     = 4 << 20
	maxGateReply = 64 << 10
	maxComplaint = 4 << 10
)

// noStatus is the exit status of a session that ended without one.
const noStatus = -1

// askSubsystem sends a request as JSON, or nothing when it is nil, and decodes the reply.
func askSubsystem(conn ssh.Conn, subsystem string, request, reply any) error {
	return askWithReplyLimit(conn, subsystem, request, reply, maxReply)
}

// askWithReplyLimit is askSubsystem for an answer of a size at most.
func askWithReplyLimit(conn ssh.Conn, subsystem string, request, reply any, atMost int64) error {
	body, err := encodeRequest(request)
	if err != nil {
		return err
	}
	channel, requests, err := conn.OpenChannel("session", nil)
	if err != nil {
		return failureOf(err)
	}
	defer channel.Close()
	status := make(chan int, 1)
	go func() { status <- awaitExitStatus(requests) }()
	accepted, err := channel.SendRequest("subsystem", true, ssh.Marshal(struct{ Name string }{subsystem}))
	switch {
	case err != nil:
		return failureOf(err)
	case !accepted:
		return &RefusedError{Message: fmt.Sprintf("the agent does not offer %s here", subsystem)}
	}
	answer, complaint, err := exchangeOverChannel(channel, body, atMost)
	if err != nil {
		return failureOf(err)
	}
	switch code := <-status; {
	case code == noStatus:
		return &Failure{Cause: Lost, Err: fmt.Errorf("%s ended without an answer", subsystem)}
	case code != 0:
		return &RefusedError{Message: strings.TrimSpace(string(complaint))}
	}
	if err := json.Unmarshal(answer, reply); err != nil {
		return fmt.Errorf("decode the answer of %s: %w", subsystem, err)
	}
	return nil
}

// exchangeOverChannel writes the request, closes its side and reads what comes back.
func exchangeOverChannel(channel ssh.Channel, body []byte, atMost int64) (answer, complaint []byte, err error) {
	if _, err = channel.Write(body); err == nil {
		err = channel.CloseWrite()
	}
	if err != nil && !errors.Is(err, io.EOF) { // EOF: answered before it had read everything
		return nil, nil, err
	}
	if answer, err = io.ReadAll(io.LimitReader(channel, atMost+1)); err != nil {
		return nil, nil, err
	}
	if int64(len(answer)) > atMost {
		return nil, nil, fmt.Errorf("the answer is larger than %d KiB", atMost>>10)
	}
	complaint, err = io.ReadAll(io.LimitReader(channel.Stderr(), maxComplaint))
	return answer, complaint, err
}

// awaitExitStatus returns the exit status among the requests of a session (RFC 4254 section 6.10).
func awaitExitStatus(requests <-chan *ssh.Request) int {
	status := noStatus
	for request := range requests {
		var exit struct{ Status uint32 }
		if request.Type == "exit-status" && ssh.Unmarshal(request.Payload, &exit) == nil {
			status = int(exit.Status)
		}
		if request.WantReply {
			_ = request.Reply(false, nil)
		}
	}
	return status
}

func encodeRequest(request any) ([]byte, error) {
	if request == nil {
		return nil, nil
	}
	body, err := json.Marshal(request)
	if err != nil {
		return nil, fmt.Errorf("encode the request: %w", err)
	}
	return body, nil
}
