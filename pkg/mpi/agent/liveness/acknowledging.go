package liveness

import (
	"net"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// acknowledging is a TCP connection whose kernel probes the other side when nothing is sent, and knows when it last heard of it. A kernel
// acknowledges although the process behind it does not run. The zero value is a connection that cannot tell.
type acknowledging struct{ raw syscall.RawConn }

// acknowledgements is after how many intervals without an acknowledgement the other machine counts as silent too. One probe may be lost.
const acknowledgements = 3

// probed makes the kernel probe an idle connection at an interval, of whole seconds.
func probed(conn net.Conn, interval time.Duration) acknowledging {
	tcp, ok := conn.(*net.TCPConn)
	if !ok {
		return acknowledging{}
	}
	every := max(interval, time.Second)
	// The kernel would end the connection after the last probe in vain; who is lost is decided here, and told in better words.
	const mostProbes = 100
	if err := tcp.SetKeepAliveConfig(net.KeepAliveConfig{Enable: true, Idle: every, Interval: every, Count: mostProbes}); err != nil {
		return acknowledging{}
	}
	raw, err := tcp.SyscallConn()
	if err != nil {
		return acknowledging{}
	}
	return acknowledging{raw}
}

// acknowledgedWithin reports whether the other side's kernel has acknowledged something in the last so long.
func (a acknowledging) acknowledgedWithin(last time.Duration) bool {
	if a.raw == nil {
		return false
	}
	var info *unix.TCPInfo
	var err error
	if failed := a.raw.Control(func(fd uintptr) { info, err = unix.GetsockoptTCPInfo(int(fd), unix.SOL_TCP, unix.TCP_INFO) }); failed != nil || err != nil {
		return false
	}
	return time.Duration(info.Last_ack_recv)*time.Millisecond <= last
}
