package job_test

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	jobset "sigs.k8s.io/jobset/api/jobset/v1alpha2"
	"sigs.k8s.io/yaml"

	trainer "lockstep.dev/lockstep/api/trainer/v1alpha1"
	"lockstep.dev/lockstep/pkg/mpi"
	"lockstep.dev/lockstep/pkg/mpi/diagnose"
	"lockstep.dev/lockstep/pkg/mpi/job"
	"lockstep.dev/lockstep/pkg/mpi/job/decide"
	"lockstep.dev/lockstep/pkg/mpi/job/desired"
	"lockstep.dev/lockstep/pkg/mpi/job/observe"
	"lockstep.dev/lockstep/pkg/mpi/job/phase"
)

// How our objects are held against those of Kubeflow Trainer: testdata/conformance has TrainJobs with their runtimes, and in
// upstream what the plugins of the pinned Trainer make of them, which they did and which test/integration/kueue/conformance
// checks. Every field must be the same, but for what docs/conformance.md gives a name and a reason.

// difference is one way in which our objects may differ: in these fields, and only so.
type difference struct {
	path *regexp.Regexp
	as   func(upstreams, ours string) bool
}

const (
	podOfLauncher = `JobSet\.spec\.replicatedJobs\[launcher\]\.template\.spec\.template\.spec\.`
	podOfNode     = `JobSet\.spec\.replicatedJobs\[node\]\.template\.spec\.template\.spec\.`
	anyPod        = `JobSet\.spec\.replicatedJobs\[(launcher|node)\]\.template\.spec\.template\.spec\.`
	pods          = `template\.spec\.(parallelism|completions)$`
	hostfile      = `ConfigMap\.data\.hostfile$`
)

// differences are all that there are. Each name is in docs/conformance.md.
var differences = map[string][]difference{
	"Labels":             {at(`metadata\.labels\.(lockstep\.dev/trainjob|app\.kubernetes\.io/managed-by)$`, turns("", "demo|mpi-controller"))},
	"ReadOnly":           {at(anyPod+`containers\[node\]\.volumeMounts\[.*\]\.readOnly$`, turns("", "true")), at(podOfLauncher+`volumes\[mpi-hostfile\]\.configMap\.items\[hostfile\]\.mode$`, turns("292", ""))},
	"Snapshot":           {at(`ConfigMap\.data\.runtime\.json$`, turns("", ".+")), at(`Secret\.metadata\.annotations\.lockstep\.dev/runtime-sha256$`, turns("", "[0-9a-f]{64}"))},
	"ImageOnNodes":       {at(podOfNode+`containers\[node\]\.image$`, turns(`registry\.test/.*:1`, `registry\.test/mine:2`))},
	"EnvironmentOnNodes": {at(podOfNode+`containers\[node\]\.env\[EPOCHS\]`, turns("", "EPOCHS|3"))},
	"ResourcesOnNodes": {
		at(podOfNode+`containers\[node\]\.resources\.`, turns("", "5")), at(podOfLauncher+`containers\[node\]\.resources\.`, turns("5", "")),
	},
	"RequestsFollowLimits": {at(anyPod+`containers\[node\]\.resources\.requests\.memory$`, turns("1Gi", "4Gi"))},
	"GPUsOfNodes": {
		at(hostfile, turns("(?s).*slots=1\n", "(?s).*slots=4\n")), at(podOfLauncher+`containers\[node\]\.env\[OMPI_MCA_orte_set_default_slots\]\.value$`, turns("1", "4")),
	},
	"Agent": {at(podOfLauncher+`containers\[node\]\.command\[[0-3]\]$`, turns("mpirun|", "/opt/lockstep/bin/mpi-agent|run|--|mpirun"))},
	"KeyModes": {
		at(anyPod+`volumes\[mpi-ssh-auth\]\.secret\.(defaultMode|items\[.*\]\.mode)$`, turns("256|416|420", "288")),
	},
	"LastLines":      {at(anyPod+`(initC|c)ontainers\[[^\]]*\]\.terminationMessagePolicy$`, turns("", "FallbackToLogsOnError"))},
	"Dialect":        {at(podOfLauncher+`containers\[node\]\.env\[OMPI_MCA_(orte_default_hostfile|orte_keep_fqdn_hostnames|orte_set_default_slots|plm_rsh_args)\]`, turns(".+", ""))},
	"CommandAlone":   {at(podOfLauncher+`containers\[node\]\.args\[.\]$`, turns("python|demo.py", ""))},
	"LauncherFirst":  {at(hostfile, launcherFirst)},
	"ExactNodes":     {at(`replicatedJobs\[node\]\.`+pods, turns("1", "0")), at(hostfile, turns("demo-node-0-0.demo slots=1\ndemo-launcher-0-0.demo slots=1\n", "demo-launcher-0-0.demo slots=1\n"))},
	"OneLauncher":    {at(`replicatedJobs\[launcher\]\.`+pods, turns("2", "1"))},
	"OwnSubdomain":   {at(hostfile, turns("demo-node-0-0.shared slots=1\n", "demo-node-0-0.demo slots=1\n")), at(`JobSet\.spec\.network\.subdomain$`, turns("shared", ""))},
	"StartTogether":  {at(`replicatedJobs\[launcher\]\.dependsOn\[node\]\.`, turns("node|Ready", ""))},
	"NoMinResources": {at(`PodGroup\.spec\.minResources\.cpu$`, turns("8", ""))},
	"GangOfRanks":    {at(`PodGroup\.spec\.minMember$`, turns("4", "3")), at(`replicatedJobs\[prepare\].*labels\.scheduling\.x-k8s\.io/pod-group$`, turns("demo", ""))},
	"DefaultCounts":  {at(`replicatedJobs\[prepare\]\.`+pods, turns("1", ""))},
	"CommandInLauncher": {
		at(podOfNode+`containers\[node\]\.(command|args)\[0\]$`, turns("mpirun|train", "/usr/sbin/sshd|-De")),
		at(podOfLauncher+`containers\[node\]\.(command|args)\[.\]$`, turns("probe|", "train|")),
		at(podOfLauncher+`containers\[node\]\.image$`, turns(`registry\.test/openssh:1`, `registry\.test/mine:2`)),
	},
}

// everywhere are the differences that every job has.
var everywhere = []string{"Labels", "LastLines", "ReadOnly", "Snapshot"}

func at(path string, as func(upstreams, ours string) bool) difference {
	return difference{regexp.MustCompile(path), as}
}

func turns(upstreams, ours string) func(string, string) bool {
	was, is := regexp.MustCompile(`^(?:`+upstreams+`)$`), regexp.MustCompile(`^(?:`+ours+`)$`)
	return func(upstreams, ours string) bool { return was.MatchString(upstreams) && is.MatchString(ours) }
}

// launcherFirst reports whether both hostfiles have the same lines, and ours begins with the launcher.
func launcherFirst(upstreams, ours string) bool {
	sorted := func(text string) []string { return slices.Sorted(strings.Lines(text)) }
	return strings.HasPrefix(ours, "demo-launcher-0-0.demo ") && slices.Equal(sorted(upstreams), sorted(ours))
}

func TestConformance(t *testing.T) {
	cases := map[string]struct {
		reason string
		// differs are the differences beyond those that every job has.
		differs []string
	}{
		"nothing-asked":                    {"the runtime decides", nil},
		"all-of-a-trainer":                 {"image, command, args, environment, numNodes", []string{"ImageOnNodes", "EnvironmentOnNodes"}},
		"command-over-args":                {"a command brings its own args", []string{"CommandAlone"}},
		"slots-of-the-trainjob":            {"numProcPerNode of the TrainJob wins", nil},
		"slots-by-gpus-asked-for":          {"one slot per GPU that the TrainJob asks for", []string{"ResourcesOnNodes"}},
		"slots-by-gpus-of-the-runtime":     {"one slot per GPU of the runtime", nil},
		"slots-by-gpus-launcher-first":     {"the GPUs of the nodes count, wherever they stand", []string{"GPUsOfNodes"}},
		"launcher-as-node":                 {"one of the nodes is the launcher", []string{"LauncherFirst"}},
		"launcher-as-only-node":            {"one node is one pod", []string{"ExactNodes"}},
		"resources-with-launcher-as-node":  {"launcher and nodes have them", []string{"LauncherFirst"}},
		"requests-follow-limits":           {"what is asked for is also requested", []string{"LauncherFirst", "RequestsFollowLimits"}},
		"ancestor-on-nodes":                {"where nodes carry the label of the trainer step, mlPolicy.numNodes counts them", nil},
		"ancestor-on-nodes-with-a-command": {"a node never runs the user's command by itself", []string{"CommandInLauncher"}},
		"one-launcher":                     {"mlPolicy.numNodes does not multiply launchers", []string{"OneLauncher"}},
		"subdomain":                        {"two jobs of a runtime do not share a Service", []string{"OwnSubdomain"}},
		"suspended":                        {"all objects exist, and the JobSet is suspended", nil},
		"patches":                          {"runtimePatches of two managers", nil},
		"coscheduling":                     {"the launcher counts", []string{"NoMinResources", "StartTogether"}},
		"volcano":                          {"queue, priority, topology, resources", []string{"StartTogether"}},
		"other-jobs":                       {"what a runtime brings beside launcher and nodes stays", []string{"DefaultCounts"}},
		"other-jobs-and-a-gang":            {"what is to be done before is not in the gang", []string{"DefaultCounts", "GangOfRanks", "StartTogether"}},
		"compiled":                         {"the agent in place of OpenSSH", []string{"Agent", "Dialect", "EnvironmentOnNodes", "ImageOnNodes", "KeyModes"}},
		"compiled-one-slot-on-gpus":        {"a compiled runtime says how many slots there are", []string{"Dialect", "KeyModes"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			found := map[*regexp.Regexp]bool{}
			upstreams, ours := madeByUpstream(t, name), madeByUs(t, name)
			for path := range job.MergeMaps(upstreams, ours) {
				if upstreams[path] == ours[path] {
					continue
				}
				rule := ruleFor(append(slices.Clone(tc.differs), everywhere...), path, upstreams[path], ours[path])
				if rule == nil {
					t.Errorf("%s: %s is %q upstream, ours is %q", tc.reason, path, upstreams[path], ours[path])
				}
				found[rule] = true
			}
			for _, name := range tc.differs {
				for _, d := range differences[name] {
					if !found[d.path] {
						t.Errorf("%s: there is no difference `%s` in %s any more", tc.reason, name, d.path)
					}
				}
			}
		})
	}
	files, err := filepath.Glob("testdata/conformance/*.yaml")
	if err != nil || len(files) != len(cases) {
		t.Errorf("%d TrainJobs for %d cases: %v", len(files), len(cases), err)
	}
}

// ruleFor returns the rule of the named differences that this one follows, or nil.
func ruleFor(names []string, path, upstreams, ours string) *regexp.Regexp {
	for _, name := range names {
		for _, d := range differences[name] {
			if d.path.MatchString(path) && d.as(upstreams, ours) {
				return d.path
			}
		}
	}
	return nil
}

func TestEveryDifferenceIsExplained(t *testing.T) {
	for name := range differences {
		explained(t, name)
	}
}

// explained wants a row for a difference in the documentation.
func explained(t *testing.T, name string) {
	t.Helper()
	text, err := os.ReadFile("../../../docs/conformance.md")
	if err != nil {
		t.Fatal(err)
	}
	if name != "" && !bytes.Contains(text, []byte("| `"+name+"` |")) {
		t.Errorf("docs/conformance.md does not say why there is `%s`", name)
	}
}

// madeByUs returns the fields of our objects.
func madeByUs(t *testing.T, name string) map[string]string {
	t.Helper()
	documents := read(t, name+".yaml")
	var runtime struct {
		job.Runtime `json:",inline"`
		Metadata    metav1.ObjectMeta `json:"metadata"`
	}
	var trainJob trainer.TrainJob
	for i, into := range []any{&runtime, &trainJob} {
		if err := yaml.Unmarshal([]byte(documents[i]), into); err != nil {
			t.Fatal(err)
		}
	}
	runtime.Labels = runtime.Metadata.Labels
	made, err := job.Resolve(&trainJob, runtime.Runtime)
	if err != nil {
		t.Fatal(err)
	}
	key, err := desired.SSHAuthSecret(made, bytes.NewReader(bytes.Repeat([]byte{7}, 32)))
	if err != nil {
		t.Fatal(err)
	}
	for name := range key.Data {
		key.Data[name] = nil
	}
	objects := []job.Object{desired.JobSet(made), desired.HostfileConfigMap(made), key}
	if group := desired.PodGroup(made); group != nil {
		objects = append(objects, group)
	}
	fields := map[string]string{}
	for _, object := range objects {
		text, err := yaml.Marshal(object)
		if err != nil {
			t.Fatal(err)
		}
		maps.Copy(fields, fieldsOf(t, text))
	}
	return fields
}

// madeByUpstream returns the fields of upstream's objects.
func madeByUpstream(t *testing.T, name string) map[string]string {
	t.Helper()
	fields := map[string]string{}
	for _, document := range read(t, filepath.Join("upstream", name+".yaml")) {
		maps.Copy(fields, fieldsOf(t, []byte(document)))
	}
	return fields
}

func read(t *testing.T, name string) []string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata/conformance", name))
	if err != nil {
		t.Fatal(err)
	}
	return strings.Split(string(text), "\n---\n")
}

// fieldsOf returns the values of an object by path, such as `JobSet.spec.replicatedJobs[node].replicas`. Its status is no
// answer of anybody.
func fieldsOf(t *testing.T, text []byte) map[string]string {
	t.Helper()
	var object map[string]any
	if err := yaml.Unmarshal(text, &object); err != nil {
		t.Fatal(err)
	}
	delete(object, "status")
	fields := map[string]string{}
	flatten(fmt.Sprint(object["kind"]), object, fields)
	return fields
}

func flatten(path string, value any, into map[string]string) {
	switch value := value.(type) {
	case nil:
	case map[string]any:
		for name, field := range value {
			flatten(path+"."+name, field, into)
		}
	case []any:
		for i, item := range value {
			flatten(path+"["+itemKey(i, item)+"]", item, into)
		}
	default:
		into[path] = fmt.Sprint(value)
	}
}

// itemKey returns by what an item of a list is known.
func itemKey(index int, item any) string {
	fields, ok := item.(map[string]any)
	for _, key := range []string{"mountPath", "path", "name"} {
		if value, found := fields[key].(string); ok && found {
			return value
		}
	}
	return fmt.Sprint(index)
}

// What upstream's webhooks refuse when a TrainJob is created, we refuse at the start: as a condition, with a reason.
func TestConformanceOfRefusals(t *testing.T) {
	without := func(role string) *job.Runtime {
		runtime := openSSH(true)
		runtime.Spec.Template.Spec.ReplicatedJobs = slices.DeleteFunc(runtime.Spec.Template.Spec.ReplicatedJobs, func(rj jobset.ReplicatedJob) bool { return rj.Name == role })
		return runtime
	}
	sets := func(names ...string) func(*trainer.TrainJob) {
		var asked trainer.Trainer
		for _, name := range names {
			asked.Env = append(asked.Env, corev1.EnvVar{Name: name, Value: "mine"})
		}
		return asks(asked)
	}
	nodes := func(n int32) func(*trainer.TrainJob) { return asks(trainer.Trainer{NumNodes: &n}) }
	container := []trainer.ContainerPatch{{Name: "other"}}
	variable := []trainer.ContainerPatch{{Name: mpi.Container, Env: []corev1.EnvVar{{Name: "A"}}}}
	initializer := func(j *trainer.TrainJob) {
		j.Spec.Initializer = &trainer.Initializer{Dataset: &trainer.DatasetInitializer{}}
	}
	prepared := openSSH(false)
	step := jobset.ReplicatedJob{Name: "dataset-initializer"}
	step.Template.Labels = map[string]string{mpi.AncestorLabel: mpi.DatasetInitializer}
	prepared.Spec.Template.Spec.ReplicatedJobs = append(prepared.Spec.Template.Spec.ReplicatedJobs, step)
	claims := openSSH(false)
	claims.Spec.Template.Spec.ReplicatedJobs = prepared.Spec.Template.Spec.ReplicatedJobs
	claims.Spec.Template.Spec.VolumeClaimPolicies = []jobset.VolumeClaimPolicy{{}}
	cases := map[string]struct {
		reason   string
		runtime  *job.Runtime
		edit     func(*trainer.TrainJob)
		upstream bool
		want     mpi.Reason
		differs  string
	}{
		"ReservedVariable":     {"nodes are found through it", openSSH(false), sets("OMPI_MCA_orte_default_hostfile"), true, diagnose.ReservedVariable, ""},
		"ReservedVariables":    {"two of them", openSSH(false), sets("OMPI_MCA_orte_default_hostfile", "OMPI_MCA_plm_rsh_args"), true, diagnose.ReservedVariable, ""},
		"ReservedFQDN":         {"upstream's third", openSSH(false), sets("OMPI_MCA_orte_keep_fqdn_hostnames"), true, diagnose.ReservedVariable, ""},
		"ReservedSlots":        {"upstream's fourth", openSSH(false), sets("OMPI_MCA_orte_set_default_slots"), true, diagnose.ReservedVariable, ""},
		"OtherVariable":        {"", openSSH(false), sets("CUSTOM_ENV"), false, "", ""},
		"Slots":                {"", openSSH(false), asks(trainer.Trainer{NumProcPerNode: ptr.To[int32](8)}), false, "", ""},
		"NoLauncherTwoNodes":   {"nobody starts the ranks", without(mpi.LauncherJob), nodes(2), true, diagnose.InvalidRuntime, ""},
		"NoNodeTwoNodes":       {"there is nowhere to run", without(mpi.NodeJob), nodes(2), true, diagnose.InvalidRuntime, ""},
		"NoLauncherOneNode":    {"nobody starts the rank", without(mpi.LauncherJob), nodes(1), false, diagnose.InvalidRuntime, "NeedsBoth"},
		"NoNodes":              {"there is nothing to run", openSSH(false), nodes(0), false, diagnose.InvalidWorld, "NeedsNodes"},
		"UnknownReplicatedJob": {"a patch for nothing is a mistake", openSSH(false), patchOf(trainer.ReplicatedJobPatch{Name: "invalid"}), true, diagnose.InvalidPatch, ""},
		"UnknownContainer":     {"it would be a container without an image", openSSH(false), patchOf(podPatch(mpi.NodeJob, trainer.PodSpecPatch{Containers: container})), true, diagnose.InvalidPatch, ""},
		"UnknownInitContainer": {"the same", openSSH(false), patchOf(podPatch(mpi.NodeJob, trainer.PodSpecPatch{InitContainers: container})), true, diagnose.InvalidPatch, ""},
		"VariableInPatch":      {"it is merged where upstream's webhook is not installed", openSSH(false), patchOf(podPatch(mpi.NodeJob, trainer.PodSpecPatch{Containers: variable})), true, "", "PatchedVariables"},
		"Initializer":          {"the runtime has no job for it", openSSH(false), initializer, true, diagnose.InitializerUnsupported, ""},
		"InitializerPrepared":  {"the runtime has one", prepared, initializer, false, "", ""},
		"InitializerClaims":    {"they come with the JobSet", claims, initializer, false, diagnose.InitializerUnsupported, "EarlyInitializers"},
		"LongestName":          {"63 characters are admitted, but no pod could be named after it", openSSH(false), func(j *trainer.TrainJob) { j.Name = strings.Repeat("a", 63) }, false, diagnose.NameTooLong, "LongNames"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			_, err := job.Resolve(trainJobOf(tc.edit), *tc.runtime)
			var refused *job.Refusal
			if errors.As(err, &refused) != (tc.want != "") || refused != nil && refused.Reason != tc.want {
				t.Errorf("%s: want `%s`, got %v", tc.reason, tc.want, err)
			}
			if (tc.differs != "") != (tc.upstream != (err != nil)) {
				t.Errorf("%s: upstream refuses: %v, we refuse: %v", tc.reason, tc.upstream, err != nil)
			}
			explained(t, tc.differs)
		})
	}
}

// The conditions that upstream writes, and what becomes of the same JobSet here. What differs is in `ours`.
func TestConformanceOfConditions(t *testing.T) {
	suspended, resumed := string(metav1.ConditionTrue), string(metav1.ConditionFalse)
	of := func(edits ...func(*trainer.TrainJob)) observe.Observed { return started(trainJobOf(edits...)) }
	resumedAgo := func(ago time.Duration) func(*trainer.TrainJob) {
		return hasCondition(trainer.TrainJobSuspended, metav1.ConditionFalse, t0.Add(-ago))
	}
	launcher := podOf(mpi.LauncherJob, 0, died(t0, 3, "Error", ""))
	cases := map[string]struct {
		reason         string
		o              observe.Observed
		kind           string
		upstream, ours string
		differs        string
	}{
		"Suspended": {"", of(suspend), trainer.TrainJobSuspended, suspended + "/" + trainer.TrainJobSuspendedReason + "/TrainJob is suspended", "", ""},
		"Resumed": {
			"", of(hasCondition(trainer.TrainJobSuspended, metav1.ConditionTrue, t0)),
			trainer.TrainJobSuspended, resumed + "/" + trainer.TrainJobResumedReason + "/TrainJob is resumed", "", "",
		},
		"NeverSuspended": {"", of(), trainer.TrainJobSuspended, "", "", ""},
		"Complete": {
			"", jobSetHas(of(), jobset.JobSetCompleted, t0), trainer.TrainJobComplete,
			"True/AllJobsCompleted/said by JobSet", "True/Completed/the launcher succeeded", "OneText",
		},
		"Failed": {
			"what failed first", jobSetHas(withPods(of(), launcher), jobset.JobSetFailed, t0), trainer.TrainJobFailed,
			"True/FailedJobs/said by JobSet", "True/LauncherFailed/", "FirstCause",
		},
		"Unfinished": {"", of(), trainer.TrainJobFailed, "", "", ""},
		"Deadline": {
			"with the number", of(deadline(30)), trainer.TrainJobFailed,
			"True/" + trainer.TrainJobDeadlineExceededReason + "/TrainJob exceeded its active deadline", "True/DeadlineExceeded/the job took longer than its activeDeadlineSeconds of 30", "OneText",
		},
		"WithinTheDeadline":  {"", of(deadline(90)), trainer.TrainJobFailed, "", "", ""},
		"SuspendedDeadline":  {"the clock does not run", of(deadline(30), suspend), trainer.TrainJobFailed, "", "", ""},
		"DeadlineFromResume": {"the clock starts again", of(deadline(30), resumedAgo(10*time.Second)), trainer.TrainJobFailed, "", "", ""},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got, want := "", tc.upstream
			if c := apimeta.FindStatusCondition(statusOf(t, tc.o, nil).Conditions, tc.kind); c != nil {
				got = string(c.Status) + "/" + c.Reason + "/" + c.Message
			}
			if tc.ours != "" {
				want = tc.ours
			}
			if got != want && (tc.ours == "" || !strings.HasPrefix(got, want)) {
				t.Errorf("%s: upstream says %q, want %q, got %q", tc.reason, tc.upstream, want, got)
			}
			explained(t, tc.differs)
		})
	}
}

// A suspended job follows its runtimePatches, as upstream's does: in its JobSet, and in the pods' placement.
func TestConformanceOfSuspendedChanges(t *testing.T) {
	o := started(trainJobOf(suspend))
	o.JobSet.Annotations = map[string]string{"others": "stays"}
	patch := patchOf(podPatch(mpi.NodeJob, trainer.PodSpecPatch{NodeSelector: map[string]string{"updated": "selector"}}))
	patch(o.TrainJob)
	o.TrainJob.Spec.RuntimePatches[0].TrainingRuntimeSpec.Template.Metadata = &metav1.ObjectMeta{
		Labels: map[string]string{"testing": "label"}, Annotations: map[string]string{"testing": "annotation"},
	}
	updated := rescheduledTo(t, o)
	if updated == nil {
		t.Fatal("a suspended JobSet follows its TrainJob")
	}
	if diff := cmp.Diff(map[string]string{"others": "stays", "testing": "annotation"}, updated.Annotations); diff != "" || updated.Labels["testing"] != "label" {
		t.Errorf("its own labels %v and annotations: -want, +got:\n%s", updated.Labels, diff)
	}
	if got := job.ReplicatedJob(updated.Spec, mpi.NodeJob).Template.Spec.Template.Spec.NodeSelector["updated"]; got != "selector" {
		t.Errorf("nodes go where the patch says: %q", got)
	}
	o.JobSet = updated
	if again := rescheduledTo(t, o); again != nil {
		t.Errorf("and then there is nothing to write: %s", cmp.Diff(updated, again))
	}
	o.TrainJob.Spec.RuntimePatches[0].TrainingRuntimeSpec.Template.Metadata.Labels["testing"] = "another"
	if again := rescheduledTo(t, o); again == nil || again.Labels["testing"] != "another" {
		t.Errorf("a label alone is written too: %v", again)
	}
}

func rescheduledTo(t *testing.T, o observe.Observed) *jobset.JobSet {
	t.Helper()
	decision, err := decide.Decide(phase.DeriveFacts(o), nil)
	if err != nil {
		t.Fatal(err)
	}
	return decision.Update
}

// A JobSet whose ttlSecondsAfterFinished is over is gone; the TrainJob stays as it was.
func TestConformanceOfExpiredJobSets(t *testing.T) {
	trainJob := trainJobOf(hasCondition(trainer.TrainJobComplete, metav1.ConditionTrue, t0))
	trainJob.Status.JobsStatus = []trainer.JobStatus{{Name: mpi.LauncherJob, Succeeded: ptr.To[int32](1)}}
	o := observe.Observed{Now: t0, TrainJob: trainJob, Runtime: runtimeOf(false)}
	decision, err := decide.Decide(phase.DeriveFacts(o), nil)
	if err != nil {
		t.Fatal(err)
	}
	if len(decision.Create)+len(decision.Delete) > 0 {
		t.Errorf("nothing is made again: %+v", decision)
	}
	if diff := cmp.Diff(trainJob.Status, statusAfter(phase.DeriveFacts(o), decision, nil)); diff != "" {
		t.Errorf("its status stays: -before, +after:\n%s", diff)
	}
}

// TrainJobs of another manager are another's.
func TestConformanceOfManagedBy(t *testing.T) {
	for manager, ours := range map[string]bool{"trainer.kubeflow.org/trainjob-controller": true, "kueue.x-k8s.io/multikueue": false, "acme.com/custom": false} {
		if got := job.IsManagedHere(trainJobOf(func(j *trainer.TrainJob) { j.Spec.ManagedBy = &manager })); got != ours {
			t.Errorf("%s: ours %v, want %v", manager, got, ours)
		}
	}
	if !job.IsManagedHere(trainJobOf()) {
		t.Error("without a manager it is ours")
	}
}
