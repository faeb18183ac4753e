package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	trainer "lockstep.dev/lockstep/api/trainer/v1alpha1"
	"lockstep.dev/lockstep/internal/cli"
	"lockstep.dev/lockstep/pkg/jobs/act"
	"lockstep.dev/lockstep/pkg/jobs/apierror"
	"lockstep.dev/lockstep/pkg/jobs/fetch"
	"lockstep.dev/lockstep/pkg/jobs/logs"
	"lockstep.dev/lockstep/pkg/jobs/preflight"
	"lockstep.dev/lockstep/pkg/jobs/submit"
	"lockstep.dev/lockstep/pkg/jobs/view"
	"lockstep.dev/lockstep/pkg/mpi"
)

// submitFlags are those of `submit` that say what the job is.
type submitFlags struct {
	runtime, image, queue, files string
	nodes, slots                 int32
	env, claims, resources       []string
	trace                        []string
	artifacts                    string
	suspend                      bool
	// numbered adds a number to a name that is taken.
	numbered bool
	// unasked: the job is only shown.
	unasked bool
	// given reports whether a flag is on the command line.
	given func(flag string) bool
}

func (f *submitFlags) registerFlags(cmd *cobra.Command, k *kube) {
	flags := cmd.Flags()
	f.given = flags.Changed
	flags.StringVar(&f.runtime, "runtime", "", "the runtime; without it the default one of the platform, or the only one")
	flags.Int32Var(&f.nodes, "nodes", 0, "how many nodes run ranks; without it as many as the runtime says")
	flags.Int32Var(&f.slots, "slots", 0, "how many ranks a node has room for; without it as many as the runtime says")
	flags.StringVar(&f.image, "image", "", "the image; without it that of the runtime")
	flags.StringVar(&f.queue, "queue", "", "the queue; without it that of the platform, or the only one")
	flags.StringArrayVar(&f.env, "env", nil, "a variable of all ranks, NAME=VALUE")
	flags.StringArrayVar(&f.claims, "pvc", nil, "a volume in all pods, CLAIM:/FOLDER or CLAIM:/FOLDER:ro")
	flags.StringSliceVar(&f.resources, "resources", nil, "what each node requests, such as cpu=4,memory=16Gi; of all but CPU it is also the limit")
	flags.StringVar(&f.files, "files", "", fmt.Sprintf("a folder whose text files, %d KiB at most, the job finds in %s, where the command runs", submit.MaxFilesBytes>>10, submit.FilesDir))
	flags.StringSliceVar(&f.trace, "trace", nil, "what is recorded of the run: traffic (who sends how much to whom, of Open MPI), waiting (how long each rank is inside of MPI), horovod (its timeline, into a volume), nccl (its log)")
	flags.StringVar(&f.artifacts, "artifacts", "",
		"a folder of the ranks, $"+mpi.ArtifactsVariable+", that outlives their pods, and its destination after the end: "+
			"s3://BUCKET/PREFIX,secret=NAME; also when=Always, folder=NAME, claim=NAME")
	flags.BoolVar(&f.suspend, "suspend", false, "make the job, and let it wait until it is resumed")
	flags.BoolVar(&f.numbered, "numbered", false, "if the name is taken, add the next number: NAME-2")
	cli.CompleteFlag(cmd, "trace", "traffic", "waiting", "horovod", "nccl")
	cli.CompleteFlagWith(cmd, "runtime", k.completeRuntimes)
	cli.CompleteFlagWith(cmd, "pvc", k.completeClaims)
}

// options are what is asked for, less what only the cluster knows.
func (f *submitFlags) options(name, namespace string, command []string) (submit.Options, error) {
	o := submit.Options{Name: name, Namespace: namespace, Nodes: f.nodes, Slots: f.slots, Image: f.image, Command: command, Trace: strings.Join(f.trace, ","), Suspend: f.suspend}
	o.Artifacts = f.artifacts
	for flag, number := range map[string]int32{"nodes": f.nodes, "slots": f.slots} {
		if f.given(flag) && number < 1 {
			return o, usageErrorf("`--%s` must be at least 1, not %d: leave it out for the number of the runtime", flag, number)
		}
	}
	for _, text := range f.env {
		v, err := submit.ParseEnv(text)
		if err != nil {
			return o, usageErrorf("--env: %w", err)
		}
		o.Env = append(o.Env, v)
	}
	for _, text := range f.claims {
		c, err := submit.ParseClaim(text)
		if err != nil {
			return o, usageErrorf("--pvc: %w", err)
		}
		o.Claims = append(o.Claims, c)
	}
	var err error
	if o.Resources, err = submit.ParseResources(f.resources); err != nil {
		return o, usageErrorf("--resources: %w", err)
	}
	if f.files != "" {
		if o.Files, err = readFolderFiles(f.files); err != nil {
			return o, cli.Failure(err)
		}
	}
	return o, nil
}

func readFolderFiles(folder string) (submit.Files, error) {
	root, err := os.OpenRoot(folder)
	if err != nil {
		return nil, fmt.Errorf("--files takes a folder: %w", err)
	}
	defer root.Close()
	files, err := submit.TakeFiles(root.FS().(fs.ReadDirFS))
	if err != nil {
		return nil, fmt.Errorf("--files %s: %w", folder, err)
	}
	return files, nil
}

// launchFlags are those of all commands that make a job.
type launchFlags struct {
	outputFlag
	dryRun                            string
	wait, follow, preflight, failFast bool
	// replace deletes a job of the same name that is over.
	replace bool
	timeout time.Duration
}

func (f *launchFlags) registerFlags(cmd *cobra.Command) {
	flags := cmd.Flags()
	f.registerFlag(cmd, false)
	flags.StringVar(&f.dryRun, "dry-run", "", "make nothing: client prints the TrainJob, server asks the API server whether it would take it")
	flags.BoolVar(&f.wait, "wait", false, "wait until the job is over; the exit code says how it ended")
	flags.BoolVar(&f.follow, "follow", false, "show what it prints until it is over; the exit code says how it ended")
	flags.BoolVar(&f.preflight, "preflight", false, "make no job that can never run as it is")
	flags.DurationVar(&f.timeout, "timeout", 0, "how long to wait at most, such as 2h; the job goes on after that")
	flags.BoolVar(&f.failFast, "fail-fast", false, "with --wait or --follow: "+failFastHelp)
	cli.CompleteFlag(cmd, "dry-run", "client", "server")
}

func (f *launchFlags) validate() error {
	switch {
	case f.dryRun == "--":
		return usageErrorf("`--dry-run` has no value: write `--dry-run=client` or `--dry-run=server`")
	case !slices.Contains([]string{"", "client", "server"}, f.dryRun):
		return usageErrorf("invalid value `%s` for `--dry-run`: must be client or server", f.dryRun)
	case f.timeout < 0:
		return usageErrorf("--timeout is %s: it is a length of time such as `2h`, or 0 for as long as it takes", f.timeout)
	case f.timeout > 0 && !f.wait && !f.follow:
		return usageErrorf("`--timeout` is for `--wait` and `--follow`: without one of them nothing is waited for")
	case f.failFast && !f.wait && !f.follow:
		return usageErrorf("`--fail-fast` is for `--wait` and `--follow`: without one of them nothing is waited for")
	}
	return f.outputFlag.validate()
}

func newSubmit(k *kube) *cobra.Command {
	var f submitFlags
	var launch launchFlags
	cmd := &cobra.Command{
		Use:   "submit NAME [flags] -- COMMAND [ARGUMENT…]",
		Short: "Make a job of a command",
		Long: `Make a TrainJob that runs a command.

What is not said is the runtime's. With --files a script runs without an image of its own: the text files of a folder travel with the job, and
are there again when it is cloned. They are in ` + submit.FilesDir + `, where nothing can be written. ` + fmt.Sprintf("%d files with %d KiB", submit.MaxFiles, submit.MaxFilesBytes>>10) + ` together
are possible; hidden ones and __pycache__ stay out, and symbolic links and what is no text are refused.

` + commandText,
		Example: `  # Four nodes with two ranks each
  kubectl mpi submit train --runtime openmpi5-cpu --nodes 4 --slots 2 -- mpirun python /data/train.py
  # A script of this folder, and what it prints; the exit code is 3 when the job fails
  kubectl mpi submit try --files . --follow -- mpirun python train.py
  # What would be made
  kubectl mpi submit try --dry-run=client -- mpirun hostname`,
		Args: func(cmd *cobra.Command, args []string) error {
			if err := launch.validate(); err != nil {
				return err
			}
			switch at := cmd.ArgsLenAtDash(); {
			case len(args) == 0 || at == 0:
				return usageErrorf("the job has no name: `kubectl mpi submit NAME -- COMMAND`")
			case at < 0 && len(args) > 1:
				return usageErrorf("put `--` before the command, so that its flags are not taken for ours: `kubectl mpi submit %s -- %s …`", args[0], args[1])
			case at > 1:
				return usageErrorf("a job has one name: `%s` is too much", args[1])
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			f.unasked = launch.dryRun == "client"
			if f.numbered && launch.replace {
				return usageErrorf("`--numbered` keeps the old job and `--replace` deletes it: give one of them")
			}
			job, err := k.assembleJob(cmd.Context(), args[0], args[1:], f)
			if err != nil {
				return err
			}
			return k.launchJobs(cmd.Context(), []*trainer.TrainJob{job}, launch)
		},
	}
	f.registerFlags(cmd, k)
	launch.registerFlags(cmd)
	cmd.Flags().BoolVar(&launch.replace, "replace", false, "first delete the finished job of the same name")
	return cmd
}

// replaceJob deletes the job of the same name if it is over, and waits until the name is free. The old job stays if the API
// server would refuse the new one; a quota that is full may have room once it is gone.
func (k *kube) replaceJob(ctx context.Context, c client.Client, job *trainer.TrainJob) error {
	j, err := k.readJob(ctx, job.Name)
	switch {
	case apierrors.IsNotFound(err):
		return nil
	case err != nil:
		return err
	case !j.IsFinished():
		hint := k.commandHint(j.Namespace, "delete %s", j.Name)
		return cli.Failure(fmt.Errorf("`%s` is not over: %s ends it", j.Name, hint))
	}
	err = c.Create(ctx, job.DeepCopy(), client.DryRunAll)
	if err != nil && !apierrors.IsAlreadyExists(err) && !strings.Contains(err.Error(), "exceeded quota") {
		return fmt.Errorf("`%s` was not replaced: %w", j.Name, err)
	}
	notes := *k
	notes.streams.Out = k.streams.ErrOut
	return (&deleteCommand{kube: &notes, wait: true, timeout: time.Minute}).deleteJob(ctx, j)
}

// commandText says what Kubernetes does to a command.
const commandText = "In the command Kubernetes replaces $(NAME) by the variable NAME, where the pod has one, and $$ by one $: write $$(NAME) and $$$$ where a shell in\nthe pod shall see $(NAME) and $$."

// assembleJob returns the job that is asked for.
func (k *kube) assembleJob(ctx context.Context, name string, command []string, f submitFlags) (*trainer.TrainJob, error) {
	namespace, err := k.Namespace()
	if err != nil {
		return nil, err
	}
	if f.numbered && !f.unasked {
		taken, _, err := k.listNames(ctx, "trainjobs")
		if err != nil {
			return nil, err
		}
		if slices.Contains(taken, name) {
			name = submit.NextName(name, taken)
		}
	}
	o, err := f.options(name, namespace, command)
	if err != nil {
		return nil, err
	}
	if err := k.chooseRuntimeAndQueue(ctx, &o, f); err != nil {
		return nil, err
	}
	job, err := submit.TrainJob(o)
	if err != nil {
		return nil, usageErrorf("%w", err)
	}
	return job, nil
}

// chooseRuntimeAndQueue adds runtime and queue, and checks the names of claims. A job that is only shown takes no cluster
// if its runtime is named.
func (k *kube) chooseRuntimeAndQueue(ctx context.Context, o *submit.Options, f submitFlags) error {
	runtimes, queues, err := k.readChoices(ctx, o.Namespace)
	if err != nil && f.unasked && f.runtime != "" {
		fmt.Fprintf(k.streams.ErrOut, "note: no cluster was asked whether it has runtime `%s`: %s\n", f.runtime, apierror.Explain(err))
		o.Runtime, o.Queue = submit.Runtime{Name: f.runtime, Kind: submit.ClusterTrainingRuntime}, f.queue
		return nil
	}
	if err != nil {
		return err
	}
	if o.Runtime, err = submit.ChooseRuntime(runtimes, f.runtime); err != nil {
		return cli.Failure(err)
	}
	if o.Queue, err = submit.ChooseQueue(queues, fetch.PlatformQueue, f.queue); err != nil {
		return cli.Failure(err)
	}
	if len(o.Claims) == 0 {
		return nil
	}
	known, _, _ := k.listNames(ctx, claimResource) // without the right to list them nothing is suggested
	if err := submit.CheckClaims(o.Claims, known); err != nil {
		return cli.Failure(err)
	}
	return nil
}

// claimResource is the resource of claims in the API.
const claimResource = "persistentvolumeclaims"

// readChoices are the runtimes and queues of a namespace.
func (k *kube) readChoices(ctx context.Context, namespace string) ([]submit.Runtime, []string, error) {
	c, err := k.Client()
	if err != nil {
		return nil, nil, err
	}
	runtimes, err := fetch.RuntimeChoices(ctx, c, namespace)
	if err != nil {
		return nil, nil, err
	}
	queues, err := fetch.ListQueueNames(ctx, c, namespace)
	return runtimes, queues, err
}

// createdJob is the stable output about a job that was made, or waited for.
type createdJob struct {
	Name      string `json:"name"`
	Namespace string `json:"namespace"`
	UID       string `json:"uid,omitempty"`
	Phase     string `json:"phase"`
}

// launchJobs makes jobs, and goes with them as far as the flags say.
func (k *kube) launchJobs(ctx context.Context, jobs []*trainer.TrainJob, f launchFlags) error {
	if f.dryRun == "client" {
		return k.printJobs(jobs, f)
	}
	c, err := k.Client()
	if err != nil {
		return err
	}
	warnings, err := act.CheckStart(ctx, c, jobs...)
	if err != nil {
		return exitWith(exitRefused, err)
	}
	for _, text := range warnings {
		k.warnings.HandleWarningHeader(warningCode, "", text)
	}
	var options []client.CreateOption
	if f.dryRun == "server" {
		options = append(options, client.DryRunAll)
	}
	act.Sign(ctx, c, jobs...)
	all, err := k.createJobs(ctx, c, jobs, f, options)
	printsEnd := f.wait && !f.follow && !f.isForPeople() && err == nil && f.dryRun == ""
	if len(all) > 0 && !printsEnd { // also those before one that was refused
		err = errors.Join(k.printCreated(all, f), err)
	}
	if err != nil || f.dryRun != "" {
		return err
	}
	err = k.followOrWait(ctx, jobs, f)
	if printsEnd {
		for i := range all {
			if found, err := fetch.ReadJob(ctx, c, client.ObjectKeyFromObject(jobs[i])); err == nil {
				all[i].Phase = string(view.JobOf(found).Phase)
			}
		}
		err = errors.Join(k.printCreated(all, f), err)
	}
	return err
}

// createJobs makes jobs until one cannot be made.
func (k *kube) createJobs(ctx context.Context, c client.Client, jobs []*trainer.TrainJob, f launchFlags, options []client.CreateOption) (all []createdJob, err error) {
	for _, job := range jobs {
		if err := k.refuseIfNeverRuns(ctx, job, f); err != nil {
			return all, err
		}
		if f.replace && f.dryRun == "" {
			if err := k.replaceJob(ctx, c, job); err != nil {
				return all, err
			}
		}
		if err := c.Create(ctx, job, options...); err != nil {
			return all, err
		}
		phase := "Created"
		if f.dryRun == "server" {
			phase = "NotCreated"
		}
		all = append(all, createdJob{job.Name, job.Namespace, string(job.UID), phase})
	}
	return all, nil
}

// refuseIfNeverRuns refuses a job that can never run, where that was asked for.
func (k *kube) refuseIfNeverRuns(ctx context.Context, job *trainer.TrainJob, f launchFlags) error {
	if !f.preflight {
		return nil
	}
	in, err := fetch.PreflightInput(ctx, k.reader, job)
	if err != nil {
		return err
	}
	if answer := preflight.JudgeInput(in); answer.Verdict == preflight.Never {
		return exitWith(exitRefused, fmt.Errorf("the job was not made: %s", answer.Text()))
	}
	return nil
}

func (k *kube) printJobs(jobs []*trainer.TrainJob, f launchFlags) error {
	for i, job := range jobs {
		if err := submit.CheckApplied(submit.Manifest(job)); err != nil {
			return usageErrorf("%w", err)
		}
		if i > 0 {
			fmt.Fprintln(k.streams.Out, "---")
		}
		text := func(w io.Writer) error {
			text, err := yaml.Marshal(submit.Manifest(job))
			if err != nil {
				return err
			}
			_, err = w.Write(text)
			return err
		}
		if err := f.printResult(k.streams.Out, printable{submit.Manifest(job), []string{namePrefix + job.Name}, text}); err != nil {
			return err
		}
	}
	return nil
}

func (k *kube) printCreated(all []createdJob, f launchFlags) error {
	what := printable{value: all, text: func(w io.Writer) error {
		for _, m := range all {
			word := "created"
			if f.dryRun != "" {
				word = "would be created (server dry run)"
			}
			fmt.Fprintf(w, "trainjob/%s %s in namespace %s\n", m.Name, word, m.Namespace)
		}
		return nil
	}}
	if len(all) == 1 {
		what.value = all[0]
	}
	for _, m := range all {
		what.names = append(what.names, namePrefix+m.Name)
	}
	return f.printResult(k.streams.Out, what)
}

// followOrWait follows jobs, or waits for them, one after the other.
func (k *kube) followOrWait(ctx context.Context, jobs []*trainer.TrainJob, f launchFlags) error {
	if !f.wait && !f.follow {
		return nil
	}
	limited := ctx
	if f.timeout > 0 {
		var cancel context.CancelFunc
		limited, cancel = cancelAfter(ctx, f.timeout)
		defer cancel()
	}
	for _, job := range jobs {
		err := k.waitForEnd(limited, job, f)
		switch {
		case ctx.Err() != nil:
			return k.endInterruptedFollow(job)
		case limited.Err() != nil:
			return exitWith(exitTimeout, fmt.Errorf("`%s` was not over after %s; it goes on: %s shows it", job.Name, f.timeout, k.commandHint(job.Namespace, "logs %s -f", job.Name)))
		case err != nil:
			return err
		}
	}
	return nil
}

// waitForEnd shows what a job prints, if that is asked for, and waits for its end. Before it runs there is nothing to print, and a line says what
// it waits for.
func (k *kube) waitForEnd(ctx context.Context, job *trainer.TrainJob, f launchFlags) error {
	w := &waitCommand{kube: k, what: forStarted, seen: true, failFast: f.failFast}
	if f.follow {
		if _, err := w.waitForJob(ctx, client.ObjectKeyFromObject(job)); err != nil {
			return err
		}
		show := logsFlags{follow: true, tail: -1, color: "auto", format: string(logs.Text), most: maxLogs}
		if _, err := k.readLogs(ctx, job, show, show.newPrinter(k.streams.Out).PrintLines); err != nil {
			return err
		}
	}
	w.what, w.followed = forComplete, f.follow
	_, err := w.waitForJob(ctx, client.ObjectKeyFromObject(job))
	return err
}
