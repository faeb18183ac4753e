package view

import (
	"fmt"

	jobv1 "lockstep.dev/lockstep/api/job/v1"
	"lockstep.dev/lockstep/pkg/mpi"
)

// ArtifactsText describes the copy of artifacts in a line.
func ArtifactsText(a jobv1.Artifacts) string {
	switch a.State {
	case jobv1.CopyDone:
		return fmt.Sprintf("%s: %d files, %s", a.To, a.Files, mpi.FormatBytes(a.Bytes))
	case jobv1.CopyRunning:
		text := "being copied to " + a.To
		if a.Message != "" {
			text += ": " + a.Message
		}
		return text
	case jobv1.CopyFailed:
		return "not copied to " + a.To + ": " + a.Message
	}
	if a.State == "" && a.To != "" {
		return "copied to " + a.To + " after the end"
	}
	return "not copied"
}
