package lower

import (
	"fmt"

	jobv1 "lockstep.dev/lockstep/api/job/v1"
	"lockstep.dev/lockstep/pkg/compile/object"
	"lockstep.dev/lockstep/pkg/mpi"
)

// What a patch may write into the metadata of JobSet, Jobs and pods. Everything in a cluster obeys labels and annotations of its own:
// JobSet places exclusively by them, CNI plugins attach networks, container runtimes hand out devices, webhooks inject credentials. No
// list of those is ever complete, so that there is one of what is known to be harmless. A key without domain has no dot either: CRI-O
// and Kata read annotations such as `io.kubernetes.cri-o.Devices`. A key that begins with a dollar would be a directive of the merge.
const (
	harmlessAnnotation = `^([A-Za-z0-9][A-Za-z0-9_-]*|prometheus\.io/.*|kubectl\.kubernetes\.io/default-container|cluster-autoscaler\.kubernetes\.io/safe-to-evict|kueue\.x-k8s\.io/podset-(required|preferred|unconstrained)-topology)$`
	harmlessLabel      = `^([A-Za-z0-9][A-Za-z0-9_-]*|app\.kubernetes\.io/(name|instance|version|component|part-of))$`
)

// kueueKeys are the keys by which a TrainJob may speak to Kueue. Others hand it a Workload of another job, or parameters of checks.
var kueueKeys = []string{queueLabel, priorityLabel, "kueue.x-k8s.io/max-exec-time-seconds"}

func metadataVariables() []object.Node {
	harmful := func(field, harmless string) string {
		return celOverMetadata(celSmallestKey(`m.?`+field+`.orValue({})`, `!k.matches(`+celString(harmless)+`)`))
	}
	return []object.Node{
		celVariable("metadata", `variables.patches.map(p, [p.?trainingRuntimeSpec.?template.?metadata.orValue({})])
+ variables.patchedJobs.map(jobs, jobs.map(j, j.?template.?metadata.orValue({})))
+ variables.pods.map(pods, pods.map(p, p.?metadata.orValue({})))`),
		celVariable("annotated", harmful("annotations", harmlessAnnotation)),
		celVariable("labels", harmful("labels", harmlessLabel)),
		celVariable("toKueue", `variables.byKueue ? '' : `+celJoinFindings(celKueueKey("labels"), celKueueKey("annotations"))),
		celVariable("untraceable", celUntraceableWord()),
		celVariable("notes", `dyn(object).metadata.?annotations.orValue({})`),
		celVariable("noteBytes", celBytesOf("variables.notes")),
		celVariable("oldNotes", `oldObject == null ? {} : dyn(oldObject).metadata.?annotations.orValue({})`),
		celVariable("oldNoteBytes", celBytesOf("variables.oldNotes")),
	}
}

// maxAnnotationBytes is how much the annotations of a TrainJob may have together. The API server allows an object 256
// KiB, and the controller records in one of them how far the job has come.
const maxAnnotationBytes = 128 << 10

// celBytesOf is how much annotations have together, without the record of the controller.
func celBytesOf(annotations string) string {
	return annotations + `.map(k, k == '` + jobv1.Annotation + `' ? 0
  : int(k.size() + bytes(` + annotations + `[k]).size())).sum()`
}

// celUntraceableWord is the first word of the annotation of a TrainJob, new or changed, that is nothing to be recorded of its run.
func celUntraceableWord() string {
	const asked = `.metadata.?annotations[?` + `'` + mpi.TraceAnnotation + `'` + `]`
	var words []string
	for _, trace := range mpi.Traces() {
		words = append(words, string(trace))
	}
	return `(oldObject != null && dyn(oldObject)` + asked + ` == dyn(object)` + asked + ` ? [] : dyn(object)` + asked + `.optMap(v, v.split(',')).orValue([]))
.map(w, w.trim()).filter(w, !(w in [` + celStrings(words) + `])).map(w, '` + "`" + `' + w + '` + "`" + `').join(' ')`
}

// celOverMetadata joins what an expression over the metadata m finds at all levels of all patches.
func celOverMetadata(finding string) string {
	return celJoinTexts(`variables.metadata.map(all, ` + celJoinTexts(`all.map(m, `+finding+`)`) + `)`)
}

// celKueueKey is the first key of the TrainJob's own metadata that is Kueue's, is new or has changed, and is not one for users.
func celKueueKey(field string) string {
	return celSmallestKey(`dyn(object).metadata.?`+field+`.orValue({})`,
		`k.contains('kueue.x-k8s.io/') && !(k in [`+celStrings(kueueKeys)+`]) && (oldObject == null || dyn(oldObject).metadata.?`+field+`[?k] != dyn(object).metadata.?`+field+`[?k])`)
}

func metadataValidations() []object.Node {
	return []object.Node{
		celValidation("variables.annotated == ''",
			"spec.runtimePatches sets an annotation that controllers of the cluster may obey",
			"spec.runtimePatches sets annotation `{variables.annotated}`, by which something in the cluster may give the pods more than the runtime does; allowed are names without domain and dot (`team`), prometheus.io/*, "+
				"kubectl.kubernetes.io/default-container, cluster-autoscaler.kubernetes.io/safe-to-evict, and kueue.x-k8s.io/podset-required-topology, -preferred- and -unconstrained-: "+
				"remove it, or set it on the TrainJob itself, whose annotations reach no pod"),
		celValidation("variables.labels == ''",
			"spec.runtimePatches sets a label by which pods may be selected",
			"spec.runtimePatches sets label `{variables.labels}`, by which policies and controllers of the cluster may select the pods; allowed are names without domain and dot (`team`), and "+
				"app.kubernetes.io/name, instance, version, component and part-of: remove it, or set it on the TrainJob itself, whose labels reach no pod"),
		celValidation("variables.toKueue == ''",
			"the TrainJob tells Kueue more than users may",
			"the TrainJob has `{variables.toKueue}`; of Kueue's labels users may set kueue.x-k8s.io/queue-name, priority-class and max-exec-time-seconds, and no annotation: remove it"),
		celValidation(
			fmt.Sprintf("variables.noteBytes <= %d || variables.noteBytes <= variables.oldNoteBytes", maxAnnotationBytes),
			"the annotations of the TrainJob are too large",
			fmt.Sprintf("the annotations of the TrainJob have {variables.noteBytes} bytes; at most %d are allowed, "+
				"because the platform records there how far the job has come: remove large ones; `kubectl apply --server-side` "+
				"leaves out the copy of the manifest, and files belong into a volume or the image", maxAnnotationBytes)),
		celValidation("variables.untraceable == ''",
			"the annotation "+mpi.TraceAnnotation+" has what cannot be recorded",
			"the annotation "+mpi.TraceAnnotation+" has {variables.untraceable}, which cannot be traced; allowed are `traffic`, `waiting`, `horovod` and `nccl`, with commas between them: correct it, or remove it"),
	}
}
