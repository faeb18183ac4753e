package proc

import (
	"encoding/binary"
	"encoding/hex"
	"io/fs"
	"net/netip"
	"strconv"
	"strings"
)

// ConnectAttempt is a TCP connection that the other side has not answered.
type ConnectAttempt struct {
	To netip.AddrPort
	// Retries is how often the kernel has asked again: after 1, 3, 7, 15, 31 and 63 seconds (RFC 6298 section 2), on newer
	// kernels every second at first (tcp_syn_linear_timeouts).
	Retries int
}

// stateSynSent is TCP_SYN_SENT in net/tcp_states.h of the kernel.
const stateSynSent = "02"

// ConnectAttempts returns the connections of this network namespace that are asked for and not answered yet. A port that nobody listens on is
// none: there the answer is a refusal.
func ConnectAttempts(root fs.FS) []ConnectAttempt {
	var found []ConnectAttempt
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

func parseAttempt(columns []string) (ConnectAttempt, bool) {
	if len(columns) <= columnRetries || columns[columnState] != stateSynSent {
		return ConnectAttempt{}, false
	}
	to, ok := parseAddressPort(columns[columnRemote])
	retries, err := strconv.ParseUint(columns[columnRetries], 16, 31)
	return ConnectAttempt{To: to, Retries: int(retries)}, ok && err == nil
}

// parseAddressPort reads an address and a port. The kernel prints an address in words of 32 bits in the order of the machine's
// bytes.
func parseAddressPort(text string) (netip.AddrPort, bool) {
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
