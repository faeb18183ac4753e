package main

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"runtime"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"lockstep.dev/lockstep/test/platform"
)

// port is an interface of a machine: the machine's end of a pod's, among others.
type port struct {
	machine string
	index   int
}

// packet is one that an interface has carried.
type packet struct {
	at time.Time
	port
	// toPod is set where the machine hands it out: at its end of a pod's interface to the pod.
	toPod    bool
	from, to netip.Addr
}

// bufferSize takes what comes while nobody reads, in bytes.
const bufferSize = 64 << 20

// capture listens to all interfaces of a machine until ctx ends, and returns how many packets it had no room for.
func capture(ctx context.Context, machine platform.Machine, see func(packet)) (lost uint32, err error) {
	socket, err := openIn(machine)
	if err != nil {
		return 0, fmt.Errorf("listen on %s: %w", machine.Name, err)
	}
	defer func() { err = errors.Join(err, unix.Close(socket)) }()
	frame := make([]byte, 128)
	for ctx.Err() == nil {
		n, from, err := unix.Recvfrom(socket, frame, 0)
		if errors.Is(err, unix.EAGAIN) || errors.Is(err, unix.EINTR) {
			continue
		}
		if err != nil {
			return 0, fmt.Errorf("listen on %s: %w", machine.Name, err)
		}
		link, known := from.(*unix.SockaddrLinklayer)
		source, destination, is := addresses(frame[:n])
		if known && is {
			see(packet{time.Now(), port{machine.Name, link.Ifindex}, link.Pkttype == unix.PACKET_OUTGOING, source, destination})
		}
	}
	statistics, err := unix.GetsockoptTpacketStats(socket, unix.SOL_PACKET, unix.PACKET_STATISTICS)
	if err != nil {
		return 0, fmt.Errorf("ask what was lost on %s: %w", machine.Name, err)
	}
	return statistics.Drops, nil
}

// openIn opens a socket for all packets in the network of a machine. It wakes up every 200 ms.
func openIn(machine platform.Machine) (socket int, err error) {
	var once sync.WaitGroup
	once.Go(func() {
		runtime.LockOSThread() // and never unlocked: the thread is in another network, and ends with this goroutine
		socket, err = func() (int, error) {
			namespace, err := os.Open(fmt.Sprintf("/proc/%d/ns/net", machine.PID))
			if err != nil {
				return 0, err
			}
			defer func() { _ = namespace.Close() }()
			if err := unix.Setns(int(namespace.Fd()), unix.CLONE_NEWNET); err != nil {
				return 0, fmt.Errorf("enter its network: %w", err)
			}
			return openSocket()
		}()
	})
	once.Wait()
	return socket, err
}

func openSocket() (int, error) {
	everything := binary.BigEndian.Uint16(binary.NativeEndian.AppendUint16(nil, unix.ETH_P_ALL))
	socket, err := unix.Socket(unix.AF_PACKET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, int(everything))
	if err != nil {
		return 0, fmt.Errorf("open a socket: %w", err)
	}
	err = errors.Join(
		unix.SetsockoptInt(socket, unix.SOL_SOCKET, unix.SO_RCVBUFFORCE, bufferSize),
		unix.SetsockoptTimeval(socket, unix.SOL_SOCKET, unix.SO_RCVTIMEO, &unix.Timeval{Usec: 200_000}),
	)
	if err != nil {
		return 0, errors.Join(err, unix.Close(socket))
	}
	return socket, nil
}

// addresses reads those of an IP packet without its link-layer header.
func addresses(data []byte) (from, to netip.Addr, is bool) {
	switch {
	case len(data) >= 20 && data[0]>>4 == 4:
		return netip.AddrFrom4([4]byte(data[12:16])), netip.AddrFrom4([4]byte(data[16:20])), true
	case len(data) >= 40 && data[0]>>4 == 6:
		return netip.AddrFrom16([16]byte(data[8:24])), netip.AddrFrom16([16]byte(data[24:40])), true
	}
	return from, to, false
}
