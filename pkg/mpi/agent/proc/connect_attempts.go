package proc

import (
	"encoding/binary"
	"encoding/hex"
	"io/fs"
	"net/netip"
	"slices"
	"strconv"
	"strings"
)

// ConnectAttempt is a TCP connection whose other side does not answer.
type ConnectAttempt struct {
	To netip.AddrPort
	// Retries is how often the kernel has asked again. It asks for a connection after 1, 3, 7, 15, 31 and 63
	// seconds (RFC 6298 section 2), on newer kernels every second at first (tcp_syn_linear_timeouts). On a
	// connection it repeats unacknowledged data after 0.2, 0.6, 1.4, 3, 6.2 seconds, or later if the way is
	// long.
	Retries int
}

// States in net/tcp_states.h of the kernel.
const (
	stateEstablished = "01"
	stateSynSent     = "02"
	stateListen      = "0A"
)

// ConnectAttempts returns the unanswered connections of this network namespace: requests without a reply, and
// established connections whose data is not acknowledged. The kernel of the other side does both, however busy its
// processes are. A port without a listener does not count: its kernel refuses the connection.
func ConnectAttempts(root fs.FS) (found []ConnectAttempt) {
	readConnections(root, func(columns []string) {
		if attempt, ok := parseAttempt(columns); ok {
			found = append(found, attempt)
		}
	})
	return found
}

// UnacceptedPorts returns the ports of this network namespace on which connections wait for their program to accept
// them. Once their queue is full, the kernel does not answer either.
func UnacceptedPorts(root fs.FS) (found []uint16) {
	readConnections(root, func(columns []string) {
		_, waiting, _ := strings.Cut(columns[columnQueues], ":")
		if columns[columnState] != stateListen || strings.Trim(waiting, "0") == "" {
			return
		}
		if at, ok := parseAddressPort(columns[columnLocal]); ok {
			found = append(found, at.Port())
		}
	})
	return found
}

// RetransmittedSegments counts what the kernel has sent again in this network namespace, requests for connections too.
func RetransmittedSegments(root fs.FS) (count uint64, known bool) {
	text, _ := fs.ReadFile(root, "self/net/snmp")
	at := -1
	for line := range strings.Lines(string(text)) {
		columns := strings.Fields(line)
		switch {
		case len(columns) == 0 || columns[0] != "Tcp:":
		case at < 0:
			at = slices.Index(columns, "RetransSegs")
		case at < len(columns):
			count, err := strconv.ParseUint(columns[at], 10, 64)
			return count, err == nil
		}
	}
	return 0, false
}

// readConnections passes on the columns of each connection.
func readConnections(root fs.FS, each func(columns []string)) {
	for _, file := range []string{"self/net/tcp", "self/net/tcp6"} {
		text, _ := fs.ReadFile(root, file)
		for line := range strings.Lines(string(text)) {
			if columns := strings.Fields(line); len(columns) > columnRetries {
				each(columns)
			}
		}
	}
}

// Columns of /proc/net/tcp (proc_net_tcp(5)).
const (
	columnLocal   = 1
	columnRemote  = 2
	columnState   = 3
	columnQueues  = 4
	columnRetries = 6
)

func parseAttempt(columns []string) (ConnectAttempt, bool) {
	to, ok := parseAddressPort(columns[columnRemote])
	retries, err := strconv.ParseUint(columns[columnRetries], 16, 31)
	open := columns[columnState] == stateSynSent || columns[columnState] == stateEstablished && retries > 0
	return ConnectAttempt{To: to, Retries: int(retries)}, ok && err == nil && open
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
