// Package client is the calling side of the agent's protocol: it connects to an agent with the key of the job and asks
// its subsystems. The gate, rsh and the controller use it. It starts no process and reads no file.
//
// Every error of a connection is a *Failure: a cause in plain words that a user can act on, and the technical error
// behind it.
package client
