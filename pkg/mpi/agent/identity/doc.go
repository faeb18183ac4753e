// Package identity holds the one key of a job and the rules of the SSH connections that are made with it.
//
// A job has one ECDSA key pair, known to its pods and to the controller. It is the host key of every agent and the only
// user key that an agent accepts, so both sides of a connection prove that they belong to the job. The two signatures
// cannot be exchanged for each other: a host signs the bare exchange hash, a user signs the session identifier inside a
// longer record (RFC 4253 section 8, RFC 4252 section 7), and both hold only for the connection in which they were made.
//
// Only algorithms that FIPS 140-3 approves are offered: ECDSA, ECDH over P-256 and P-384, SHA-2, AES in
// GCM. Whether Go's validated module computes them is decided by whoever starts the process (LOCKSTEP_FIPS). The package
// does no I/O except LoadKey.
package identity
