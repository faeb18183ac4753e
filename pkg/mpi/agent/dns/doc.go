// Package dns finds the addresses of pods by name without spoiling the caches on the way.
//
// A look-up before the record of a pod exists is answered with NXDOMAIN, and the cluster's DNS server keeps that answer
// for 5 to 30 s, for everybody. A look-up that follows the deletion of a pod of the same name is answered with the
// address of the dead one, as long. So nobody here asks a question whose wrong answer could be kept:
//
//	exists?    a query of a private type (RFC 6895: 65280 to 65534), a fresh one each time. A missing name is
//	           answered with NXDOMAIN, an existing one with no data. The answer is kept for this type only.
//	address?   only for a name that exists, A and then AAAA.
//	again?     when the address does not answer, past the cache: the flags CD and DO make other entries of the cache
//	           (CoreDNS, plugin cache), and each is used again only after what it holds has expired.
//
// This was worked out with CoreDNS. A server that keeps NXDOMAIN for a whole name (RFC 8020), as Unbound does, is no worse
// off than with plain queries. Domains come from resolv.conf, never from a constant.
package dns
