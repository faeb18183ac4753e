package main

import (
	"net"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/crypto/ssh"

	"lockstep.dev/lockstep/pkg/mpi/agent/identity"
)

func TestFIPSModeIsTheAgentsOwnBusiness(t *testing.T) {
	t.Setenv("LOCKSTEP_FIPS", "true")
	t.Setenv("GODEBUG", "http2client=0")
	j, nodes := serving(t, 1)
	got := j.rsh("demo-node-0-0", "env").wait()
	if got.code != 0 || !strings.Contains(got.stdout, "\nGODEBUG=http2client=0\n") || strings.Contains(got.stdout, "fips140") ||
		strings.Contains(got.stdout, "SAVED_GODEBUG") {
		t.Errorf("the command saw %+v", got)
	}
	key, err := identity.LoadKey(j.keyDir)
	if err != nil {
		t.Fatal(err)
	}
	address := net.JoinHostPort(j.hosts[1].Address, strconv.Itoa(j.port))
	offers := map[string]struct {
		change func(*ssh.ClientConfig)
		in     bool
	}{
		"ours":        {func(*ssh.ClientConfig) {}, true},
		"P-384":       {func(c *ssh.ClientConfig) { c.KeyExchanges = []string{ssh.KeyExchangeECDHP384} }, true},
		"X25519":      {func(c *ssh.ClientConfig) { c.KeyExchanges = []string{ssh.KeyExchangeCurve25519} }, false},
		"ChaCha20":    {func(c *ssh.ClientConfig) { c.Ciphers = []string{ssh.CipherChaCha20Poly1305} }, false},
		"AES-CTR":     {func(c *ssh.ClientConfig) { c.Ciphers = []string{ssh.CipherAES256CTR} }, false},
		"Ed25519 key": {func(c *ssh.ClientConfig) { c.HostKeyAlgorithms = []string{ssh.KeyAlgoED25519} }, false},
	}
	for name, offer := range offers {
		config := key.ClientConfig()
		offer.change(config)
		conn, err := ssh.Dial("tcp", address, config)
		if (err == nil) != offer.in {
			t.Errorf("a client that offers %s: %v", name, err)
		}
		if err == nil {
			conn.Close()
		}
	}
	if err := nodes[0].command.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	if got := nodes[0].wait(); !strings.Contains(got.stderr, "in FIPS 140-3 mode (Go cryptographic module ") {
		t.Errorf("the log says %q", got.stderr)
	}
}

func TestFIPSFlagIsTheVariable(t *testing.T) {
	t.Parallel()
	bin := program(t) + "/mpi-agent"
	got := start(t, []string{asAgent + "=1", "LOCKSTEP_FIPS=perhaps"}, bin, "version").wait()
	if got.code != 1 || !strings.Contains(got.stderr, "LOCKSTEP_FIPS is `perhaps`: allowed are true and false") {
		t.Errorf("%+v", got)
	}
	j := newJob(t, 1)
	j.write(j.hostfile, "demo-launcher-0-0\n", 0o644)
	got = j.launch([]string{"--fips"}, "sh", "-c", "echo $LOCKSTEP_FIPS $GODEBUG").wait()
	if got.code != 0 || got.stdout != "true\n" {
		t.Errorf("%+v", got)
	}
}

func TestFIPSEnvironmentIsRestored(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ before, during []string }{
		"no GODEBUG":      {[]string{"A=1"}, []string{"A=1", "GODEBUG=fips140=on", "LOCKSTEP_SAVED_GODEBUG="}},
		"another setting": {[]string{"A=1", "GODEBUG=x=1"}, []string{"A=1", "GODEBUG=x=1,fips140=on", "LOCKSTEP_SAVED_GODEBUG=x=1"}},
	} {
		debug := ""
		if len(c.before) > 1 {
			debug = strings.TrimPrefix(c.before[1], "GODEBUG=")
		}
		during := withFIPS(c.before, debug)
		if diff := cmp.Diff(c.during, during); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
		if diff := cmp.Diff(c.before, withoutFIPS(during, debug)); diff != "" {
			t.Errorf("%s, afterwards: %s", name, diff)
		}
	}
}
