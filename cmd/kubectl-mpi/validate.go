package main

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"lockstep.dev/lockstep/internal/cli"
	"lockstep.dev/lockstep/pkg/jobs/apierror"
	"lockstep.dev/lockstep/pkg/jobs/fetch"
	"lockstep.dev/lockstep/pkg/jobs/validate"
	mpijob "lockstep.dev/lockstep/pkg/mpi/job"
)

func newValidate(k *kube) *cobra.Command {
	var files []string
	var compiled string
	var out outputFlag
	cmd := &cobra.Command{
		Use:   "validate -f FILE",
		Short: "Say what is wrong with TrainJobs in files, and where",
		Long: `Check TrainJobs before they are made: YAML, fields and types, what their runtimes take, and the rules of the cluster (by a dry run, which makes
nothing). With --compiled no cluster is asked: runtimes are those in a folder, such as dist/<cluster> of a checkout.`,
		Example: `  kubectl mpi validate -f train.yaml
  # Without a cluster, against what runtime-compiler wrote
  kubectl mpi validate -f train.yaml --compiled dist/onprem`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := out.validate(); err != nil {
				return err
			}
			return k.validateFiles(cmd.Context(), files, compiled, out)
		},
	}
	cmd.Flags().StringArrayVarP(&files, "filename", "f", nil, "a file with TrainJobs, - for standard input; may be given more than once")
	cmd.Flags().StringVar(&compiled, "compiled", "", "a folder with compiled runtimes, instead of a cluster")
	_ = cmd.MarkFlagRequired("filename")
	out.registerFlag(cmd, false)
	return cmd
}

func (k *kube) validateFiles(ctx context.Context, files []string, compiled string, out outputFlag) error {
	judge := k.checkInCluster
	if compiled != "" {
		runtimes, err := readCompiledRuntimes(os.DirFS(compiled))
		if err != nil {
			return cli.Failure(err)
		}
		judge = runtimes.checkJob
	}
	findings, jobs := []validate.Finding{}, 0
	for _, file := range files {
		data, err := k.readFile(file)
		if err != nil {
			return cli.Failure(err)
		}
		result := validate.File(file, data)
		findings = append(findings, result.Findings...)
		for _, document := range result.Jobs {
			jobs++
			more, err := judge(ctx, document)
			if err != nil {
				return err
			}
			findings = append(findings, more...)
		}
	}
	return k.printFindings(findings, jobs, out)
}

func (k *kube) printFindings(findings []validate.Finding, jobs int, out outputFlag) error {
	if !out.isForPeople() {
		if err := out.printResult(k.streams.Out, printable{value: findings}); err != nil {
			return err
		}
	}
	for _, f := range findings {
		if out.isForPeople() {
			fmt.Fprintln(k.streams.ErrOut, f)
		}
	}
	if slices.ContainsFunc(findings, func(f validate.Finding) bool { return !f.Warning }) {
		return cli.ErrReported
	}
	if out.isForPeople() {
		fmt.Fprintf(k.streams.Out, "%s, no mistakes found\n", countedWord(jobs, "TrainJob"))
	}
	return nil
}

// checkInCluster asks the cluster, by its runtime and by a dry run.
func (k *kube) checkInCluster(ctx context.Context, d validate.Document) ([]validate.Finding, error) {
	c, err := k.Client()
	if err != nil {
		return nil, err
	}
	if d.Job.Namespace == "" {
		if d.Job.Namespace, err = k.Namespace(); err != nil {
			return nil, err
		}
	}
	var warnings []validate.Finding
	if runtime, err := fetch.RuntimeOf(ctx, c, d.Job); err == nil {
		warnings = d.CheckAgainst(*runtime)
		if len(warnings) > 0 && !warnings[0].Warning {
			return warnings, nil
		}
		missing, err := missingNeeds(ctx, c, d, *runtime)
		if err != nil {
			return nil, err
		}
		warnings = append(warnings, missing...)
	}
	for _, found := range warnings {
		k.warnings.shown.Store(found.Message, true) // a policy may warn in the same words
	}
	err = c.Create(ctx, d.Job.DeepCopy(), client.DryRunAll)
	if err == nil {
		return warnings, nil
	}
	switch e := apierror.Explain(err); e.Kind {
	case apierror.Exists:
		return warnings, nil // the name is looked at last: it is a good job, and there
	case apierror.Refused, apierror.Other:
		return []validate.Finding{d.PlaceMessage(e.Message)}, nil
	}
	return nil, err
}

// missingNeeds finds what a job names and its namespace lacks. What the user may not read is taken to be there.
func missingNeeds(
	ctx context.Context, c client.Client, d validate.Document, runtime mpijob.Runtime,
) ([]validate.Finding, error) {
	var missing []validate.Finding
	for _, need := range d.Needs(runtime) {
		object := &metav1.PartialObjectMetadata{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: need.Kind}}
		switch err := c.Get(ctx, client.ObjectKey{Namespace: d.Job.Namespace, Name: need.Name}, object); {
		case apierrors.IsNotFound(err):
			missing = append(missing, d.Missing(need))
		case err != nil && !apierrors.IsForbidden(err):
			return nil, err
		}
	}
	return missing, nil
}

// compiledRuntimes are those of a folder, by kind, namespace and name.
type compiledRuntimes map[string]mpijob.Runtime

// readCompiledRuntimes reads the runtimes in all YAML files of a folder.
func readCompiledRuntimes(folder fs.FS) (compiledRuntimes, error) {
	found := compiledRuntimes{}
	err := fs.WalkDir(folder, ".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || !strings.HasSuffix(path, ".yaml") {
			return err
		}
		text, err := fs.ReadFile(folder, path)
		if err != nil {
			return err
		}
		for document := range strings.SplitSeq("\n"+string(text), "\n---") {
			found.addDocument(document)
		}
		return nil
	})
	if err == nil && len(found) == 0 {
		err = fmt.Errorf("no runtime in the folder: it is one that `runtime-compiler build` wrote, such as dist/onprem")
	}
	return found, err
}

func (r compiledRuntimes) addDocument(document string) {
	var object struct {
		Kind     string `json:"kind"`
		Metadata struct {
			Name        string            `json:"name"`
			Labels      map[string]string `json:"labels"`
			Annotations map[string]string `json:"annotations"`
		} `json:"metadata"`
		mpijob.Runtime
	}
	if !strings.Contains(document, "TrainingRuntime") || yaml.Unmarshal([]byte(document), &object) != nil || !strings.HasSuffix(object.Kind, "TrainingRuntime") {
		return
	}
	object.Labels, object.Annotations = object.Metadata.Labels, object.Metadata.Annotations
	r[object.Metadata.Name] = object.Runtime
}

func (r compiledRuntimes) checkJob(_ context.Context, d validate.Document) ([]validate.Finding, error) {
	name := d.Job.Spec.RuntimeRef.Name
	runtime, known := r[name]
	if !known {
		return []validate.Finding{d.PlaceMessage(fmt.Sprintf("runtimeRef names `%s`, which the folder does not have", name))}, nil
	}
	return d.CheckAgainst(runtime), nil
}
