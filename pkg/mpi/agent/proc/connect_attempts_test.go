package proc

import (
	"net/netip"
	"slices"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
)

func TestConnectAttempts(t *testing.T) {
	// As a little-endian kernel writes it.
	root := fstest.MapFS{
		"self/net/tcp": file(`  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
   0: 00000000:08AE 00000000:0000 0A 00000000:00000000 00:00000000 00000000 1000650000        0 1 1 0 100 0 0 10 0
   1: 0301F40A:C350 0900F40A:8FFB 02 00000001:00000000 01:00000321 00000004 1000650000        0 2 2 0 800 0 0 1 7
   2: 0301F40A:C351 0900F40A:08AE 01 00000000:00000000 00:00000000 00000000 1000650000        0 3 2 0 20 4 30 10 -1
   3: 0301F40A:C353 0900F40A:0400 01 00000040:00000000 01:00000321 00000005 1000650000        0 6 2 0 20 4 30 10 -1
   4: 0301F40A:0401 00000000:0000 0A 00000000:00000003 00:00000000 00000000 1000650000        0 7 1 0 100 0 0 10 0
   5: 0301F40A:C352 bad 02 00000001:00000000 01:00000321 00000004 0 0 4
`),
		"self/net/tcp6": file(`  sl  local_address                         remote_address                        st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
   0: 000000FD000000000000000001000000:C350 000000FD000000000000000002000000:1F90 02 00000001:00000000 01:00000321 00000001 0 0 5
`),
	}
	want := []ConnectAttempt{
		{netip.MustParseAddrPort("10.244.0.9:36859"), 4},
		{netip.MustParseAddrPort("10.244.0.9:1024"), 5},
		{netip.MustParseAddrPort("[fd00::2]:8080"), 1},
	}
	if diff := cmp.Diff(want, ConnectAttempts(root), cmp.Comparer(func(a, b netip.AddrPort) bool { return a == b })); diff != "" {
		t.Error(diff)
	}
	if got := ConnectAttempts(fstest.MapFS{}); got != nil {
		t.Errorf("without a table: %v", got)
	}
	if got := UnacceptedPorts(root); !slices.Equal(got, []uint16{1025}) {
		t.Errorf("connections wait at %v, want only 1025", got)
	}
}

func TestRetransmittedSegments(t *testing.T) {
	root := fstest.MapFS{"self/net/snmp": file("Ip: Forwarding\nIp: 1\nTcp: RtoAlgorithm OutSegs RetransSegs InErrs\nTcp: 1 182488 243 0\n")}
	if got, known := RetransmittedSegments(root); got != 243 || !known {
		t.Error(got, known)
	}
	if _, known := RetransmittedSegments(fstest.MapFS{"self/net/snmp": file("Tcp: OutSegs\nTcp: 1\n")}); known {
		t.Error("a kernel without the count")
	}
}
