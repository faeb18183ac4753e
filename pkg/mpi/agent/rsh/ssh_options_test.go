package rsh

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"lockstep.dev/lockstep/pkg/mpi/agent/liveness"
)

func TestParseRshOptions(t *testing.T) {
	plain := Options{
		Host: "h", Command: "c", ConnectTimeout: 10 * time.Second, ConnectionAttempts: 3, Refusals: 30, Keepalive: liveness.Default,
	}
	with := func(change func(*Options)) Options {
		o := plain
		change(&o)
		return o
	}
	cases := map[string]struct {
		reason string
		args   []string
		want   Options
		err    string
	}{
		"plain":       {reason: "Open MPI 4", args: []string{"h", "c"}, want: plain},
		"words":       {reason: "joined by spaces, as ssh does", args: []string{"h", "orted", "-mca", "a b"}, want: with(func(o *Options) { o.Command = "orted -mca a b" })},
		"no X11":      {reason: "Hydra", args: []string{"-x", "h", `"c"`}, want: with(func(o *Options) { o.Command = `"c"` })},
		"together":    {reason: "letters in one word", args: []string{"-xqTnv4", "h", "c"}, want: with(func(o *Options) { o.NoStdin, o.Verbose = true, true })},
		"value":       {reason: "a value in the next word", args: []string{"-p", "22", "-l", "root", "-i", "/k", "h", "c"}, want: with(func(o *Options) { o.Port = 22 })},
		"value, near": {reason: "a value in the same word", args: []string{"-qp22", "-lroot", "h", "c"}, want: with(func(o *Options) { o.Port = 22 })},
		"behind":      {reason: "horovodrun puts options behind the host", args: []string{"h", "-p", "22", "c", "-p", "1"}, want: with(func(o *Options) { o.Port, o.Command = 22, "c -p 1" })},
		"pdsh":        {reason: "how pdsh, under DeepSpeed, calls ssh", args: []string{"-2", "-a", "-x", "-lroot", "-p", "2222", "h", "c"}, want: with(func(o *Options) { o.Port = 2222 })},
		"user":        {reason: "users mean nothing", args: []string{"me@corp@h", "c"}, want: plain},
		"end":         {reason: "-- ends the options", args: []string{"--", "h", "-c"}, want: with(func(o *Options) { o.Command = "-c" })},
		"end, behind": {reason: "also behind the host", args: []string{"h", "--", "-c"}, want: with(func(o *Options) { o.Command = "-c" })},
		"dash":        {reason: "a lone dash is a word", args: []string{"h", "-", "c"}, want: with(func(o *Options) { o.Command = "- c" })},
		"keywords": {
			reason: "in both forms, in any case",
			args:   []string{"-o", "ConnectionAttempts=10", "-oconnecttimeout=3", "-o", "ServerAliveInterval 1", "-o", "ServerAliveCountMax = 5", "-o", "Port=9", "h", "c"},
			want: with(func(o *Options) {
				o.ConnectionAttempts, o.Refusals, o.ConnectTimeout, o.Port = 10, 0, 3*time.Second, 9
				o.Keepalive = liveness.Keepalive{Interval: time.Second, Misses: 5, Doubt: liveness.Default.Doubt}
			}),
		},
		"unsafe keywords": {
			reason: "they cannot make it less safe", want: plain,
			args: []string{"-o", "StrictHostKeyChecking=no", "-o", "UserKnownHostsFile=/dev/null", "-o", "PasswordAuthentication=yes", "h", "c"},
		},
		"version":       {reason: "needs no host", args: []string{"-V"}, want: with(func(o *Options) { o.Host, o.Command, o.Version = "", "", true })},
		"no host":       {reason: "names what is missing", args: []string{"-x"}, err: "a host is missing"},
		"no host, end":  {reason: "names what is missing", args: []string{"--"}, err: "a host is missing"},
		"no command":    {reason: "shells are not offered", args: []string{"h"}, err: "a command is missing"},
		"blank command": {reason: "the same", args: []string{"h", " "}, err: "a command is missing"},
		"unknown":       {reason: "not an option of ssh", args: []string{"-Z", "h", "c"}, err: "unknown option `-Z`"},
		"forwarding":    {reason: "never", args: []string{"-L", "1:h:2", "h", "c"}, err: "option -L: forwarding ports is not offered"},
		"terminal":      {reason: "never", args: []string{"-xt", "h", "c"}, err: "option -t: terminals are not offered"},
		"no value":      {reason: "at the end", args: []string{"-p"}, err: "option -p needs a value"},
		"bad port":      {reason: "what is allowed", args: []string{"-p", "0", "h", "c"}, err: "allowed are 1 to 65535"},
		"bad keyword":   {reason: "what is allowed", args: []string{"-o", "ConnectTimeout=soon", "h", "c"}, err: "option -o ConnectTimeout: `soon` is not a number of seconds"},
		"no keyword":    {reason: "what is allowed", args: []string{"-o", "=x", "h", "c"}, err: "Keyword=value"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			got, err := ParseOptions(c.args)
			var usage *UsageError
			if c.err != "" {
				if !errors.As(err, &usage) || !strings.Contains(err.Error(), c.err) {
					t.Errorf("%s: got error %v, want %q", c.reason, err, c.err)
				}
				return
			}
			if diff := cmp.Diff(c.want, got); err != nil || diff != "" {
				t.Errorf("%s: %v %s", c.reason, err, diff)
			}
		})
	}
}

func FuzzParseRshOptions(f *testing.F) {
	for _, seed := range []string{"-x\nh\nc", "-p\n22\nh\nc", "-oPort=1\nu@h\n--\nc", "h\n-p1\n-n\nc", "-"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		o, err := ParseOptions(strings.Split(text, "\n"))
		switch {
		case err != nil:
			if usage := new(UsageError); !errors.As(err, &usage) {
				t.Errorf("%q: an error of another kind: %v", text, err)
			}
		case o.Version:
		case o.Host == "" || strings.TrimSpace(o.Command) == "":
			t.Errorf("%q: accepted without host or command: %+v", text, o)
		case o.ConnectionAttempts < 1 || o.Keepalive.Misses < 1 || o.Keepalive.Interval <= 0 || o.ConnectTimeout <= 0:
			t.Errorf("%q: limits that never end: %+v", text, o)
		}
	})
}
