// Package server is the protocol front of the agent: an SSH server that lets in the holders of the job's key and
// translates sessions into calls of Go functions. It starts no process itself.
//
// A session is either one command (`exec`) or one subsystem; everything else that SSH knows is refused: shells,
// terminals, environment, signals, forwarding of ports, agents and X11, other channel types. A session ends when its
// function returns; its context ends when the peer closes the session, the connection is lost, the peer stops answering
// keepalives, or the server drains. One that drains lets nobody in, and lingers for what is to end by itself.
//
// Connections that have not authenticated are bounded in number and time, requests of subsystems in size. Who holds the
// key may run what it likes: no bound after that.
package server
