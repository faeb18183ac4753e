package node

import (
	"encoding/binary"
	"fmt"
	"net/netip"
	"os"
	"os/exec"
	"strings"

	"lockstep.dev/lockstep/test/cluster/internal/network"
)

// dropForbidden makes connections between pods that a policy forbids time out, as they do with Calico, Cilium and OVN. kube-router answers
// them, and its first rules of a pod may be older than the pod's peers: what is dropped in that moment is sent again, while MPICH's launch
// waits for ever for a connection that was rejected. A kernel that cannot look into an answer (xt_u32) goes on to send it.
func dropForbidden() {
	command := exec.Command("iptables", append([]string{"--append", "OUTPUT"}, forbiddenAnswer(network.Pods)...)...)
	if out, err := command.CombinedOutput(); err != nil {
		_, _ = fmt.Fprintf(os.Stderr, "what policies forbid is rejected, not dropped: %v: %s\n", err, strings.TrimSpace(string(out)))
	}
}

// forbiddenAnswer is a rule for the answer to a packet that was for a pod. Its header begins after 20 bytes of IP and 8 of ICMP, and the
// address 16 bytes later. Answers for a service without pods are not meant.
func forbiddenAnswer(pods netip.Prefix) []string {
	address := pods.Masked().Addr().As4()
	mask := ^uint32(0) << (32 - pods.Bits())
	return []string{
		"--protocol", "icmp", "--icmp-type", "port-unreachable",
		"--match", "u32", "--u32", fmt.Sprintf("44&0x%08X=0x%08X", mask, binary.BigEndian.Uint32(address[:])), "--jump", "DROP",
	}
}
