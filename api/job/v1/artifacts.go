package v1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Artifacts are the folder of a job that outlives its pods, and its copy.
type Artifacts struct {
	// Claim and Folder are its place in the namespace.
	Claim  string `json:"claim"`
	Folder string `json:"folder"`
	// To is the prefix it is copied to, s3://BUCKET/PREFIX; empty for none.
	To string `json:"to,omitempty"`
	// State is how far the copy is; empty before the job has ended, and without To.
	State CopyState `json:"state,omitempty"`
	// Files and Bytes are how much was copied, Digest the SHA-256 of its manifest.
	Files  int    `json:"files,omitempty"`
	Bytes  int64  `json:"bytes,omitempty"`
	Digest string `json:"digest,omitempty"`
	// Reason and Message explain why it is not there yet.
	Reason  string `json:"reason,omitempty"`
	Message string `json:"message,omitempty"`
}

// IsCopying reports whether there are artifacts, and their copy is not over.
func (a *Artifacts) IsCopying() bool { return a != nil && a.State == CopyRunning }

// CopyState is how far the copy of artifacts is.
type CopyState string

// The states of a copy.
const (
	CopyRunning CopyState = "Copying"
	CopyDone    CopyState = "Copied"
	CopyFailed  CopyState = "Failed"
	// CopyNone: the job has failed, and only what a successful one makes is copied.
	CopyNone CopyState = "Kept"
)

// ManifestName is the name of the Manifest among the copied files. It comes last: with it the copy is whole.
const ManifestName = "lockstep.json"

// Manifest names the job that made artifacts, what it was made from, and its files.
type Manifest struct {
	// Version is Version.
	Version   string    `json:"version"`
	Job       string    `json:"job"`
	Namespace string    `json:"namespace"`
	UID       types.UID `json:"uid"`
	// User submitted the job, as `kubectl mpi` and the Python package write it; users may write another.
	User string `json:"user,omitempty"`
	// Runtime is the name of the runtime, Fingerprint the digest of its pods as they were compiled.
	Runtime     string `json:"runtime"`
	Fingerprint string `json:"fingerprint,omitempty"`
	// Image, Command and Args are the program. Variables are left out, because they may be secrets, and so are a
	// command and arguments of more than 120 KiB.
	Image   string   `json:"image,omitempty"`
	Command []string `json:"command,omitempty"`
	Args    []string `json:"args,omitempty"`
	// World is the size of the job.
	World *World `json:"world,omitempty"`
	// Inputs are dataset and model, as spec.initializer names them.
	Inputs []Input `json:"inputs,omitempty"`
	// Metrics are the last numbers that the program reported.
	Metrics map[string]string `json:"metrics,omitempty"`
	Phase   Phase             `json:"phase"`
	Created metav1.Time       `json:"created"`
	Started metav1.Time       `json:"started,omitzero"`
	Ended   metav1.Time       `json:"ended"`
	// Files are all others of the folder, by name.
	Files []File `json:"files"`
}

// Input is a source of data.
type Input struct {
	// Step is dataset-initializer or model-initializer.
	Step string `json:"step"`
	URI  string `json:"uri"`
	// Digest is the SHA-256 of the names and contents of its files; empty if it was not fetched.
	Digest string `json:"digest,omitempty"`
}

// File is one file.
type File struct {
	// Name is relative to the folder, with slashes.
	Name   string `json:"name"`
	Size   int64  `json:"size"`
	SHA256 string `json:"sha256"`
}
