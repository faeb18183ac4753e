package agent

import (
	"context"
	"io"
	"net"
	"strings"
	"syscall"
	"testing"
	"time"

	"lockstep.dev/lockstep/pkg/mpi"
	"lockstep.dev/lockstep/pkg/mpi/agent/agenttest"
)

// refusing is an rsh to a host that refuses connections.
func refusing(t *testing.T, host, command string, output io.Writer) Rsh {
	t.Helper()
	return Rsh{
		Settings: Settings{StateDir: t.TempDir(), Port: 1}, Key: agenttest.Key(t), Log: quiet, Stdout: io.Discard, Stderr: output,
		Options: RshOptions{Host: host, Command: command, ConnectionAttempts: 1, ConnectTimeout: time.Minute},
		Dial: func(context.Context, string, string) (net.Conn, error) {
			return nil, &net.OpError{Op: "dial", Err: syscall.ECONNREFUSED}
		},
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
				if err := writeTable(r.Settings.hostTablePath(), blockedTable); err != nil {
					t.Fatal(err)
				}
			}
			if result := r.Run(t.Context()); !result.Lost || result.Code != codeLost {
				t.Errorf("%s: %+v", c.reason, result)
			}
			losses, err := readLosses(r.Settings.lossesPath())
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

// What a launcher says about it later, such as a lost daemon, would blame a machine.
func TestAHostThatIsNotOfTheJobIsNamedAsOne(t *testing.T) {
	var output strings.Builder
	r := refusing(t, "elsewhere", "orted", &output)
	if err := writeTable(r.Settings.hostTablePath(), blockedTable); err != nil {
		t.Fatal(err)
	}
	r.Run(t.Context())
	line := strings.TrimSpace(output.String())
	if line != "mpi-agent rsh: elsewhere is not a host of this job, which has demo-launcher-0-0, demo-node-0-0, demo-node-0-1" {
		t.Error(line)
	}
	got := judge(facts{argv: []string{"horovodrun"}, status: exited(1), lines: []string{line}})
	if got.Reason != mpi.ReasonCommandFailed || len(got.Lines) != 1 || !strings.Contains(got.Lines[0], "not a host of this job") {
		t.Errorf("%+v", got)
	}
}

func TestKilledDaemons(t *testing.T) {
	cases := map[string]struct {
		reason string
		line   string
		code   int
		want   bool
	}{
		"daemon":            {"somebody killed it", "orted -mca ess env", 137, true},
		"proxy":             {"somebody killed it", `"/usr/bin/hydra_pmi_proxy" --control-port l:1`, 137, true},
		"daemon, code":      {"it has said why", "orted -mca ess env", 1, false},
		"rank":              {"the program failed", "HOROVOD_RANK=0 train", 139, false},
		"rank, stopped":     {"its pod goes", "HOROVOD_RANK=0 train", 143, true},
		"ranks of one node": {"DeepSpeed passes on how a rank died", "python -u -m deepspeed.launcher.launch", 245, false},
		"command":           {"it starts no rank", "nvidia-smi", 143, false},
	}
	for name, c := range cases {
		if got := killedDaemon(c.line, c.code); got != c.want {
			t.Errorf("%s: %s: got %v", name, c.reason, got)
		}
	}
}
