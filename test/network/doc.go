// Package network lets cyclonus, a judge that we did not write (github.com/mattfenwick/cyclonus), read compiled NetworkPolicies, and
// holds what it says of each packet against what pkg/compile/proof/isolation says: every pair of ends, every port that matters, TCP,
// UDP and SCTP, IPv4 and IPv6. Both judge alone; no packet is sent.
package network
