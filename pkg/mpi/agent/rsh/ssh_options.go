package rsh

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"lockstep.dev/lockstep/pkg/mpi/agent/liveness"
	"lockstep.dev/lockstep/pkg/mpi/agent/state"
)

// Options are what an MPI launcher asks of rsh, in the syntax of ssh(1).
type Options struct {
	// Host is the name of the host without a user.
	Host string
	// Command is the command line: the words behind the host, joined by spaces as ssh does.
	Command string
	// Port is 0 when none was given.
	Port int
	// NoStdin is -n: the command reads nothing.
	NoStdin bool
	// Verbose is -v.
	Verbose bool
	// ConnectTimeout bounds an attempt to connect.
	ConnectTimeout time.Duration
	// ConnectionAttempts is the number of attempts, at least 1.
	ConnectionAttempts int
	// Refusals is the number of attempts at a node that refuses connections, where it is more. Who asks for a number of attempts gets
	// that.
	Refusals int
	// Keepalive is how long a silent node counts as alive.
	Keepalive liveness.Keepalive
	// Version is -V.
	Version bool
}

// UsageError is a command line that makes no sense.
type UsageError struct{ Message string }

func (e *UsageError) Error() string { return e.Message }

func usageErrorf(format string, values ...any) error {
	return &UsageError{Message: fmt.Sprintf(format, values...)}
}

const (
	// ignoredFlags ask for what is the case anyway, or for what has no meaning here: protocol version (pdsh asks for 2),
	// address family, no agent, no X11, no terminal, compression, quiet, no GSSAPI.
	ignoredFlags = "246aCkqTx"
	// ignoredValues name users, keys, configuration and algorithms. The job's key and our algorithms are used always.
	ignoredValues = "licmF"
)

// refused explains options of ssh that the agent does not have.
var refused = map[byte]string{
	't': "terminals are not offered",
	'A': "forwarding the authentication agent is not offered",
	'X': "forwarding X11 is not offered", 'Y': "forwarding X11 is not offered",
	'L': "forwarding ports is not offered", 'R': "forwarding ports is not offered",
	'D': "forwarding ports is not offered", 'W': "forwarding ports is not offered", 'w': "tunnels are not offered",
	'f': "going to the background is not offered: the connection must stay attached to watch the node",
	'N': "a connection without a command is not offered",
	's': "subsystems are not offered",
	'J': "jump hosts are not offered: pods are reached directly",
}

// ParseOptions reads the arguments behind the program's name. Like ssh it takes options before and after the host, up
// to the first word of the command. The error is a *UsageError.
func ParseOptions(args []string) (Options, error) {
	o := Options{
		ConnectTimeout: 10 * time.Second, ConnectionAttempts: 3, Refusals: 30, Keepalive: liveness.Default,
	}
	for len(args) > 0 {
		word := args[0]
		switch {
		case word == "--" && o.Host == "":
			args = args[1:]
			if len(args) > 0 {
				o.Host, args = stripUser(args[0]), args[1:]
			}
			return o.withCommand(args)
		case word == "--":
			return o.withCommand(args[1:])
		case len(word) > 1 && word[0] == '-':
			rest, err := o.parseFlags(word[1:], args[1:])
			if err != nil {
				return Options{}, err
			}
			args = rest
		case o.Host == "":
			o.Host, args = stripUser(word), args[1:]
		default:
			return o.withCommand(args)
		}
	}
	return o.withCommand(nil)
}

func (o Options) withCommand(command []string) (Options, error) {
	o.Command = strings.Join(command, " ")
	switch {
	case o.Version:
	case o.Host == "":
		return Options{}, usageErrorf("a host is missing: rsh [ssh options] HOST COMMAND…")
	case strings.TrimSpace(o.Command) == "":
		return Options{}, usageErrorf("a command is missing: interactive shells are not offered, use kubectl exec")
	}
	return o, nil
}

// stripUser strips the user, which is ignored.
func stripUser(word string) string {
	return word[strings.LastIndexByte(word, '@')+1:]
}

// parseFlags reads one word of options, such as `xq`, `p2222` or `p`, and returns the arguments that are left.
func (o *Options) parseFlags(letters string, rest []string) ([]string, error) {
	for i := range len(letters) {
		switch letter := letters[i]; {
		case letter == 'n':
			o.NoStdin = true
		case letter == 'v':
			o.Verbose = true
		case letter == 'V':
			o.Version = true
		case strings.IndexByte(ignoredFlags, letter) >= 0:
		case letter == 'p' || letter == 'o' || strings.IndexByte(ignoredValues, letter) >= 0:
			value := letters[i+1:]
			if value == "" {
				if len(rest) == 0 {
					return nil, usageErrorf("option -%c needs a value", letter)
				}
				value, rest = rest[0], rest[1:]
			}
			return rest, o.setOption(letter, value)
		case refused[letter] != "":
			return nil, usageErrorf("option -%c: %s", letter, refused[letter])
		default:
			return nil, usageErrorf("unknown option `-%c`: see mpi-agent rsh --help", letter)
		}
	}
	return rest, nil
}

func (o *Options) setOption(letter byte, value string) (err error) {
	switch letter {
	case 'p':
		if o.Port, err = state.ParsePort(value); err != nil {
			return usageErrorf("option -p: %v", err)
		}
	case 'o':
		return o.setKeywordOption(value)
	}
	return nil
}

// setKeywordOption reads `Keyword=value` or `Keyword value`. Keywords that would make the connection less safe or differently
// authenticated have no meaning here and are ignored, as all others that ssh_config(5) knows.
func (o *Options) setKeywordOption(text string) (err error) {
	end := strings.IndexAny(text, "= \t")
	if end < 1 {
		return usageErrorf("option -o: `%s` is not of the form Keyword=value", text)
	}
	keyword, value := strings.ToLower(text[:end]), strings.Trim(text[end:], "= \t")
	switch keyword {
	case "port":
		o.Port, err = state.ParsePort(value)
	case "connecttimeout":
		o.ConnectTimeout, err = parseSeconds(value)
	case "connectionattempts":
		o.ConnectionAttempts, err = parseCount(value)
		o.Refusals = 0
	case "serveraliveinterval":
		o.Keepalive.Patience = 0 // who gives a limit means it
		o.Keepalive.Interval, err = parseSeconds(value)
	case "serveralivecountmax":
		o.Keepalive.Patience = 0
		o.Keepalive.Misses, err = parseCount(value)
	}
	if err != nil {
		return usageErrorf("option -o %s: %v", text[:end], err)
	}
	return nil
}

func parseCount(text string) (int, error) {
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 || n > 1000 {
		return 0, fmt.Errorf("`%s` is not a number from 1 to 1000", text)
	}
	return n, nil
}

func parseSeconds(text string) (time.Duration, error) {
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 || n > 3600 {
		return 0, fmt.Errorf("`%s` is not a number of seconds from 1 to 3600", text)
	}
	return time.Duration(n) * time.Second, nil
}
