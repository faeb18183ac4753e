package rsh

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log"
	"net"
	"os"
	"strconv"
	"time"

	"golang.org/x/crypto/ssh"

	"lockstep.dev/lockstep/pkg/mpi"
	"lockstep.dev/lockstep/pkg/mpi/agent/client"
	"lockstep.dev/lockstep/pkg/mpi/agent/hosts"
	"lockstep.dev/lockstep/pkg/mpi/agent/identity"
	"lockstep.dev/lockstep/pkg/mpi/agent/process"
	"lockstep.dev/lockstep/pkg/mpi/agent/program"
	"lockstep.dev/lockstep/pkg/mpi/agent/state"
	"lockstep.dev/lockstep/pkg/mpi/agent/verdict"
	"lockstep.dev/lockstep/pkg/mpi/agent/watch"
	"lockstep.dev/lockstep/pkg/mpi/agent/watch/hydra"
)

// Shell runs one command on a host.
type Shell struct {
	Settings state.Settings
	Options  Options
	Key      identity.Key
	Dial     client.Dial
	Stdin    io.Reader
	Stdout   io.Writer
	Stderr   io.Writer
	Log      *log.Logger
}

const (
	// codeLost is the exit code of ssh for everything that is not the command's own.
	codeLost = 255
	// between is the time between two attempts to connect.
	between = 500 * time.Millisecond
	// answersWithin is the time in which a node answers that is there. A pod that is deleted does until its end.
	answersWithin = 500 * time.Millisecond
)

// Run runs the command and copies its streams. It returns when the command has ended or the node is lost, which it says
// in one line and leaves for the verdict. The code is the command's own, 128+n after signal n, 255 when there was no connection or it did
// not last. It does not wait for standard input to end.
func (r Shell) Run(ctx context.Context) (code int) {
	host, err := resolveHost(r.Settings, r.Options.Host)
	if unknown := new(unknownHostError); errors.As(err, &unknown) {
		fmt.Fprintf(r.Stderr, "mpi-agent rsh: %v\n", err) // a mistake of the command, and no loss of the job
		return codeLost
	}
	if err != nil {
		return r.endUnreached(host, err)
	}
	conn, err := r.connectWithRetries(ctx, host.HostAddress)
	if err != nil {
		return r.endUnreached(host, err)
	}
	defer conn.Close()
	code, since, err := r.runWatched(ctx, conn, host)
	if err != nil {
		return r.endBroken(host, since, err)
	}
	if program.IsKilledDaemon(r.Options.Command, code) {
		r.recordLoss(host, verdict.Loss{Daemon: code})
	}
	if code == 0 {
		r.noteDeparture(host)
	}
	return code
}

// noteDeparture notes that a command has ended well on a node of the job, for the watch of Hydra's launches.
func (r Shell) noteDeparture(host targetHost) {
	if !host.ofJob {
		return
	}
	if err := hydra.NoteDepartedNode(r.Settings.StateDir, r.Options.Command, host.Name); err != nil && r.Options.Verbose {
		r.Log.Printf("rsh: nobody will know that %s was left: %v", host.Name, err)
	}
}

// unknownHostError says that the table of the job lacks a host.
type unknownHostError struct{ name, known string }

func (e *unknownHostError) Error() string {
	return fmt.Sprintf("%s is not a host of this job, which has %s", e.name, e.known)
}

// targetHost is the host that a command is for.
type targetHost struct {
	mpi.HostAddress
	// ofJob reports whether the job loses a node with it.
	ofJob bool
}

// resolveHost finds the address of the host: a name or an address is in the table that the gate left. Without a table, as in a
// pod that passed no gate, names are left to DNS, and any host may be one of the job.
func resolveHost(s state.Settings, name string) (targetHost, error) {
	isAddress, itself := net.ParseIP(name) != nil, mpi.HostAddress{Name: name, Address: name}
	table, err := state.ReadHostTable(s.HostTablePath())
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return targetHost{itself, true}, nil
	case err != nil && !isAddress:
		return targetHost{mpi.HostAddress{Name: name}, true}, err
	}
	host, found := hosts.FindHost(table, name)
	if isAddress {
		host, found = hosts.FindAddress(table, name)
	}
	switch {
	case found:
		return targetHost{host, true}, nil
	case isAddress:
		return targetHost{itself, false}, nil
	}
	return targetHost{}, &unknownHostError{name: name, known: hostNames(table)}
}

// IsOwnHost reports whether a name or an address is that of the pod with this host name. A launcher that runs ranks is a host of its job, and
// programs that start ranks by ssh on each host, such as pdsh, do so on their own host too. Its agent serves no commands.
func IsOwnHost(s state.Settings, name, hostname string) bool {
	if hosts.FirstLabel(name) == hosts.FirstLabel(hostname) {
		return true // also where a job has no other host, and its table none
	}
	host, err := resolveHost(s, name)
	return err == nil && host.ofJob && hosts.FirstLabel(host.Name) == hosts.FirstLabel(hostname)
}

func hostNames(table mpi.HostTable) string {
	var names []string
	for _, host := range table.Hosts {
		names = append(names, hosts.FirstLabel(host.Name))
	}
	return hosts.ListNames(names)
}

// connectWithRetries tries as often as the options say, and more often where connections are refused: the gate has seen the node, and policy engines
// that renew their rules on a busy machine reject for seconds what they let through before and after. Another key does not
// get better.
func (r Shell) connectWithRetries(ctx context.Context, host mpi.HostAddress) (*client.Connection, error) {
	port := r.Options.Port
	if port == 0 {
		port = r.Settings.Port
	}
	address := net.JoinHostPort(host.Address, strconv.Itoa(port))
	for try := 1; ; try++ {
		if r.Options.Verbose {
			r.Log.Printf("rsh: connect to %s at %s, attempt %d of %d", host.Name, address, try, r.Options.ConnectionAttempts)
		}
		conn, err := r.connectOnce(ctx, address)
		most := r.Options.ConnectionAttempts
		if client.HasCause(err, client.Refused) {
			most = max(most, r.Options.Refusals)
		}
		if err == nil || client.HasCause(err, client.Authentication) || try >= most {
			return conn, err
		}
		time.Sleep(between)
	}
}

func (r Shell) connectOnce(ctx context.Context, address string) (*client.Connection, error) {
	ctx, cancel := context.WithTimeout(ctx, r.Options.ConnectTimeout)
	defer cancel()
	return client.Connect(ctx, r.Dial, r.Key, address)
}

// runWatched runs the command on the connection and watches the node meanwhile. Beside an error it returns since when the node
// has been silent, zero for one that was not.
func (r Shell) runWatched(ctx context.Context, conn *client.Connection, host targetHost) (int, time.Time, error) {
	if len(r.Options.Command) > process.MaxCommandLine {
		return 0, time.Time{}, fmt.Errorf("the command has %d bytes, at most %d are possible", len(r.Options.Command), process.MaxCommandLine)
	}
	type silence struct {
		lasted time.Duration
		err    error
	}
	silent := make(chan silence, 1)
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	go func() {
		lasted, err := r.Options.Keepalive.WatchSilence(ctx, conn, conn.Wire, func(silent bool) { r.recordSilence(host, !silent) })
		silent <- silence{lasted, err}
		if err != nil {
			conn.Close()
		}
	}()
	code, err := r.runSession(conn.Client)
	if err == nil {
		return code, time.Time{}, nil
	}
	stop()
	watched, since := <-silent, time.Time{}
	if watched.err != nil {
		err = watched.err
	}
	if watched.lasted > answersWithin {
		since = time.Now().Add(-watched.lasted)
	}
	return 0, since, client.ExplainSessionEnd(err)
}

func (r Shell) runSession(conn *ssh.Client) (int, error) {
	session, err := conn.NewSession()
	if err != nil {
		return 0, err
	}
	defer session.Close()
	stdin, err := session.StdinPipe()
	if err != nil {
		return 0, err
	}
	session.Stdout, session.Stderr = r.Stdout, r.Stderr
	if err := session.Start(r.Options.Command); err != nil {
		return 0, err
	}
	go r.feedStdin(stdin)
	err = session.Wait()
	var exit *ssh.ExitError
	if errors.As(err, &exit) {
		return exit.ExitStatus(), nil
	}
	return 0, err
}

// feedStdin passes standard input on and then its end. It is left behind when the command ends first.
func (r Shell) feedStdin(stdin io.WriteCloser) {
	if !r.Options.NoStdin && r.Stdin != nil {
		_, _ = io.Copy(stdin, r.Stdin) // the command decides how much it reads
	}
	_ = stdin.Close() // the connection may have ended
}

// endUnreached is the end when there was no connection. That is a loss when ranks should have started there: what a script
// makes of a look at a node that fails is its own business.
func (r Shell) endUnreached(host targetHost, err error) int {
	if program.StartsRanks(r.Options.Command) {
		r.recordLoss(host, verdict.Loss{Error: client.ErrorInOneLine(err)})
	}
	return r.printLoss("cannot reach", host, err)
}

// endBroken is the end of a connection in the middle of a command. Whatever the command was, something ran there and its node went:
// ranks may be started by hand too.
func (r Shell) endBroken(host targetHost, since time.Time, err error) int {
	if program.StartsRanks(r.Options.Command) || isBrokenConnection(err) {
		r.recordLoss(host, verdict.Loss{Error: client.ErrorInOneLine(err), Since: since})
	}
	return r.printLoss("lost", host, err)
}

// isBrokenConnection reports whether a connection ended or fell silent, which is not a refusal of the other side.
func isBrokenConnection(err error) bool {
	return client.HasCause(err, client.Lost, client.Silent, client.TimedOut, client.Unreachable)
}

// printLoss says what happened, in one line.
func (r Shell) printLoss(verb string, host targetHost, err error) int {
	address, remedy := "", ""
	if host.Address != "" && host.Address != host.Name {
		address = " (" + host.Address + ")"
	}
	var failure *client.Failure
	if errors.As(err, &failure) {
		remedy = "; " + failure.Cause.Remedy()
	}
	fmt.Fprintf(r.Stderr, "mpi-agent rsh: %s node %s%s: %s%s\n", verb, host.Name, address, client.ErrorInOneLine(err), remedy)
	return codeLost
}

// recordSilence notes for the launcher's agent that the agent of a node of the job does not answer, or does again.
func (r Shell) recordSilence(host targetHost, over bool) {
	if !host.ofJob {
		return
	}
	note := watch.Silence{Host: host.Name, Address: host.Address, PID: os.Getpid(), Over: over}
	if err := state.AppendRecord(r.Settings.SilencesPath(), note); err != nil && r.Options.Verbose {
		r.Log.Printf("rsh: nobody will know that %s is silent: %v", host.Name, err)
	}
}

// recordLoss leaves the loss of a node of the job for the verdict.
func (r Shell) recordLoss(host targetHost, l verdict.Loss) {
	if !host.ofJob {
		return
	}
	l.Host, l.Address, l.At = host.Name, host.Address, time.Now()
	if err := state.AppendRecord(r.Settings.LossesPath(), l); err != nil && r.Options.Verbose {
		r.Log.Printf("rsh: the verdict will not know this: %v", err)
	}
}
