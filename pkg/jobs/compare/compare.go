// Package compare says what differed between two runs, as they really ran: from the JobSet and the runtime that each was made of, where these
// are still there, and otherwise from what was asked for. It is pure.
package compare

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/utils/ptr"
	jobset "sigs.k8s.io/jobset/api/jobset/v1alpha2"

	trainer "lockstep.dev/lockstep/api/trainer/v1alpha1"
	"lockstep.dev/lockstep/pkg/jobs/submit"
	"lockstep.dev/lockstep/pkg/mpi"
	"lockstep.dev/lockstep/pkg/mpi/diagnose"
	mpijob "lockstep.dev/lockstep/pkg/mpi/job"
	"lockstep.dev/lockstep/pkg/mpi/job/kueue"
)

// Run is what is known of a run.
type Run struct {
	TrainJob *trainer.TrainJob
	// JobSet is what ran, nil where it is gone. Snapshot is the runtime as it was when the job was made, nil where it is gone, and
	// Digest its SHA-256.
	JobSet   *jobset.JobSet
	Snapshot *mpijob.Runtime
	Digest   string
	// Now stands for the end of a run that goes on.
	Now time.Time
}

// Difference is one thing that differed. Left and Right are empty for what a run did not have. Of a text, such as a file, they are its size and the
// first line that differs.
type Difference struct {
	What  string `json:"what"`
	Left  string `json:"left"`
	Right string `json:"right"`
}

// Comparison is what differed, in the order of a job: what was asked, what it ran on, how it went.
type Comparison struct {
	Differences []Difference `json:"differences"`
	// Equal are those that were compared and are equal.
	Equal []string `json:"equal"`
	// Unknown says what could not be compared, and why.
	Unknown []string `json:"unknown,omitempty"`
}

// Runs compares two.
func Runs(left, right Run) Comparison {
	l, r := left.gatherFacts(), right.gatherFacts()
	var result Comparison
	for _, name := range mergedOrder(l, r) {
		if l.values[name] == r.values[name] && l.texts[name] == r.texts[name] {
			result.Equal = append(result.Equal, name)
			continue
		}
		difference := Difference{What: name}
		if l.texts[name] || r.texts[name] {
			difference.Left, difference.Right = sizedExcerpts(l.values[name], r.values[name], l.texts[name], r.texts[name])
		} else {
			difference.Left, difference.Right = l.shownValue(name), r.shownValue(name)
		}
		result.Differences = append(result.Differences, difference)
	}
	result.Unknown = slices.Compact(slices.Concat(left.unknownParts(), right.unknownParts()))
	return result
}

func (r Run) unknownParts() []string {
	if r.JobSet == nil {
		return []string{fmt.Sprintf("the pods of `%s` are known by its TrainJob only: its JobSet is gone", r.TrainJob.Name)}
	}
	return nil
}

// runFacts are what a run was, by name, and the names in their order.
type runFacts struct {
	names  []string
	values map[string]string
	// secret are those whose value is compared and not shown: a comparison is passed on.
	secret map[string]bool
	// texts are those of which the first line that differs is shown: files, functions.
	texts map[string]bool
}

func (f *runFacts) shownValue(name string) string {
	if f.secret[name] {
		return "***"
	}
	return f.values[name]
}

func (f *runFacts) set(name, value string) {
	if _, known := f.values[name]; !known {
		f.names = append(f.names, name)
	}
	f.values[name] = value
}

func (f *runFacts) setText(name, text string) {
	f.set(name, text)
	f.texts[name] = true
}

// setAssigned sets a value whose name may say that it is a secret.
func (f *runFacts) setAssigned(prefix, name, value string) {
	f.set(prefix+name, value)
	f.secret[prefix+name] = diagnose.Redact(name+"="+value) != name+"="+value
}

// mergedOrder is that of the left one, with what only the right one has behind its like.
func mergedOrder(l, r *runFacts) []string {
	names := slices.Clone(l.names)
	for i, name := range r.names {
		if slices.Contains(names, name) {
			continue
		}
		at := 0
		for _, before := range slices.Backward(r.names[:i]) {
			if j := slices.Index(names, before); j >= 0 {
				at = j + 1
				break
			}
		}
		names = slices.Insert(names, at, name)
	}
	return names
}

func (r Run) gatherFacts() *runFacts {
	f := &runFacts{values: map[string]string{}, secret: map[string]bool{}, texts: map[string]bool{}}
	job := r.TrainJob
	f.set("runtime", ptr.Deref(job.Spec.RuntimeRef.Kind, "ClusterTrainingRuntime")+" "+job.Spec.RuntimeRef.Name)
	if r.Snapshot != nil {
		f.set("runtime as it was", shortDigest(r.Digest))
		f.set("MPI", strings.TrimSpace(r.Snapshot.Labels[mpi.ImplementationLabel]+" "+r.Snapshot.Labels[mpi.VersionLabel]))
	}
	f.set("queue", job.Labels[kueue.QueueLabel])
	r.addWorld(f)
	r.addPods(f)
	r.addCourse(f)
	return f
}

func shortDigest(digest string) string { return digest[:min(len(digest), 12)] }

// addWorld is the number of nodes and ranks.
func (r Run) addWorld(f *runFacts) {
	asked := ptr.Deref(r.TrainJob.Spec.Trainer, trainer.Trainer{})
	nodes, slots := asked.NumNodes, asked.NumProcPerNode
	if r.Snapshot != nil {
		if made, err := mpijob.Resolve(r.TrainJob, *r.Snapshot); err == nil {
			nodes, slots = &made.World.Nodes, &made.World.SlotsPerNode
		}
	}
	f.set("nodes", countOrOfRuntime(nodes))
	f.set("slots", countOrOfRuntime(slots))
}

func countOrOfRuntime(n *int32) string {
	if n == nil {
		return "the runtime's"
	}
	return fmt.Sprint(*n)
}

// addPods are image, command, environment, resources and volumes.
func (r Run) addPods(f *runFacts) {
	asked := ptr.Deref(r.TrainJob.Spec.Trainer, trainer.Trainer{})
	addCommand(f, slices.Concat(mpi.UnwrapFilesDir(asked.Command), asked.Args))
	files := submit.FilesOf(r.TrainJob)
	for _, path := range slices.Sorted(maps.Keys(files)) {
		f.setText("file "+path, files[path])
	}
	if r.JobSet == nil {
		f.set("image", ptr.Deref(asked.Image, "the runtime's"))
		addEnvironment(f, "env ", asked.Env)
		if asked.ResourcesPerNode != nil {
			addResources(f, "", *asked.ResourcesPerNode)
		}
		return
	}
	for _, part := range r.JobSet.Spec.ReplicatedJobs {
		pod := part.Template.Spec.Template.Spec
		main := mpijob.MainContainer(&pod)
		if main == nil {
			continue
		}
		prefix := part.Name + " "
		f.set(prefix+"image", main.Image)
		addEnvironment(f, prefix+"env ", main.Env)
		addResources(f, prefix, main.Resources)
		for _, volume := range pod.Volumes {
			if c := volume.PersistentVolumeClaim; c != nil {
				f.set(prefix+"volume "+c.ClaimName, mountPathOf(main, volume.Name))
			}
		}
	}
}

// addCommand is what runs. Of a function of Python it is the function and how it is called, and not the program that calls it.
func addCommand(f *runFacts, words []string) {
	called, before, is := parsePythonFunction(words)
	if !is {
		f.set("command", diagnose.Redact(strings.Join(words, " ")))
		return
	}
	f.set("command", diagnose.Redact(fmt.Sprintf("%s %s() of %s", strings.Join(before, " "), called.name, called.file)))
	for _, a := range called.arguments {
		f.setAssigned("argument ", a.name, a.value)
	}
	f.setText("function "+called.name, called.source)
	f.set("what calls it", shortDigest(mpijob.Digest(called.runner)))
}

func mountPathOf(c *corev1.Container, volume string) string {
	for _, m := range c.VolumeMounts {
		if m.Name == volume {
			return m.MountPath
		}
	}
	return "not mounted"
}

func addEnvironment(f *runFacts, prefix string, variables []corev1.EnvVar) {
	for _, v := range variables {
		if v.ValueFrom != nil {
			f.set(prefix+v.Name, describeSource(*v.ValueFrom))
		} else {
			f.setAssigned(prefix, v.Name, v.Value)
		}
	}
}

func describeSource(from corev1.EnvVarSource) string {
	switch {
	case from.SecretKeyRef != nil:
		return "from Secret " + from.SecretKeyRef.Name + ", " + from.SecretKeyRef.Key
	case from.ConfigMapKeyRef != nil:
		return "from ConfigMap " + from.ConfigMapKeyRef.Name + ", " + from.ConfigMapKeyRef.Key
	case from.FieldRef != nil:
		return "from " + from.FieldRef.FieldPath
	}
	return "from elsewhere"
}

func addResources(f *runFacts, prefix string, r corev1.ResourceRequirements) {
	for _, name := range slices.Sorted(maps.Keys(r.Requests)) {
		quantity := r.Requests[name]
		f.set(prefix+"requests "+string(name), quantity.String())
	}
	for _, name := range slices.Sorted(maps.Keys(r.Limits)) {
		quantity := r.Limits[name]
		f.set(prefix+"limit "+string(name), quantity.String())
	}
}

// addCourse is when it began and how it ended.
func (r Run) addCourse(f *runFacts) {
	begin, end := r.TrainJob.CreationTimestamp.Time, r.Now
	state, why := "not over", ""
	for _, kind := range []string{trainer.TrainJobComplete, trainer.TrainJobFailed} {
		if c := apimeta.FindStatusCondition(r.TrainJob.Status.Conditions, kind); c != nil && c.Status == "True" {
			state, end = kind, c.LastTransitionTime.Time
			if kind == trainer.TrainJobFailed {
				why = c.Reason
			}
		}
	}
	f.set("created", begin.UTC().Format(time.RFC3339))
	f.set("took", end.Sub(begin).Round(time.Second).String())
	f.set("result", strings.TrimSpace(state+" "+why))
}
