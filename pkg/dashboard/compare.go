package dashboard

import (
	"context"
	"fmt"
	"regexp"
	"strings"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"lockstep.dev/lockstep/pkg/jobs/compare"
	"lockstep.dev/lockstep/pkg/jobs/fetch"
)

// mostCompared is how many runs fit beside each other on a page.
const mostCompared = 8

// Comparison has runs side by side.
type Comparison struct {
	Jobs []Job `json:"jobs"`
	compare.Table
}

// comparedPattern is NAMESPACE/NAME.
var comparedPattern = regexp.MustCompile(
	strings.TrimSuffix(namespacePattern, "$") + "/" + strings.TrimPrefix(namePattern, "^"))

// compare returns the differences between the jobs of the query, which may be gone.
func (s *Server) compare(v *visit) (any, error) {
	asked := v.URL.Query()["job"]
	if len(asked) < 2 || len(asked) > mostCompared {
		return nil, badRequest{fmt.Sprintf("%d jobs are named, and 2 to %d can be compared", len(asked), mostCompared)}
	}
	answer := Comparison{Jobs: []Job{}}
	var runs []compare.Run
	for _, text := range asked {
		if !comparedPattern.MatchString(text) {
			return nil, badRequest{fmt.Sprintf("%q is no job: name it as NAMESPACE/NAME", text)}
		}
		namespace, name, _ := strings.Cut(text, "/")
		j, run, err := v.readRun(v.Context(), client.ObjectKey{Namespace: namespace, Name: name})
		if err != nil {
			return nil, err
		}
		answer.Jobs, runs = append(answer.Jobs, j), append(runs, run)
	}
	answer.Table = compare.TableOf(runs)
	return answer, nil
}

// readRun reads a job as it ran. Of a job that is gone the history has what was asked for.
func (v *visit) readRun(ctx context.Context, key client.ObjectKey) (Job, compare.Run, error) {
	o, found, err := v.readObjectsOf(ctx, key)
	switch {
	case err != nil:
		return Job{}, compare.Run{}, err
	case found != nil:
		return jobOf(o), compare.Run{TrainJob: o.TrainJob, Now: time.Now()}, nil
	}
	return jobOf(o), fetch.ReadRun(ctx, v.c, o.TrainJob), nil
}
