package mpi

import "encoding/json"

// ProbeSubsystem is where the ranks of a probe meet, at an agent of the job. Each writes a ProbeRequest, and all get their answer,
// a ProbeReply, when the last one has come.
const ProbeSubsystem = "lockstep-probe"

// MaxProbeRanks bounds a probe: the number of pairs grows with the square.
const MaxProbeRanks = 128

// ProbeRequest is what one rank brings to a meeting.
type ProbeRequest struct {
	// Session and Round name the meeting. Ranks of one mpirun share a session.
	Session string `json:"session"`
	Round   string `json:"round"`
	// Rank is from 0 to Size-1, Size from 1 to MaxProbeRanks.
	Rank int `json:"rank"`
	Size int `json:"size"`
	// Seconds is how long the rank waits for the others.
	Seconds float64 `json:"seconds"`
	// Deliver asks for what the others brought.
	Deliver bool            `json:"deliver,omitempty"`
	Text    json.RawMessage `json:"text,omitempty"`
}

// ProbeReply is what all ranks brought, in the order of ranks, for those who asked for it.
type ProbeReply struct {
	Texts []json.RawMessage `json:"texts,omitempty"`
}
