package main

import (
	"io"
	"sync"

	"k8s.io/client-go/rest"

	"lockstep.dev/lockstep/internal/cli"
	"lockstep.dev/lockstep/pkg/jobs/apierror"
)

// warningCode marks a warning of an API server.
const warningCode = 299

// apiWarnings prints what the API server and the commands warn of, as kubectl does, each text once.
type apiWarnings struct {
	out rest.WarningHandler
	// shown holds the texts that the user has read.
	shown sync.Map
}

func newAPIWarnings(w io.Writer) *apiWarnings {
	return &apiWarnings{out: rest.NewWarningWriter(w, rest.WarningWriterOptions{Color: cli.HasColours(w)})}
}

// HandleWarningHeader prints a warning without the policy that it is from.
func (w *apiWarnings) HandleWarningHeader(code int, agent, text string) {
	text = apierror.WarningText(text)
	if _, before := w.shown.LoadOrStore(text, true); !before {
		w.out.HandleWarningHeader(code, agent, text)
	}
}
