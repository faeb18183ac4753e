package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"

	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	"lockstep.dev/lockstep/pkg/compile/schema/pinned"
	"lockstep.dev/lockstep/pkg/jobs/fetch"
	"lockstep.dev/lockstep/test/bench/meter"
	"lockstep.dev/lockstep/test/bench/series"
)

// namespace is that of all jobs.
const namespace = "team"

// measure starts an API server, fills it, and measures the commands.
func measure(ctx context.Context, program string, jobs, runs int) (report Report, err error) {
	folder, err := os.MkdirTemp("", name+"-")
	if err != nil {
		return report, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(folder)) }()
	with, err := meter.New(ctx, folder)
	if err != nil {
		return report, err
	}
	environment := &envtest.Environment{ErrorIfCRDPathMissing: true}
	if environment.CRDDirectoryPaths, err = pinned.CRDs(pinned.Trainer, pinned.JobSet); err != nil {
		return report, err
	}
	config, err := environment.Start()
	if err != nil {
		return report, fmt.Errorf("start the API server: %w", err)
	}
	defer func() { err = errors.Join(err, environment.Stop()) }()
	if err := fill(ctx, config, jobs); err != nil {
		return report, fmt.Errorf("fill the API server: %w", err)
	}
	kubeconfig, err := kubeconfigOf(environment, folder)
	if err != nil {
		return report, err
	}
	file := filepath.Join(folder, "job.yaml")
	if err := os.WriteFile(file, []byte(jobOfAFile), 0o600); err != nil {
		return report, err
	}
	report.Jobs = jobs
	if report.Machine, err = series.Here(ctx, folder, with); err != nil {
		return report, err
	}
	if report.Requests, err = requestsOf(ctx, config, jobs); err != nil {
		return report, err
	}
	info, err := os.Stat(program)
	if err != nil {
		return report, fmt.Errorf("%w: build it with `make build/bin/kubectl-mpi`", err)
	}
	report.Bytes = info.Size()
	report.Commands, err = take(ctx, with, program, kubeconfig, file, runs)
	report.Machine.LoadAfter = series.Load()
	return report, err
}

// jobOfAFile is made many times.
const jobOfAFile = `apiVersion: trainer.kubeflow.org/v1alpha1
kind: TrainJob
metadata: {generateName: made-}
spec:
  runtimeRef: {name: ` + runtimeName + `}
  trainer: {command: [mpirun, train]}
`

// take measures the commands in turns.
func take(ctx context.Context, with *meter.Meter, program, kubeconfig, file string, runs int) ([]Command, error) {
	kubectl := filepath.Join(os.Getenv("KUBEBUILDER_ASSETS"), "kubectl")
	lines := []struct {
		name    string
		target  float64
		program string
		args    []string
	}{
		{"kubectl-mpi --help", startTarget, program, []string{"--help"}},
		{"kubectl --help", 0, kubectl, []string{"--help"}},
		{"kubectl-mpi version", startTarget, program, []string{"version"}},
		{"kubectl version --client", 0, kubectl, []string{"version", "--client"}},
		{"kubectl-mpi list", listTarget, program, []string{"list"}},
		{"kubectl get trainjobs", 0, kubectl, []string{"get", "trainjobs"}},
		{"kubectl-mpi submit", createTarget, program, []string{"submit", "made-%d", "--runtime", runtimeName, "--", "mpirun", "train"}},
		{"kubectl-mpi create", createTarget, program, []string{"create", "-f", file, "-o", "json"}},
	}
	commands := make([]Command, len(lines))
	for run := range runs {
		for i, line := range lines {
			args := []string{line.program}
			for _, arg := range line.args {
				args = append(args, strings.ReplaceAll(arg, "%d", fmt.Sprint(run)))
			}
			usage, err := with.Measure(ctx, meter.Command{Args: args, Env: []string{"KUBECONFIG=" + kubeconfig}})
			if err != nil {
				return nil, fmt.Errorf("%s: %w", line.name, err)
			}
			commands[i].Name, commands[i].Target = line.name, line.target
			commands[i].Usage.Runs = append(commands[i].Usage.Runs, usage)
		}
	}
	for i := range commands {
		commands[i].Usage.Summarize()
	}
	return commands, nil
}

// requestsOf counts what one list asks for.
func requestsOf(ctx context.Context, config *rest.Config, jobs int) (int64, error) {
	var asked atomic.Int64
	counted := rest.CopyConfig(config)
	counted.Wrap(func(next http.RoundTripper) http.RoundTripper { return &counter{next, &asked} })
	c, err := fetch.NewClient(counted)
	if err != nil {
		return 0, err
	}
	listed, hidden, err := fetch.ListJobs(ctx, c, fetch.JobSelection{Namespace: namespace})
	if err == nil && (len(listed) != jobs || len(hidden) > 0) {
		err = fmt.Errorf("%d jobs are listed, want %d; hidden: %v", len(listed), jobs, hidden)
	}
	return asked.Load(), err
}

type counter struct {
	next  http.RoundTripper
	asked *atomic.Int64
}

// RoundTrip counts a request.
func (c *counter) RoundTrip(r *http.Request) (*http.Response, error) {
	c.asked.Add(1)
	return c.next.RoundTrip(r)
}

// kubeconfigOf writes one of an admin for the namespace.
func kubeconfigOf(environment *envtest.Environment, folder string) (string, error) {
	user, err := environment.AddUser(envtest.User{Name: "admin", Groups: []string{"system:masters"}}, nil)
	if err != nil {
		return "", err
	}
	kubectl, err := user.Kubectl()
	if err != nil {
		return "", err
	}
	kubectl.Path = filepath.Join(os.Getenv("KUBEBUILDER_ASSETS"), "kubectl")
	if _, _, err := kubectl.Run("config", "set-context", "--current", "--namespace", namespace); err != nil {
		return "", err
	}
	config, _, err := kubectl.Run("config", "view", "--raw")
	if err != nil {
		return "", err
	}
	path := filepath.Join(folder, "kubeconfig")
	file, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_EXCL, 0o600)
	if err != nil {
		return "", err
	}
	_, err = file.ReadFrom(config)
	return path, errors.Join(err, file.Close())
}
