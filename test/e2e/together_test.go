package e2e

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"runtime"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"golang.org/x/sync/errgroup"

	"lockstep.dev/lockstep/test/testjob"
)

// ended is a job that has ended, with the log of its launcher.
type ended struct {
	testjob.Result
	log string
}

// lines are those of the log that begin with a prefix, without it.
func (e ended) lines(prefix string) []string {
	var found []string
	for line := range strings.Lines(e.log) {
		if rest, has := strings.CutPrefix(strings.TrimSpace(line), prefix); has {
			found = append(found, rest)
		}
	}
	return found
}

// atOnce is how many jobs of a spec run at the same time: beside specs of other processes half as many as there are processors. Ranks that
// wait for each other spin: of four jobs on two processors, a hundred threads did for a minute, and agents that got no time in between counted
// as lost.
func atOnce() int {
	if CurrentSpecReport().IsSerial {
		return runtime.NumCPU()
	}
	return max(1, runtime.NumCPU()/2)
}

// together runs jobs side by side, each as who may run it, to their ends, and removes them after the test. The results are
// in the order of the jobs.
func together(ctx SpecContext, jobs ...testjob.Job) []ended {
	GinkgoHelper()
	results := make([]ended, len(jobs))
	var group errgroup.Group
	group.SetLimit(atOnce())
	for i, j := range jobs {
		removeAfterwards(ctx, j)
		group.Go(func() (err error) {
			limited, cancel := context.WithTimeoutCause(ctx, jobTimeout, fmt.Errorf("no end within %s", jobTimeout))
			defer cancel()
			var log bytes.Buffer
			results[i].Result, err = testjob.Run(limited, owner(j), j, io.MultiWriter(&log, GinkgoWriter))
			results[i].log = log.String()
			return err
		})
	}
	Expect(group.Wait()).To(Succeed())
	return results
}

// owner is who creates a job: an editor in a tenant's namespace, the admin elsewhere.
func owner(j testjob.Job) testjob.User {
	switch j.Namespace {
	case tenant:
		return editor
	case otherTenant:
		return otherEditor
	}
	return admin
}
