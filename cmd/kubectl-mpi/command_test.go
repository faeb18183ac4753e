package main

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	jobset "sigs.k8s.io/jobset/api/jobset/v1alpha2"

	jobv1 "lockstep.dev/lockstep/api/job/v1"
	trainer "lockstep.dev/lockstep/api/trainer/v1alpha1"
	"lockstep.dev/lockstep/pkg/jobs/fetch"
	"lockstep.dev/lockstep/pkg/jobs/view"
	"lockstep.dev/lockstep/pkg/mpi"
	"lockstep.dev/lockstep/pkg/mpi/job"
)

// vector is a state of test/vectors.
type vector struct {
	Name string `json:"name"`
	In   struct {
		TrainJob *trainer.TrainJob `json:"trainJob"`
		Runtime  *job.Runtime      `json:"runtime"`
		JobSet   *jobset.JobSet    `json:"jobSet"`
		Pods     []corev1.Pod      `json:"pods"`
	} `json:"in"`
	Want struct {
		Phase   jobv1.Phase      `json:"phase"`
		Cause   *view.Cause      `json:"cause"`
		Message string           `json:"message"`
		LogsURL string           `json:"logsURL"`
		Columns view.ListColumns `json:"columns"`
	} `json:"want"`
}

func vectors(t *testing.T) []vector {
	t.Helper()
	text, err := os.ReadFile("../../test/vectors/jobs.json")
	if err != nil {
		t.Fatal(err)
	}
	var list []vector
	if err := json.Unmarshal(text, &list); err != nil {
		t.Fatal(err)
	}
	return list
}

// objects are those of a state as an API server has them.
func (v vector) objects() []client.Object {
	objects := []client.Object{v.In.TrainJob}
	if v.In.Runtime != nil {
		objects = append(objects, &trainer.ClusterTrainingRuntime{
			ObjectMeta: metav1.ObjectMeta{Name: v.In.TrainJob.Spec.RuntimeRef.Name, Labels: v.In.Runtime.Labels, Annotations: v.In.Runtime.Annotations}, Spec: v.In.Runtime.Spec,
		})
	}
	if v.In.JobSet != nil {
		v.In.JobSet.Namespace = v.In.TrainJob.Namespace
		objects = append(objects, v.In.JobSet)
	}
	for i := range v.In.Pods {
		pod := &v.In.Pods[i]
		pod.Namespace = v.In.TrainJob.Namespace
		pod.Labels[mpi.JobSetNameLabel] = v.In.TrainJob.Name
		if pod.DeletionTimestamp != nil {
			pod.Finalizers = []string{"test/kept"} // or the fake has none
		}
		objects = append(objects, pod)
	}
	return objects
}

// terminal is a run of the program.
type terminal struct {
	code        int
	out, errOut string
}

// runWith runs a command line against objects; calls may be changed by interceptors.
func runWith(t *testing.T, objects []client.Object, calls interceptor.Funcs, args ...string) terminal {
	t.Helper()
	return runFor(t, t.Context(), clientOf(t, objects, calls), args...)
}

func clientOf(t *testing.T, objects []client.Object, calls interceptor.Funcs) client.WithWatch {
	t.Helper()
	scheme, err := fetch.Scheme()
	if err != nil {
		t.Fatal(err)
	}
	return fake.NewClientBuilder().WithScheme(scheme).WithObjects(objects...).WithInterceptorFuncs(calls).Build()
}

func runFor(t *testing.T, ctx context.Context, c client.WithWatch, args ...string) terminal {
	t.Helper()
	var out, errOut bytes.Buffer
	k := newKube(genericiooptions.IOStreams{In: strings.NewReader(""), Out: &out, ErrOut: &errOut})
	k.reader = c
	t.Setenv("KUBECONFIG", "/dev/null")
	code := run(ctx, append(args, "--namespace", "team"), k)
	return terminal{code, out.String(), errOut.String()}
}

// TestWordsAreThoseOfTheCondition: in every state of test/vectors the same reason and text are in the JSON, in `why` and in `describe`.
func TestWordsAreThoseOfTheCondition(t *testing.T) {
	for _, v := range vectors(t) {
		t.Run(v.Name, func(t *testing.T) {
			objects := v.objects()
			got := runWith(t, objects, interceptor.Funcs{}, "get", "demo", "-o", "json")
			var j view.Job
			if err := json.Unmarshal([]byte(got.out), &j); err != nil || got.code != 0 {
				t.Fatalf("get ended with %d: %v\n%s%s", got.code, err, got.out, got.errOut)
			}
			if j.Phase != v.Want.Phase {
				t.Errorf("the phase is %s, want %s", j.Phase, v.Want.Phase)
			}
			for _, command := range []string{"why", "describe"} {
				shown := runWith(t, objects, interceptor.Funcs{}, command, "demo")
				if shown.code != 0 || !strings.HasPrefix(shown.out, "demo: "+string(v.Want.Phase)) {
					t.Errorf("%s ended with %d: %s%s", command, shown.code, shown.out, shown.errOut)
				}
				if want := v.Want.Cause; want != nil && (!strings.Contains(shown.out, want.Reason+": "+want.Message) || want.Remedy != "" && !strings.Contains(shown.out, want.Remedy)) {
					t.Errorf("%s does not say %s `%s`:\n%s", command, want.Reason, want.Text, shown.out)
				}
				if !strings.Contains(shown.out, v.Want.LogsURL) {
					t.Errorf("%s does not lead to %s:\n%s", command, v.Want.LogsURL, shown.out)
				}
			}
			if want := v.Want.Cause; want != nil && (j.Cause == nil || j.Cause.Text != want.Text || j.Cause.Reason != want.Reason) {
				t.Errorf("JSON has the cause %+v, want %+v", j.Cause, want)
			}
		})
	}
}

// job is a TrainJob of a list.
func jobOf(name string, edits ...func(*trainer.TrainJob)) *trainer.TrainJob {
	trainJob := &trainer.TrainJob{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "team", UID: types.UID("uid-" + name), CreationTimestamp: metav1.NewTime(time.Now().Add(-time.Hour))},
		Spec:       trainer.TrainJobSpec{RuntimeRef: trainer.RuntimeRef{Name: "torch"}},
	}
	for _, edit := range edits {
		edit(trainJob)
	}
	return trainJob
}

func ended(kind, reason, message string) func(*trainer.TrainJob) {
	return func(trainJob *trainer.TrainJob) {
		trainJob.Status.Conditions = []metav1.Condition{{Type: kind, Status: metav1.ConditionTrue, Reason: reason, Message: message, LastTransitionTime: metav1.Now()}}
	}
}

func TestList(t *testing.T) {
	objects := []client.Object{
		jobOf("a", ended(trainer.TrainJobComplete, "Completed", "done"), func(t *trainer.TrainJob) { t.Annotations = map[string]string{view.UserAnnotation: "jane"} }),
		jobOf("b", ended(trainer.TrainJobFailed, "JobsFailed", "said by JobSet"), func(t *trainer.TrainJob) { t.Labels = map[string]string{"team": "x"} }),
		jobOf("c", func(t *trainer.TrainJob) { t.Spec.Suspend = ptr.To(true); t.Spec.RuntimeRef.Name = "other" }),
		&trainer.ClusterTrainingRuntime{ObjectMeta: metav1.ObjectMeta{Name: "torch", Labels: map[string]string{mpi.FrameworkLabel: "torch"}}},
	}
	for name, c := range map[string]struct {
		args []string
		want []string
	}{
		"all":          {nil, []string{"a", "b", "c"}},
		"failed":       {[]string{"--status", "failed"}, []string{"b"}},
		"two phases":   {[]string{"--status", "Complete,suspended"}, []string{"a", "c"}},
		"of a label":   {[]string{"-l", "team=x"}, []string{"b"}},
		"of a runtime": {[]string{"--runtime", "other"}, []string{"c"}},
	} {
		got := runWith(t, objects, interceptor.Funcs{}, append([]string{"list", "-o", "jsonpath={.items[*].name}"}, c.args...)...)
		if got.code != 0 || got.out != strings.Join(c.want, " ") {
			t.Errorf("%s: `%s`, want %v (%d, %s)", name, got.out, c.want, got.code, got.errOut)
		}
	}
	shown := runWith(t, objects, interceptor.Funcs{}, "list").out
	if lines := strings.Split(strings.TrimSpace(shown), "\n"); len(lines) != 4 || !strings.HasPrefix(lines[0], "NAME") || !strings.Contains(lines[2], "Failed: JobsFailed") {
		t.Errorf("the table is\n%s", shown)
	}
	if got := runWith(t, objects, interceptor.Funcs{}, "list", "-o", "name"); got.out != "trainjob/a\ntrainjob/b\ntrainjob/c\n" {
		t.Errorf("the names are %q", got.out)
	}
}

// TestEventsOfASecond: they come in the order in which they happened, also where an older form of their time has whole seconds.
func TestEventsOfASecond(t *testing.T) {
	objects := []client.Object{jobOf("a")}
	for i, reason := range []string{"Submitted", "GangScheduling", "PodsReady", "TrainingStarted"} {
		at := time.Now().Add(time.Hour).Truncate(time.Second) // of this job, and not of one before
		second := metav1.NewTime(at)
		objects = append(objects, &corev1.Event{
			ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: reason}, InvolvedObject: corev1.ObjectReference{Kind: "TrainJob", Name: "a"},
			Reason: reason, EventTime: metav1.NewMicroTime(at.Add(time.Duration(i+1) * time.Microsecond)), FirstTimestamp: second, LastTimestamp: second,
		})
	}
	if got := runWith(t, objects, interceptor.Funcs{}, "events", "a", "-o", "jsonpath={.items[*].reason}"); got.out != "Submitted GangScheduling PodsReady TrainingStarted" {
		t.Errorf("%d: %s%s", got.code, got.out, got.errOut)
	}
}

// TestRuntimes: those of the tenant are offered, with what the platform says of each.
func TestRuntimes(t *testing.T) {
	var objects []client.Object
	for name, labels := range map[string]map[string]string{
		"a": {mpi.FrameworkLabel: "mpi", mpi.ImplementationLabel: "MPICH", mpi.VersionLabel: "4.2.1", "lockstep.dev/default": "true", mpi.CertifiedLabel: "2026-11-26"},
		"b": {"trainer.kubeflow.org/support": "deprecated"},
		"c": nil,
		"d": nil,
	} {
		objects = append(objects, &trainer.ClusterTrainingRuntime{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels, Annotations: map[string]string{
			mpi.MaxNodesAnnotation: "8", mpi.MachineAnnotation: "cpu=96,memory=1Ti,nvidia.com/gpu=8",
			mpi.DescriptionAnnotation: "For tests.", mpi.DocumentationAnnotation: "https://docs.example.com",
		}}})
	}
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "team", Annotations: map[string]string{"lockstep.dev/runtimes": "a,b", "lockstep.dev/external-runtimes": "c"}}}
	got := runWith(t, append(objects, namespace), interceptor.Funcs{}, "runtimes")
	for _, want := range []string{
		"a (default)      MPICH 4.2.1   -       8", "b (deprecated)", "c   ", "\nruntime `b` is deprecated\n",
	} {
		if !strings.Contains(got.out, want) || strings.Contains(got.out, "\nd") || got.errOut != "" {
			t.Errorf("want %q: %s%s", want, got.out, got.errOut)
		}
	}
	namespace.Annotations["lockstep.dev/max-container"] = "memory=4Gi"
	limited := runWith(t, append(objects, namespace), interceptor.Funcs{}, "runtimes", "-o", "jsonpath={.runtimes[0].most}")
	if limited.out != "cpu 96, memory 4Gi, nvidia.com/gpu 8" {
		t.Errorf("a node may ask for %s%s", limited.out, limited.errOut)
	}
	if wide := runWith(t, append(objects, namespace), interceptor.Funcs{}, "runtimes", "-o", "wide"); !strings.Contains(wide.out, "CERTIFIED") || !strings.Contains(wide.out, "For tests.    https://docs.example.com") || !strings.Contains(wide.out, "2026-11-26   ClusterTrainingRuntime") {
		t.Error(wide.out)
	}
	unlimited := runWith(t, objects, interceptor.Funcs{}, "runtimes", "-o", "name")
	if unlimited.out != "ClusterTrainingRuntime/a\nClusterTrainingRuntime/b\nClusterTrainingRuntime/c\nClusterTrainingRuntime/d\n" {
		t.Error(unlimited.out)
	}
}

// TestOtherFrameworks: a job of a runtime without MPI is shown by the same commands, and what only its framework knows is not guessed.
func TestOtherFrameworks(t *testing.T) {
	torch := &trainer.ClusterTrainingRuntime{
		ObjectMeta: metav1.ObjectMeta{Name: "torch", Labels: map[string]string{mpi.FrameworkLabel: "torch"}},
		Spec:       trainer.TrainingRuntimeSpec{MLPolicy: &trainer.MLPolicy{NumNodes: ptr.To[int32](2), MLPolicySource: trainer.MLPolicySource{Torch: &trainer.TorchMLPolicySource{}}}},
	}
	c := clientOf(t, []client.Object{jobOf("a"), torch}, interceptor.Funcs{})
	for command, want := range map[string]string{
		"list": "torch     Creating", "get a": "torch", "describe a": "torch (torch)", "why a": "Ask an admin whether Trainer runs", "runtimes": "torch   torch",
		"preflight b --runtime torch -- python train.py": "not seen  room: how many pods a job of runtime `torch` has, only its framework knows",
	} {
		if got := runFor(t, t.Context(), c, strings.Fields(command)...); got.code != 0 || !strings.Contains(got.out, want) {
			t.Errorf("%s ended with %d: %s%s", command, got.code, got.out, got.errOut)
		}
	}
	newJob := jobOf("new")
	newJob.CreationTimestamp = metav1.Now()
	got := runWith(t, []client.Object{newJob, torch}, interceptor.Funcs{}, "why", "new")
	if !strings.Contains(got.out, "wait a little, and ask again") {
		t.Errorf("a new job: %s%s", got.out, got.errOut)
	}
	k := newKube(genericiooptions.IOStreams{})
	k.reader = c
	if _, _, err := k.findPodRole(t.Context(), jobOf("a"), execFlags{rank: 1, node: -1}); !isUsage(err) || !strings.Contains(err.Error(), "--node") {
		t.Error(err)
	}
}

// TestColumnsStay: rows of a watch that come later stand below those before them.
func TestColumnsStay(t *testing.T) {
	var out strings.Builder
	var widths columnWidths
	for _, rows := range [][][]string{{{"NAME", "STATE"}, {"a-longer-name", "Running"}}, {{"ä", "Complete"}}} {
		if err := widths.writeRows(&out, rows); err != nil {
			t.Fatal(err)
		}
	}
	if want := "NAME            STATE\na-longer-name   Running\nä               Complete\n"; out.String() != want {
		t.Errorf("%q", out.String())
	}
}

// TestNothingMovesTheCursor: what others have written into a job is shown, and obeyed by no terminal.
func TestNothingMovesTheCursor(t *testing.T) {
	rude := jobOf("a", ended(trainer.TrainJobFailed, "JobsFailed", "red \x1b[31malert\x1b[0m\x07. What to do: look\x1b[2J"), func(t *trainer.TrainJob) {
		t.Annotations = map[string]string{view.UserAnnotation: "ja\tne\x1b]0;title\x07"}
	})
	for command, want := range map[string]string{"list -o wide": "ja ne", "describe a": "JobsFailed: red alert", "why a": "What to do: look\n"} {
		if got := runWith(t, []client.Object{rude}, interceptor.Funcs{}, strings.Fields(command)...); strings.ContainsAny(got.out+got.errOut, "\x1b\x07") || !strings.Contains(got.out, want) {
			t.Errorf("%s: %q", command, got.out+got.errOut)
		}
	}
}

func forbidden(user, verb, resource string) error {
	return &apierrors.StatusError{ErrStatus: metav1.Status{
		Status: metav1.StatusFailure, Code: 403, Reason: metav1.StatusReasonForbidden,
		Message: resource + `.trainer.kubeflow.org is forbidden: User "` + user + `" cannot ` + verb + ` resource "` + resource + `" in API group "trainer.kubeflow.org" in the namespace "team"`,
	}}
}

// TestErrors: what the API server says is told in plain words, with what to do, and with an exit code of its own.
func TestErrors(t *testing.T) {
	quota := &corev1.ResourceQuota{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "q", Labels: map[string]string{mpi.TenantLabel: "cv"}}}
	objects := []client.Object{jobOf("train"), quota}
	denies := func(err error) interceptor.Funcs {
		return interceptor.Funcs{
			List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, options ...client.ListOption) error {
				if list.GetObjectKind().GroupVersionKind().Group == fetch.PodMetricsKind.Group {
					return apierrors.NewNotFound(schema.GroupResource{Group: fetch.PodMetricsKind.Group, Resource: "pods"}, "")
				}
				return c.List(ctx, list, options...)
			},
			Patch: func(context.Context, client.WithWatch, client.Object, client.Patch, ...client.PatchOption) error {
				return err
			},
		}
	}
	policy := apierrors.NewForbidden(schema.GroupResource{Group: "trainer.kubeflow.org", Resource: "trainjobs"}, "train", errOf("ValidatingAdmissionPolicy 'jobs' denied request: too large"))
	full := apierrors.NewForbidden(schema.GroupResource{Group: "trainer.kubeflow.org", Resource: "trainjobs"}, "train", errOf("exceeded quota: q, requested: count/trainjobs.trainer.kubeflow.org=1, used: 9, limited: 9"))
	for name, c := range map[string]struct {
		err  error
		args []string
		code int
		want string
	}{
		"a right is missing": {forbidden("jane", "patch", "trainjobs"), []string{"suspend", "train"}, exitForbidden, "User 'jane' lacks 'patch' permission for trainjobs in namespace 'team'"},
		"who gives it":       {forbidden("jane", "patch", "trainjobs"), []string{"suspend", "train"}, exitForbidden, "editors of tenant `cv` may do this: ask its admins"},
		"a policy refuses":   {policy, []string{"suspend", "train"}, exitRefused, "the API server refuses it: too large"},
		"no tenant's right":  {forbidden("jane", "patch", "mpijobs"), []string{"suspend", "train"}, exitForbidden, "No role of a tenant gives this right: ask an admin of the cluster"},
		"too many jobs":      {full, []string{"suspend", "train"}, exitRefused, "`kubectl mpi list --status complete,failed --namespace team` lists them, and `kubectl mpi delete --finished --namespace team`"},
		"an expired token":   {apierrors.NewUnauthorized("no"), []string{"suspend", "train"}, exitForbidden, "does not know you"},
		"a name is near":     {nil, []string{"get", "trian"}, 1, "there is no TrainJob `trian`. Did you mean `train`?"},
		"a name is far":      {nil, []string{"get", "zzz"}, 1, "there are train"},
		"over already":       {nil, []string{"resume", "train"}, 0, "is not suspended already"},
		"no such format":     {nil, []string{"get", "train", "-o", "xml"}, 2, "for `--output`"},
		"a bad template":     {nil, []string{"get", "train", "-o", "jsonpath={.a"}, 2, "not a jsonpath template"},
		"a bad selector":     {nil, []string{"list", "-l", "a in"}, 2, "for `--selector`"},
		"no such wait":       {nil, []string{"wait", "train", "--for", "ever"}, 2, "for `--for`"},
		"a negative timeout": {nil, []string{"wait", "train", "--timeout", "-1s"}, 2, "--timeout is -1s"},
		"no metrics":         {nil, []string{"top", "train"}, 1, "metrics.k8s.io"},
	} {
		got := runWith(t, objects, denies(c.err), c.args...)
		if got.code != c.code || !strings.Contains(got.out+got.errOut, c.want) {
			t.Errorf("%s: ended with %d, want %d and `%s`: %s%s", name, got.code, c.code, c.want, got.out, got.errOut)
		}
	}
}

// TestWhoGives: the roles that are named are those that the compiler gives the rights.
func TestWhoGives(t *testing.T) {
	text, err := os.ReadFile("../../pkg/compile/lower/cluster_role.go")
	if err != nil {
		t.Fatal(err)
	}
	role, given := "", 0
	for line := range strings.Lines(string(text)) {
		for name, of := range map[string]string{"func viewerRules": "viewers", "func editorRules": "editors", "func adminRules": "admins", "func shellRights": "shell", "func secretRights": "secrets", "func (b *builder) sharedObjects(": "viewers", "func (b *builder) aggregated": ""} {
			if strings.HasPrefix(line, name) {
				role = of
			}
		}
		rule := regexp.MustCompile(`(?:roleRule\("[^"]*"|historyRules\(c), (.*)\)`).FindStringSubmatch(line)
		if rule == nil || role == "" || strings.HasPrefix(line, "func ") {
			continue
		}
		words := regexp.MustCompile(`"([a-z/]+)"`).FindAllStringSubmatch(rule[1], -1)
		for _, verb := range []string{"get", "create", "delete"} {
			said := slices.ContainsFunc(words, func(w []string) bool { return w[1] == verb }) || verb == "get" && strings.HasPrefix(rule[1], "read") || verb != "get" && strings.HasPrefix(rule[1], "write")
			for _, w := range words {
				if !said || slices.Contains([]string{"get", "list", "create", "update", "delete"}, w[1]) {
					continue
				}
				if given++; roleManifest(verb, w[1]) != role {
					t.Errorf("%s %s is given by `%s`, and it is said to be `%s`", verb, w[1], role, roleManifest(verb, w[1]))
				}
			}
		}
	}
	if given < 20 {
		t.Errorf("%d rights were read", given)
	}
	for _, right := range [][2]string{{"list", "mpijobs"}, {"create", "clustertrainingruntimes"}, {"get", "secrets"}, {"list", "nodes"}} {
		if got := roleManifest(right[0], right[1]); got != "" {
			t.Errorf("`%s` are said to give %v", got, right)
		}
	}
}

type errOf string

func (e errOf) Error() string { return string(e) }

// TestRoom: of a job that waits, `why` says how much of it would fit now.
func TestRoom(t *testing.T) {
	all := vectors(t)
	at := slices.IndexFunc(all, func(v vector) bool { return v.Name == "QueuesAndIsPreempted 1" })
	if at < 0 {
		t.Fatal("there is no such state")
	}
	for name, c := range map[string]struct{ used, want string }{
		"all of it": {"1", "room for all of it now"},
		"a part":    {"2", "Of its nodes 1 would fit now: `kubectl mpi clone demo --set nodes=1 --namespace team`"},
		"nothing":   {"3", "Not even the smallest job"},
	} {
		quota := &corev1.ResourceQuota{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "q"}, Status: corev1.ResourceQuotaStatus{
			Hard: corev1.ResourceList{corev1.ResourcePods: resource.MustParse("3")}, Used: corev1.ResourceList{corev1.ResourcePods: resource.MustParse(c.used)},
		}}
		if got := runWith(t, append(all[at].objects(), quota), interceptor.Funcs{}, "why", "demo"); got.code != 0 || !strings.Contains(got.out, c.want) {
			t.Errorf("%s: %d, %s%s", name, got.code, got.out, got.errOut)
		}
	}
}

// TestTopWithoutTheRight: whoever may not read what pods use sees which pods there are, whose ranks they run, and what he lacks.
func TestTopWithoutTheRight(t *testing.T) {
	all := vectors(t)
	at := slices.IndexFunc(all, func(v vector) bool { return v.Name == "Completes 3" })
	if at < 0 {
		t.Fatal("there is no such state")
	}
	calls := interceptor.Funcs{List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, options ...client.ListOption) error {
		if list.GetObjectKind().GroupVersionKind().Group == fetch.PodMetricsKind.Group {
			return forbidden("jane", "list", "pods")
		}
		return c.List(ctx, list, options...)
	}}
	got := runWith(t, all[at].objects(), calls, "top", "demo")
	if got.code != 0 || !strings.Contains(got.out, "demo-node-0-0") || !strings.Contains(got.out, "2-3") || !strings.Contains(got.errOut, "(metrics.k8s.io): User 'jane' lacks 'list' permission for pods") {
		t.Errorf("%d, %s%s", got.code, got.out, got.errOut)
	}
}
