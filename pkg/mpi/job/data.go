package job

import (
	"net/url"
	"path/filepath"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/utils/ptr"
	jobset "sigs.k8s.io/jobset/api/jobset/v1alpha2"

	trainer "lockstep.dev/lockstep/api/trainer/v1alpha1"
	"lockstep.dev/lockstep/pkg/mpi"
	"lockstep.dev/lockstep/pkg/mpi/diagnose"
)

// Labels by which a job is in a queue of Kueue.
const (
	QueueLabel    = "kueue.x-k8s.io/queue-name"
	PriorityLabel = "kueue.x-k8s.io/priority-class"
)

func queueLabels(all map[string]string) map[string]string {
	if all[QueueLabel] == "" {
		return nil
	}
	queue := map[string]string{QueueLabel: all[QueueLabel]}
	if class := all[PriorityLabel]; class != "" {
		queue[PriorityLabel] = class
	}
	return queue
}

// Data is a dataset or a model that spec.initializer names.
type Data struct {
	// Step is mpi.DatasetInitializer or mpi.ModelInitializer.
	Step string
	// URI is its source.
	URI string
	// Env and Secret are for the pod that fetches it; Secret may be empty.
	Env    []corev1.EnvVar
	Secret string
	// Claim and Folder are its place if a claim of the user has it: then nothing is fetched.
	Claim, Folder string
	// Pod is the runtime's own for this step, or nil. Then volumes are the runtime's too.
	Pod *corev1.PodTemplateSpec
}

// checkDataNames refuses a name that is too long for the Jobs that fetch: theirs are the values of labels.
func checkDataNames(name string, data []Data) error {
	for _, d := range data {
		if most := dnsLabelMax - len(d.Step) - 1; len(name) > most && d.IsFetched() {
			return newRefusal(diagnose.NameTooLong,
				"the name `%s` has %d characters, at most %d are allowed for a job with the Job `%s-%s`",
				name, len(name), most, name, d.Step)
		}
	}
	return nil
}

// Dir is the folder of the ranks.
func (d Data) Dir() string {
	if d.Step == mpi.ModelInitializer {
		return mpi.ModelDir
	}
	return mpi.DatasetDir
}

// IsFetched reports whether a pod has to bring it.
func (d Data) IsFetched() bool { return d.Claim == "" }

// takeData returns what a TrainJob wants to be fetched, and takes the jobs of the runtime that would do it out of
// its template: they run before the gang asks for machines.
func takeData(asked *trainer.Initializer, runtime Runtime, template *jobset.JobSetSpec) ([]Data, error) {
	if asked == nil {
		return nil, nil
	}
	var wanted []Data
	if d := asked.Dataset; d != nil {
		wanted = append(wanted, newData(mpi.DatasetInitializer, d.StorageUri, d.Env, d.SecretRef))
	}
	if m := asked.Model; m != nil {
		wanted = append(wanted, newData(mpi.ModelInitializer, m.StorageUri, m.Env, m.SecretRef))
	}
	for i := range wanted {
		d := &wanted[i]
		if takePod(d, template) {
			if len(template.VolumeClaimPolicies) == 0 {
				continue
			}
			return nil, newRefusal(diagnose.InitializerUnsupported, "the runtime has volumeClaimPolicies: JobSet makes "+
				"their claims with the pods of the job, and data is fetched before: name a claim in its volumes")
		}
		if !runtime.IsCompiled() {
			return nil, newRefusal(diagnose.InitializerUnsupported, "the runtime has no job for the step `%s`: "+
				"use a compiled runtime, or add one with the label %s", d.Step, mpi.AncestorLabel)
		}
		if err := d.locate(); err != nil {
			return nil, err
		}
	}
	return wanted, nil
}

func newData(step string, uri *string, env []corev1.EnvVar, secret *corev1.LocalObjectReference) Data {
	reference := ptr.Deref(secret, corev1.LocalObjectReference{})
	return Data{Step: step, URI: ptr.Deref(uri, ""), Env: env, Secret: reference.Name}
}

// takePod moves the runtime's own job for a step out of the template, and reports whether it has one.
func takePod(d *Data, template *jobset.JobSetSpec) bool {
	i := slices.IndexFunc(template.ReplicatedJobs, func(rj jobset.ReplicatedJob) bool {
		return rj.Template.Labels[mpi.AncestorLabel] == d.Step
	})
	if i < 0 {
		return false
	}
	taken := template.ReplicatedJobs[i]
	d.Pod = &taken.Template.Spec.Template
	template.ReplicatedJobs = slices.Delete(slices.Clone(template.ReplicatedJobs), i, i+1)
	for j := range template.ReplicatedJobs {
		rj := &template.ReplicatedJobs[j]
		rj.DependsOn = slices.DeleteFunc(slices.Clone(rj.DependsOn), func(on jobset.DependsOn) bool {
			return on.Name == taken.Name
		})
	}
	return true
}

// locate finds what is on a claim already, and refuses what nothing here can fetch.
func (d *Data) locate() error {
	at, err := url.Parse(d.URI)
	field := "spec.initializer." + strings.TrimSuffix(d.Step, "-initializer") + ".storageUri"
	if err != nil {
		return newRefusal(diagnose.InitializerUnsupported, "%s is no URI: %s", field, err)
	}
	switch at.Scheme {
	case "s3", "hf", "https", "http":
		return nil
	case "pvc":
		d.Claim, d.Folder = at.Host, strings.Trim(at.Path, "/")
		wrong := validation.IsDNS1123Subdomain(d.Claim)
		if len(wrong) == 0 && (d.Folder == "" || filepath.IsLocal(d.Folder)) {
			return nil
		}
		return newRefusal(diagnose.InitializerUnsupported, "%s is `%s`: want pvc://CLAIM or pvc://CLAIM/FOLDER", field, d.URI)
	}
	return newRefusal(diagnose.InitializerUnsupported,
		"%s is `%s`: data comes from s3://, hf://, https:// and pvc://", field, d.URI)
}
