package main

import (
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	trainer "lockstep.dev/lockstep/api/trainer/v1alpha1"
	"lockstep.dev/lockstep/internal/cli"
	"lockstep.dev/lockstep/pkg/jobs/validate"
)

func newCreate(k *kube) *cobra.Command {
	var file string
	var launch launchFlags
	cmd := &cobra.Command{
		Use:   "create -f FILE",
		Short: "Make the jobs of a file",
		Example: `  kubectl mpi create -f train.yaml
  # For scripts: name, namespace, uid and phase
  kubectl mpi create -f train.yaml -o json`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := launch.validate(); err != nil {
				return err
			}
			jobs, err := k.readJobs(file)
			if err != nil {
				return err
			}
			return k.launchJobs(cmd.Context(), jobs, launch)
		},
	}
	cmd.Flags().StringVarP(&file, "filename", "f", "", "the file with TrainJobs in YAML or JSON, - for standard input")
	_ = cmd.MarkFlagRequired("filename")
	launch.registerFlags(cmd)
	return cmd
}

// maxBytes is how large a file of TrainJobs may be. An API server takes 3 MiB in one request (k8s.io/apiserver pkg/server, MaxRequestBodyBytes), and a TrainJob has some
// kilobytes.
const maxBytes = 16 << 20

// readFile reads a file, or standard input.
func (k *kube) readFile(file string) ([]byte, error) {
	from := k.streams.In
	if file != "-" {
		opened, err := os.Open(file)
		if err != nil {
			return nil, err
		}
		defer opened.Close()
		from = opened
	}
	data, err := io.ReadAll(io.LimitReader(from, maxBytes+1))
	if err == nil && len(data) > maxBytes {
		err = fmt.Errorf("%s has more than %d MiB, which no TrainJobs have", file, maxBytes>>20)
	}
	return data, err
}

// readJobs reads the jobs of a file, which must have nothing else and no mistake in it.
func (k *kube) readJobs(file string) ([]*trainer.TrainJob, error) {
	data, err := k.readFile(file)
	if err != nil {
		return nil, cli.Failure(err)
	}
	namespace, err := k.Namespace()
	if err != nil {
		return nil, err
	}
	checked := validate.File(file, data)
	var jobs []*trainer.TrainJob
	for _, document := range checked.Jobs {
		switch own := document.Job.Namespace; {
		case own == "":
			document.Job.Namespace = namespace
		case *k.flags.Namespace != "" && own != namespace:
			checked.Findings = append(checked.Findings, document.PlaceMessage(fmt.Sprintf("metadata.namespace is `%s`, and --namespace says `%s`", own, namespace)))
		}
		jobs = append(jobs, document.Job)
	}
	if len(checked.Findings) > 0 {
		for _, finding := range checked.Findings {
			fmt.Fprintln(k.streams.ErrOut, finding)
		}
		return nil, cli.ErrReported
	}
	return jobs, nil
}
