package proc

import (
	"encoding/binary"
	"encoding/hex"
	"io/fs"
	"net/netip"
	"strconv"
	"strings"
)

// Attempt is a TCP connection that the other side has not answered.
type Attempt struct {
	To netip.AddrPort
	// Retries is how often the kernel has asked again: after 1, 3, 7, 15, 31 and 63 seconds (RFC 6298 section 2), on newer
	// kernels every second at first (tcp_syn_linear_timeouts).
	Retries int
}

// stateSynSent is TCP_SYN_SENT in net/tcp_states.h of the kernel.
const stateSynSent = "02"

// Unanswered returns the connections of this network namespace that wait for an answer. A port that nobody listens on is
// none: there the answer is a refusal.
func Unanswered(root fs.FS) []Attempt {
	var found []Attempt
	for _, file := range []string{"self/net/tcp", "self/net/tcp6"} {
		text, _ := fs.ReadFile(root, file)
		for line := range strings.Lines(string(text)) {
			if attempt, ok := parseAttempt(strings.Fields(line)); ok {
				found = append(found, attempt)
			}
		}
	}
	return found
}

// Columns of /proc/net/tcp (proc_net_tcp(5)).
const (
	columnRemote  = 2
	columnState   = 3
	columnRetries = 6
)

func parseAttempt(columns []string) (Attempt, bool) {
	if len(columns) <= columnRetries || columns[columnState] != stateSynSent {
		return Attempt{}, false
	}
	to, ok := parseEnd(columns[columnRemote])
	retries, err := strconv.ParseUint(columns[columnRetries], 16, 31)
	return Attempt{To: to, Retries: int(retries)}, ok && err == nil
}

// parseEnd reads an address and a port. The kernel prints an address in words of 32 bits in the order of the machine's
// bytes.
func parseEnd(text string) (netip.AddrPort, bool) {
	address, port, _ := strings.Cut(text, ":")
	words, err := hex.DecodeString(address)
	number, portErr := strconv.ParseUint(port, 16, 16)
	if err != nil || portErr != nil || len(words)%4 != 0 {
		return netip.AddrPort{}, false
	}
	for i := 0; i < len(words); i += 4 {
		binary.NativeEndian.PutUint32(words[i:], binary.BigEndian.Uint32(words[i:]))
	}
	ip, ok := netip.AddrFromSlice(words)
	return netip.AddrPortFrom(ip.Unmap(), uint16(number)), ok
}
