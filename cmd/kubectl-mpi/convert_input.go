package main

import (
	"context"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"lockstep.dev/lockstep/internal/cli"
	"lockstep.dev/lockstep/pkg/compile/source"
	"lockstep.dev/lockstep/pkg/jobs/apierror"
	"lockstep.dev/lockstep/pkg/jobs/convert"
)

// readConvertInput reads what the flags name.
func (k *kube) readConvertInput(ctx context.Context, f *convertFlags) (convert.Input, error) {
	if f.fromCluster {
		return k.listMPIJobs(ctx, f.allNamespaces)
	}
	var in convert.Input
	for _, name := range f.files {
		files, err := k.specFiles(name, f.recursive)
		if err != nil {
			return in, cli.Failure(err)
		}
		for _, file := range files {
			in.Append(convert.ReadInput(file))
		}
	}
	return in, nil
}

// manifests are the names of files that a folder is searched for, as kubectl does.
var manifests = []string{".yaml", ".yml", ".json"}

// specFiles returns a file, or the files of a folder in the order of their names.
func (k *kube) specFiles(name string, recursive bool) ([]*source.File, error) {
	if name == "-" {
		data, err := io.ReadAll(io.LimitReader(k.streams.In, source.MaxFileSize+1))
		if err != nil {
			return nil, fmt.Errorf("read standard input: %w", err)
		}
		return []*source.File{newBoundedFile("standard input", data)}, nil
	}
	info, err := os.Stat(name)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", name, source.Reason(err))
	}
	if !info.IsDir() {
		return []*source.File{readFileAt(name)}, nil
	}
	var files []*source.File
	err = filepath.WalkDir(name, func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && path != name && !recursive:
			return fs.SkipDir
		case !entry.IsDir() && slices.Contains(manifests, strings.ToLower(filepath.Ext(path))):
			files = append(files, readFileAt(path))
		}
		return nil
	})
	return files, err
}

func readFileAt(path string) *source.File {
	data, err := source.ReadBounded(os.DirFS(filepath.Dir(path)), filepath.Base(path), source.MaxFileSize)
	file := source.NewFile(filepath.ToSlash(path), data)
	file.Err = err
	return file
}

func newBoundedFile(name string, data []byte) *source.File {
	file := source.NewFile(name, data)
	if len(data) > source.MaxFileSize {
		file.Err = source.ErrTooLarge
	}
	return file
}

// pageSize is how many MPIJobs are asked for at a time: one may have tens of kilobytes.
const pageSize = 250

// listMPIJobs returns the MPIJobs of the cluster, of the newest version that it serves.
func (k *kube) listMPIJobs(ctx context.Context, everywhere bool) (convert.Input, error) {
	var in convert.Input
	config, err := k.RESTConfig()
	if err != nil {
		return in, err
	}
	namespace := ""
	if !everywhere {
		if namespace, err = k.Namespace(); err != nil {
			return in, err
		}
	}
	asked, err := dynamic.NewForConfig(config)
	if err != nil {
		return in, err
	}
	for _, version := range []string{"v2beta1", "v1"} {
		resource := schema.GroupVersionResource{Group: "kubeflow.org", Version: version, Resource: "mpijobs"}
		in, err = listAll(ctx, asked.Resource(resource).Namespace(namespace))
		if !apierrors.IsNotFound(err) {
			return in, err
		}
	}
	fmt.Fprintln(k.streams.ErrOut, "the cluster has no MPIJobs: there is no CRD mpijobs.kubeflow.org")
	return convert.Input{}, nil
}

func listAll(ctx context.Context, jobs dynamic.ResourceInterface) (convert.Input, error) {
	var in convert.Input
	options := metav1.ListOptions{Limit: pageSize}
	for {
		page, err := jobs.List(ctx, options)
		if err != nil {
			return in, err
		}
		for i := range page.Items {
			file, err := objectFile(&page.Items[i])
			if err != nil {
				return in, err
			}
			in.Append(convert.ReadInput(file))
		}
		if options.Continue = page.GetContinue(); options.Continue == "" {
			return in, nil
		}
	}
}

// objectFile is an object as `kubectl get -o yaml` shows it, so that lines mean something.
func objectFile(o *unstructured.Unstructured) (*source.File, error) {
	o.SetManagedFields(nil)
	text, err := yaml.Marshal(o.Object)
	if err != nil {
		return nil, err
	}
	return newBoundedFile("mpijobs/"+o.GetNamespace()+"/"+o.GetName(), text), nil
}

// dryRunTrainJobs asks the API server whether it would take the TrainJobs.
func (k *kube) dryRunTrainJobs(ctx context.Context, results []*convert.Result) error {
	c, err := k.Client()
	if err != nil {
		return err
	}
	namespace, err := k.Namespace()
	if err != nil {
		return err
	}
	var refused error
	for _, r := range results {
		job := r.TrainJob.DeepCopy()
		if job.Namespace == "" {
			job.Namespace = namespace
		}
		name := job.Namespace + "/" + job.Name + job.GenerateName
		if err := c.Create(ctx, job, client.DryRunAll); err != nil {
			explained := apierror.Explain(err)
			fmt.Fprintf(k.streams.ErrOut, "trainjob %s: %s\n", name, explained)
			if refused == nil {
				refused = err
			}
			continue
		}
		fmt.Fprintf(k.streams.ErrOut, "trainjob %s: the API server would take it\n", name)
	}
	return refused
}
