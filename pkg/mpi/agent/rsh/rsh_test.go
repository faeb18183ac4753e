package rsh

import (
	"context"
	"io"
	"log"
	"net"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"lockstep.dev/lockstep/pkg/mpi"
	"lockstep.dev/lockstep/pkg/mpi/agent/agenttest"
	"lockstep.dev/lockstep/pkg/mpi/agent/client"
	"lockstep.dev/lockstep/pkg/mpi/agent/identity"
	"lockstep.dev/lockstep/pkg/mpi/agent/liveness"
	"lockstep.dev/lockstep/pkg/mpi/agent/process"
	"lockstep.dev/lockstep/pkg/mpi/agent/server"
	"lockstep.dev/lockstep/pkg/mpi/agent/state"
	"lockstep.dev/lockstep/pkg/mpi/agent/verdict"
	"lockstep.dev/lockstep/pkg/mpi/agent/watch"
)

// refusing is an rsh to a host that refuses connections.
var silent = log.New(io.Discard, "", 0)

var jobTable = mpi.HostTable{Hosts: []mpi.HostAddress{
	{Name: "demo-launcher-0-0.demo", Address: "10.0.0.1"}, {Name: "demo-node-0-0.demo", Address: "10.0.0.2"}, {Name: "demo-node-0-1.demo", Address: "10.0.0.3"},
}}

func refusing(t *testing.T, host, command string, output io.Writer) Shell {
	t.Helper()
	return Shell{
		Settings: state.Settings{StateDir: t.TempDir(), Port: 1}, Key: agenttest.NewKey(t), Log: silent, Stdout: io.Discard, Stderr: output,
		Options: Options{Host: host, Command: command, ConnectionAttempts: 1, ConnectTimeout: time.Minute},
		Dial: func(context.Context, string, string) (net.Conn, error) {
			return nil, &net.OpError{Op: "dial", Err: syscall.ECONNREFUSED}
		},
	}
}

// A policy engine that renews its rules rejects for a moment what it let through before.
func TestRefusalsAreTriedLonger(t *testing.T) {
	for name, c := range map[string]struct {
		reason             string
		attempts, refusals int
		err                syscall.Errno
		want               int
	}{
		"refused":     {"", 1, 3, syscall.ECONNREFUSED, 3},
		"asked for":   {"who asks for more gets more", 2, 0, syscall.ECONNREFUSED, 2},
		"unreachable": {"each attempt at such a node takes long by itself", 1, 3, syscall.EHOSTUNREACH, 1},
	} {
		t.Run(name, func(t *testing.T) {
			r, tries := refusing(t, "demo-node-0-0", "orted", io.Discard), 0
			r.Options.ConnectionAttempts, r.Options.Refusals = c.attempts, c.refusals
			r.Dial = func(context.Context, string, string) (net.Conn, error) {
				tries++
				return nil, &net.OpError{Op: "dial", Err: c.err}
			}
			if code := r.Run(t.Context()); code != codeLost || tries != c.want {
				t.Errorf("%s: %d tries, want %d: %+v", c.reason, tries, c.want, code)
			}
		})
	}
}

// A script may ask a host something and pass over its silence.
func TestOnlyALaunchThatFailsIsALoss(t *testing.T) {
	const orted, look = "orted -mca ess env", "nvidia-smi"
	cases := map[string]struct {
		reason        string
		host, command string
		noTable       bool
		want          int
	}{
		"a launch":                  {"the job has lost a node", "demo-node-0-0", orted, false, 1},
		"a look":                    {"the command decides what that means", "demo-node-0-0", look, false, 0},
		"a launch without a table":  {"every host may be one of the job", "elsewhere", orted, true, 1},
		"a launch on another host":  {"it is no node of the job", "elsewhere", orted, false, 0},
		"a launch by address":       {"as the hostfile may name it", "10.0.0.2", orted, false, 1},
		"a launch on a far address": {"it is no node of the job", "192.0.2.1", orted, false, 0},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			var output strings.Builder
			r := refusing(t, c.host, c.command, &output)
			if !c.noTable {
				if err := state.WriteHostTable(r.Settings.HostTablePath(), jobTable); err != nil {
					t.Fatal(err)
				}
			}
			if code := r.Run(t.Context()); code != codeLost {
				t.Errorf("%s: %+v", c.reason, code)
			}
			losses, err := state.ReadRecords[verdict.Loss](r.Settings.LossesPath())
			if err != nil || len(losses) != c.want {
				t.Errorf("%s: %+v, %v", c.reason, losses, err)
			}
			for _, l := range losses {
				if l.At.IsZero() {
					t.Errorf("nobody knows when: %+v", l)
				}
			}
		})
	}
}

// Ranks may be started by hand: what breaks is a loss whatever it was, and what is a mistake is none.
func TestACommandThatBreaksIsALoss(t *testing.T) {
	const node = "demo-node-0-0"
	long := "echo " + strings.Repeat("x", process.MaxCommandLine)
	cases := map[string]struct {
		reason        string
		host, command string
		want          int
	}{
		"a launch":          {"", node, "orted -mca ess env", 1},
		"a rank":            {"an ssh of a script starts it", node, "RANK=3 python train.py", 1},
		"of another host":   {"it is no node of the job", "127.0.0.1", "RANK=3 python train.py", 0},
		"too long":          {"nothing ran", node, long, 0},
		"too long a launch": {"the launch lacks the node", node, "orted " + long, 1},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			r := refusing(t, c.host, c.command, io.Discard)
			r.Options.Keepalive = liveness.Default
			if err := state.WriteHostTable(r.Settings.HostTablePath(), jobTable); err != nil {
				t.Fatal(err)
			}
			r.Dial = breaking(t, r.Key)
			if code := r.Run(t.Context()); code != codeLost {
				t.Errorf("%s: %+v", c.reason, code)
			}
			if losses, err := state.ReadRecords[verdict.Loss](r.Settings.LossesPath()); err != nil || len(losses) != c.want {
				t.Errorf("%s: %+v, %v", c.reason, losses, err)
			}
		})
	}
}

// breaking reaches a node whose connection ends as soon as it runs a command.
func breaking(t *testing.T, key identity.Key) client.Dial {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	reached := make(chan net.Conn, 1)
	s := server.Server{Key: key, Limits: server.DefaultLimits, Log: silent, Handlers: server.Handlers{
		Exec: func(ctx context.Context, _ server.Command) server.Exit {
			(<-reached).Close()
			<-ctx.Done()
			return server.Exit{}
		},
	}}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- s.Serve(ctx, listener) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	return func(ctx context.Context, network, _ string) (net.Conn, error) {
		conn, err := (&net.Dialer{}).DialContext(ctx, network, listener.Addr().String())
		if err == nil {
			reached <- conn
		}
		return conn, err
	}
}

// The launcher's agent learns of a node that is frozen while its connection lasts, and that it is well again.
func TestASilentNodeIsNotedWhileItIsSilent(t *testing.T) {
	r := Shell{Settings: state.Settings{StateDir: t.TempDir()}}
	node := targetHost{mpi.HostAddress{Name: "demo-node-0-0", Address: "10.0.0.2"}, true}
	r.recordSilence(node, false)
	r.recordSilence(targetHost{mpi.HostAddress{Name: "elsewhere"}, false}, false)
	records, err := state.ReadRecords[watch.Silence](r.Settings.SilencesPath())
	runs := func(pid int) bool { return pid == os.Getpid() }
	warning := watch.NewStallWatch(silent).ObserveSilences(records, runs)
	if err != nil || warning == nil || !strings.HasPrefix(warning.Message, "Worker 0 does not answer") {
		t.Errorf("%+v, %v", warning, err)
	}
	r.recordSilence(node, true)
	records, err = state.ReadRecords[watch.Silence](r.Settings.SilencesPath())
	if warning := watch.NewStallWatch(silent).ObserveSilences(records, runs); warning != nil || err != nil {
		t.Errorf("it answers again: %+v, %v", warning, err)
	}
}

// What a launcher says about it later, such as a lost daemon, would blame a machine.
func TestAHostThatIsNotOfTheJobIsNamedAsOne(t *testing.T) {
	var output strings.Builder
	r := refusing(t, "elsewhere", "orted", &output)
	if err := state.WriteHostTable(r.Settings.HostTablePath(), jobTable); err != nil {
		t.Fatal(err)
	}
	r.Run(t.Context())
	line := strings.TrimSpace(output.String())
	if line != "mpi-agent rsh: elsewhere is not a host of this job, which has demo-launcher-0-0, demo-node-0-0, demo-node-0-1" {
		t.Error(line)
	}
	got, _ := verdict.Judge(verdict.Evidence{Argv: []string{"horovodrun"}, Status: agenttest.StatusOfCode(1), Lines: []string{line}})
	if got.Reason != mpi.ReasonCommandFailed || len(got.Lines) != 1 || !strings.Contains(got.Lines[0], "not a host of this job") {
		t.Errorf("%+v", got)
	}
}

func TestOnlyNodesOfTheJobAreLeft(t *testing.T) {
	r := Shell{Settings: state.Settings{StateDir: t.TempDir()}, Options: Options{Command: "hydra_pmi_proxy --control-port launcher:8 --pgid 0"}}
	for _, ofJob := range []bool{false, true} {
		r.noteDeparture(targetHost{mpi.HostAddress{Name: "a"}, ofJob})
		if notes, _ := os.ReadDir(r.Settings.StateDir); (len(notes) == 1) != ofJob {
			t.Errorf("of the job: %t, notes %v", ofJob, notes)
		}
	}
}
