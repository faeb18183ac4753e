package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/rand"
	"sigs.k8s.io/controller-runtime/pkg/client"

	trainer "lockstep.dev/lockstep/api/trainer/v1alpha1"
	"lockstep.dev/lockstep/internal/cli"
	"lockstep.dev/lockstep/pkg/jobs/act"
	"lockstep.dev/lockstep/pkg/jobs/certify"
	"lockstep.dev/lockstep/pkg/jobs/fetch"
	"lockstep.dev/lockstep/pkg/jobs/logs"
	"lockstep.dev/lockstep/pkg/jobs/submit"
	"lockstep.dev/lockstep/pkg/mpi"
	mpijob "lockstep.dev/lockstep/pkg/mpi/job"
)

// certifyCommand is `kubectl mpi certify`.
type certifyCommand struct {
	*kube
	output  outputFlag
	job     submitFlags
	limits  certify.Limits
	by      string
	timeout time.Duration
}

func newCertify(k *kube) *cobra.Command {
	c := &certifyCommand{kube: k}
	cmd := &cobra.Command{
		Use:   "certify RUNTIME",
		Short: "Test a runtime on this cluster, and print what its spec says of it then",
		Long: `Run a probe in a job of the runtime, in a namespace whose tenant may use it: all ranks start, and all pairs of them measure round trip and
bandwidth of TCP. When that holds, the job is deleted, and what is printed goes into the spec of the cluster: from then on the ClusterTrainingRuntime
has the label ` + mpi.CertifiedLabel + `, and the compiler says when its pods have become others.

The exit code is 1 for a probe that does not hold, and 3 for a job that failed before it had measured; the job stays then. After Ctrl-C and
--timeout it is deleted.`,
		Example: `  kubectl mpi certify openmpi5-cpu --namespace vision

  # What the network must hold, for all pairs of ranks on different nodes
  kubectl mpi certify openmpi5-h100 --nodes 4 --max-round-trip 50us --min-bandwidth 20000

  # Which runtimes are certified
  kubectl get clustertrainingruntimes -L ` + mpi.CertifiedLabel,
		Args:              cli.ArgsBetween(1, 1),
		ValidArgsFunction: k.completeRuntimes,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := c.validate(); err != nil {
				return err
			}
			return c.run(cmd.Context(), args[0])
		},
	}
	flags := cmd.Flags()
	c.job.given = flags.Changed
	flags.Int32Var(&c.job.nodes, "nodes", 2, "how many nodes run ranks, 2 or more")
	flags.Int32Var(&c.job.slots, "slots", 0, "how many ranks a node has room for; without it as many as the runtime says")
	flags.StringVar(&c.job.queue, "queue", "", "the queue; without it that of the platform, or the only one")
	flags.DurationVar(&c.limits.For, "for", certify.DefaultFor, "how long all measurements together should take")
	flags.DurationVar(&c.limits.MaxRoundTrip, "max-round-trip", 0, "the longest median round trip of a pair on different nodes that holds, such as 200us")
	flags.Float64Var(&c.limits.MinBandwidth, "min-bandwidth", 0, "the least bandwidth of such a pair that holds, in Mbit/s")
	flags.StringVar(&c.by, "by", "", "who certifies; without it as the API server knows you")
	flags.DurationVar(&c.timeout, "timeout", 15*time.Minute, "how long to wait at most")
	c.output.registerFlag(cmd, false)
	return cmd
}

func (c *certifyCommand) validate() error {
	switch {
	case c.job.nodes < 2:
		return usageErrorf("`--nodes` is a number from 2 on, not %d: on one node no network is measured", c.job.nodes)
	case c.limits.For <= 0 || c.timeout <= 0:
		return usageErrorf("`--for` and `--timeout` are lengths of time such as `5s`, longer than nothing")
	case c.limits.MaxRoundTrip < 0 || c.limits.MinBandwidth < 0:
		return usageErrorf("`--max-round-trip` and `--min-bandwidth` cannot be negative")
	}
	return c.output.validate()
}

// run makes the job, follows it to its end and judges what it left.
func (c *certifyCommand) run(ctx context.Context, runtime string) error {
	api, err := c.Client()
	if err != nil {
		return err
	}
	if c.by == "" {
		if c.by, err = fetch.UserName(ctx, api); err != nil {
			return fmt.Errorf("ask the API server who you are, which --by would say: %w", err)
		}
	}
	job, evidence, err := c.prepareJob(ctx, api, runtime)
	if err != nil {
		return err
	}
	if _, err := act.CheckStart(ctx, api, job); err != nil {
		return exitWith(exitRefused, err)
	}
	act.Sign(ctx, api, job)
	if _, err := c.createJobs(ctx, api, []*trainer.TrainJob{job}, launchFlags{}, nil); err != nil {
		return err
	}
	fmt.Fprintf(c.streams.ErrOut, "trainjob/%s created in namespace %s\n", job.Name, job.Namespace)
	limited, cancel := cancelAfter(ctx, c.timeout)
	defer cancel()
	if err := c.observe(limited, api, job, &evidence); err != nil {
		switch {
		case limited.Err() != nil:
			return errors.Join(c.whyStopped(ctx, job), c.deleteProbe(ctx, api, job))
		case errors.Is(err, fetch.ErrGone):
			return err
		}
		return fmt.Errorf("%w; %s", err, c.whatStays(job))
	}
	if problems := evidence.Problems(); len(problems) > 0 {
		return cli.Failure(fmt.Errorf("`%s` is not certified:\n  %s\n%s", runtime, strings.Join(problems, "\n  "), c.whatStays(job)))
	}
	return errors.Join(c.printCertification(evidence), c.deleteProbe(ctx, api, job))
}

// prepareJob returns the job of a probe that is to be made, and what is known before.
func (c *certifyCommand) prepareJob(ctx context.Context, api client.Client, runtime string) (*trainer.TrainJob, certify.Evidence, error) {
	none := certify.Evidence{}
	c.job.runtime = runtime
	job, err := c.assembleJob(ctx, "certify-"+rand.String(8), nil, c.job)
	if err != nil {
		return nil, none, err
	}
	if *job.Spec.RuntimeRef.Kind != submit.ClusterTrainingRuntime {
		return nil, none, cli.Failure(fmt.Errorf("`%s` is a runtime of namespace %s alone: certified are those of the cluster", runtime, job.Namespace))
	}
	live, err := fetch.RuntimeOf(ctx, api, job)
	if err != nil {
		return nil, none, err
	}
	fingerprint := live.Annotations[mpi.FingerprintAnnotation]
	if fingerprint == "" {
		return nil, none, cli.Failure(fmt.Errorf("`%s` has no annotation %s, by which it is known later whether it is still the same: compile it with this release, and apply it", runtime, mpi.FingerprintAnnotation))
	}
	resolved, err := mpijob.Resolve(job, *live)
	if err != nil {
		return nil, none, exitWith(exitRefused, fmt.Errorf("nothing was made: %w", err))
	}
	if err := certify.AddProbe(job, resolved.World, c.limits); err != nil {
		return nil, none, usageErrorf("%w", err)
	}
	return job, certify.Evidence{Runtime: runtime, By: c.by, Before: fingerprint, Nodes: resolved.World.Nodes}, nil
}

// observe follows a job to its end and reads what it leaves. Pods of nodes may be gone by the end, so that they are looked at before.
func (c *certifyCommand) observe(ctx context.Context, api client.Client, job *trainer.TrainJob, e *certify.Evidence) error {
	key := client.ObjectKeyFromObject(job)
	if _, err := (&waitCommand{kube: c.kube, what: forStarted, seen: true}).waitForJob(ctx, key); err != nil {
		return err
	}
	running, err := c.readObjects(ctx, job.Name)
	if err != nil {
		return err
	}
	j, err := (&waitCommand{kube: c.kube, what: forEnded, seen: true}).waitForJob(ctx, key)
	if err != nil {
		return err
	}
	over, err := c.readObjects(ctx, job.Name)
	if err != nil {
		return err
	}
	live, err := fetch.RuntimeOf(ctx, api, job)
	if err != nil {
		return err
	}
	e.After, e.Now = live.Annotations[mpi.FingerprintAnnotation], time.Now()
	e.Digests = certify.ImageDigests(append(running.Pods, over.Pods...))
	report, err := c.readReport(ctx, job)
	switch {
	case err != nil:
		return err
	case report != nil && (j.Succeeded() || !report.OK):
		e.Report = *report
		return nil
	case j.Succeeded():
		return cli.Failure(fmt.Errorf("the log of `%s` has no result of a probe", job.Name))
	}
	return exitWith(exitJobFailed, fmt.Errorf("%s %s: %s", job.Name, failureWord(j), causeText(j)))
}

// readReport reads the result of the probe in the log of the launcher, or nil.
func (c *certifyCommand) readReport(ctx context.Context, job *trainer.TrainJob) (*certify.Report, error) {
	return certify.ReadReport(func(take func([]logs.Line) error) error {
		_, err := c.readLogs(ctx, job, logsFlags{tail: -1, most: maxLogs}, take)
		return err
	})
}

// whyStopped is why a job was not followed to its end.
func (c *certifyCommand) whyStopped(ctx context.Context, job *trainer.TrainJob) error {
	if ctx.Err() != nil {
		return exitWith(exitInterrupted, errInterrupted)
	}
	j, _ := c.readJob(ctx, job.Name) // the timeout is what there is to say
	return exitWith(exitTimeout, errors.New((&waitCommand{what: forEnded, timeout: c.timeout}).lateText(job.Name, j)))
}

// deleteTimeout is how long somebody who has pressed Ctrl-C waits for the API server.
const deleteTimeout = 10 * time.Second

// deleteProbe deletes the job, even when somebody has pressed Ctrl-C.
func (c *certifyCommand) deleteProbe(ctx context.Context, api client.Client, job *trainer.TrainJob) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), deleteTimeout)
	defer cancel()
	err := api.Delete(ctx, job, client.Preconditions{UID: &job.UID}, client.PropagationPolicy(metav1.DeletePropagationBackground))
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("`%s` is left: %w", job.Name, err)
	}
	fmt.Fprintf(c.streams.ErrOut, "trainjob/%s deleted\n", job.Name)
	return nil
}

func (c *certifyCommand) whatStays(job *trainer.TrainJob) string {
	return fmt.Sprintf("%s shows what it printed, %s removes it", c.commandHint(job.Namespace, "logs %s", job.Name), c.commandHint(job.Namespace, "delete %s", job.Name))
}

func (c *certifyCommand) printCertification(e certify.Evidence) error {
	made, between := e.Certification(), e.Report.BetweenHosts
	return c.output.printResult(c.streams.Out, printable{value: made, names: []string{"clustertrainingruntime/" + made.Runtime}, text: func(w io.Writer) error {
		_, err := fmt.Fprintf(w, `%s holds: %d ranks on %d nodes, %d pairs between nodes
  round trip  median %.1f µs, worst %.1f µs (ranks %d and %d)
  bandwidth   median %.0f Mbit/s, slowest %.0f Mbit/s (ranks %d and %d)
  image       %s

Write it into the spec of this cluster, overlays/<cluster>/cluster.yaml, in place of an older entry of the runtime:

%s`, made.Runtime, made.Ranks, made.Nodes, made.Pairs, between.RoundTripMedian, between.RoundTripWorst, between.RoundTripWorstOf[0], between.RoundTripWorstOf[1],
			between.BandwidthMedian, between.BandwidthSlowest, between.SlowestFrom, between.SlowestTo, made.Image, certify.Stanza(made))
		return err
	}})
}
