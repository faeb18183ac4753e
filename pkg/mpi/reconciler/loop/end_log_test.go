package loop

import (
	"bytes"
	"encoding/json"
	"log/slog"
	"strings"
	"testing"

	"github.com/go-logr/logr"
	ctrl "sigs.k8s.io/controller-runtime"

	jobv1 "lockstep.dev/lockstep/api/job/v1"
	"lockstep.dev/lockstep/pkg/jobs/view"
	"lockstep.dev/lockstep/pkg/mpi/diagnose"
	"lockstep.dev/lockstep/test/fakecluster"
)

// The end of a job is in the log once, as a job of `kubectl mpi get -o json`: it is read when the TrainJob is long deleted.
func TestEndsOfJobsAreLogged(t *testing.T) {
	var log bytes.Buffer
	ctx := ctrl.LoggerInto(t.Context(), logr.FromSlogHandler(slog.NewJSONHandler(&log, nil)))
	c := newCluster(t, fakecluster.TrainJob(refused))
	for range 3 {
		if _, err := c.controller.Reconcile(ctx, ctrl.Request{NamespacedName: name}); err != nil {
			t.Fatal(err)
		}
	}
	var line struct {
		Msg string
		Job view.Job
	}
	if lines := strings.Split(strings.TrimSpace(log.String()), "\n"); len(lines) != 1 || json.Unmarshal([]byte(lines[0]), &line) != nil {
		t.Fatalf("the log says:\n%s", log.String())
	}
	if j := line.Job; line.Msg != "the job is over" || j.Name != name.Name || j.Namespace != name.Namespace || j.Phase != jobv1.Refused ||
		j.Executor != jobv1.Controller || j.Cause == nil || j.Cause.Reason != string(diagnose.InvalidWorld) || j.Times.Ended == nil || j.Runtime.Name == "" {
		t.Errorf("the log says: %s", log.String())
	}
}
