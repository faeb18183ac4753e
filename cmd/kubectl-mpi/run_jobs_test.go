package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	jobv1 "lockstep.dev/lockstep/api/job/v1"
	trainer "lockstep.dev/lockstep/api/trainer/v1alpha1"
	"lockstep.dev/lockstep/pkg/jobs/compare"
	"lockstep.dev/lockstep/pkg/jobs/logs"
	"lockstep.dev/lockstep/pkg/mpi"
	"lockstep.dev/lockstep/pkg/mpi/template"
)

const team = "/namespaces/team/"

// apiServer answers with what it is given by path, and forbids all else.
type apiServer struct {
	*httptest.Server
	objects map[string]any
	// posted are the bodies of what was made, with the query behind the path.
	posted map[string]string
	refuse *apierrors.StatusError
	// refused is in what is refused; empty for all.
	refused string
	// warning is sent with every answer, policyWarning with those about what is made.
	warning, policyWarning string
	// made, if there is one, is told of each TrainJob that is made.
	made func(name string)
	// deleted are the paths of what was deleted.
	deleted []string
}

func newAPIServer(t *testing.T) *apiServer {
	t.Helper()
	s := &apiServer{objects: map[string]any{}, posted: map[string]string{}}
	s.Server = httptest.NewServer(http.HandlerFunc(s.serve))
	t.Cleanup(s.Close)
	return s
}

func (s *apiServer) serve(w http.ResponseWriter, r *http.Request) {
	if s.warning != "" {
		w.Header().Set("Warning", fmt.Sprintf("299 - %q", s.warning))
	}
	if r.Method == http.MethodPost {
		if s.policyWarning != "" {
			w.Header().Set("Warning", fmt.Sprintf("299 - %q", s.policyWarning))
		}
		body, _ := io.ReadAll(r.Body)
		s.posted[r.URL.RequestURI()] = string(body)
		if s.refuse != nil && strings.Contains(string(body), s.refused) {
			reply(w, int(s.refuse.ErrStatus.Code), s.refuse.ErrStatus)
			return
		}
		var object map[string]any
		_ = json.Unmarshal(body, &object)
		if strings.HasSuffix(r.URL.Path, "/selfsubjectreviews") { // asked in protobuf
			object = map[string]any{"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview", "status": map[string]any{"userInfo": map[string]any{"username": "jane"}}}
		}
		s.noteCreated(object)
		reply(w, http.StatusCreated, object)
		return
	}
	if r.Method == http.MethodDelete {
		s.deleted = append(s.deleted, r.URL.Path)
	}
	object := s.objects[r.URL.Path]
	if next, is := object.(func() any); is { // what changes
		object = next()
	}
	switch object := object.(type) {
	case *apierrors.StatusError:
		reply(w, int(object.ErrStatus.Code), object.ErrStatus)
	case nil:
		status := apierrors.NewForbidden(schema.GroupResource{Resource: "things"}, "", errors.New(`User "jane" cannot get resource "things" in API group "" in the namespace "team"`)).ErrStatus
		status.TypeMeta = metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}
		reply(w, http.StatusForbidden, status)
	case string:
		_, _ = io.WriteString(w, object)
	default:
		reply(w, http.StatusOK, object)
	}
}

// noteCreated gives what is made an identity, and tells of it.
func (s *apiServer) noteCreated(object map[string]any) {
	metadata, is := object["metadata"].(map[string]any)
	if !is {
		return
	}
	metadata["uid"] = "uid-1"
	if s.made != nil && object["kind"] == "TrainJob" {
		s.made(metadata["name"].(string))
	}
}

func reply(w http.ResponseWriter, code int, object any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_ = json.NewEncoder(w).Encode(object)
}

// recordCause gives a job that failed the record of mpi-controller.
func (s *apiServer) recordCause(t *testing.T, name string, cause jobv1.Cause) {
	t.Helper()
	path := "/apis/trainer.kubeflow.org/v1alpha1" + team + "trainjobs/" + name
	trainJob := s.objects[path].(trainer.TrainJob) //nolint:forcetypeassert // it was put there
	text, err := json.Marshal(jobv1.Record{
		Version: jobv1.Version, UID: trainJob.UID, Executor: jobv1.Controller, Phase: jobv1.Failed, Cause: &cause,
	})
	if err != nil {
		t.Fatal(err)
	}
	trainJob.Annotations = map[string]string{jobv1.Annotation: string(text)}
	s.objects[path] = trainJob
}

// addJob adds a job that is over, and its runtime.
func (s *apiServer) addJob(t *testing.T, conditions ...metav1.Condition) {
	t.Helper()
	s.objects["/apis/trainer.kubeflow.org/v1alpha1"+team+"trainjobs/train"] = trainer.TrainJob{
		TypeMeta:   metav1.TypeMeta{APIVersion: trainer.GroupVersion.String(), Kind: "TrainJob"},
		ObjectMeta: metav1.ObjectMeta{Name: "train", Namespace: "team", UID: "uid"},
		Spec: trainer.TrainJobSpec{RuntimeRef: trainer.RuntimeRef{Name: "mpich-cpu"}, Trainer: &trainer.Trainer{
			Command: []string{"mpirun", "train"}, Env: []corev1.EnvVar{{Name: "API_TOKEN", Value: "a-token-of-mine"}},
		}},
		Status: trainer.TrainJobStatus{Conditions: conditions},
	}
	r := template.Runtime{Name: "mpich-cpu", Implementation: "MPICH", Version: "4.2", Annotations: map[string]string{mpi.MaxNodesAnnotation: "4"}}
	r.World.Nodes, r.World.SlotsPerNode = 2, 2
	built, err := r.Build()
	if err != nil {
		t.Fatal(err)
	}
	built.TypeMeta = metav1.TypeMeta{APIVersion: trainer.GroupVersion.String(), Kind: "ClusterTrainingRuntime"}
	const runtimes = "/apis/trainer.kubeflow.org/v1alpha1/clustertrainingruntimes"
	s.objects[runtimes+"/mpich-cpu"] = built
	s.objects[runtimes] = metav1.PartialObjectMetadataList{
		TypeMeta: metav1.TypeMeta{APIVersion: "meta.k8s.io/v1", Kind: "PartialObjectMetadataList"},
		Items:    []metav1.PartialObjectMetadata{{ObjectMeta: metav1.ObjectMeta{Name: "mpich-cpu"}}},
	}
	s.objects["/apis/trainer.kubeflow.org/v1alpha1"+team+"trainjobs"] = metav1.PartialObjectMetadataList{
		TypeMeta: metav1.TypeMeta{APIVersion: "meta.k8s.io/v1", Kind: "PartialObjectMetadataList"},
		Items:    []metav1.PartialObjectMetadata{{ObjectMeta: metav1.ObjectMeta{Name: "train"}}},
	}
	s.objects["/api/v1"+team+"pods"] = corev1.PodList{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "PodList"}}
}

// addPod adds a pod that has ended, with its log.
func (s *apiServer) addPod(name, role, log string) {
	list := s.objects["/api/v1"+team+"pods"].(corev1.PodList)
	list.Items = append(list.Items, corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "team", Labels: map[string]string{mpi.ReplicatedJobLabel: role, mpi.CompletionIndexLabel: "0"}},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: mpi.Container}}},
		Status: corev1.PodStatus{Phase: corev1.PodSucceeded, ContainerStatuses: []corev1.ContainerStatus{{
			Name: mpi.Container, State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{}},
		}}},
	})
	s.objects["/api/v1"+team+"pods"] = list
	s.objects["/api/v1"+team+"pods/"+name+"/log"] = log
}

// command runs a command line as somebody of the team.
func (s *apiServer) command(t *testing.T, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	k, out, errOut := s.kube(t, "")
	code = run(t.Context(), append([]string{"--server", s.URL, "--namespace", "team"}, args...), k)
	return code, out.String(), errOut.String()
}

// kube is without a kubeconfig, and with something on its standard input.
func (s *apiServer) kube(t *testing.T, in string) (k *kube, out, errOut *bytes.Buffer) {
	t.Helper()
	t.Setenv("KUBECONFIG", filepath.Join(t.TempDir(), "none"))
	out, errOut = &bytes.Buffer{}, &bytes.Buffer{}
	return newKube(genericiooptions.IOStreams{In: strings.NewReader(in), Out: out, ErrOut: errOut}), out, errOut
}

func TestCommandsOfJobs(t *testing.T) {
	over := metav1.Condition{Type: trainer.TrainJobComplete, Status: metav1.ConditionTrue, Reason: "x"}
	told := jobv1.Cause{Reason: "OOMKilled", Message: "Worker 1 failed", Lines: []string{"[1,3]<stderr>:no memory"}}
	failed := metav1.Condition{Type: trainer.TrainJobFailed, Status: metav1.ConditionTrue, Reason: "OOMKilled", Message: "Worker 1 failed\nLast lines:\n[1,3]<stderr>:no memory"}
	folder := t.TempDir()
	file := func(name, text string) string {
		path := filepath.Join(folder, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	goodText := "apiVersion: trainer.kubeflow.org/v1alpha1\nkind: TrainJob\nmetadata: {name: next}\nspec: {runtimeRef: {name: mpich-cpu}, trainer: {command: [train]}}\n"
	good := file("good.yaml", goodText)
	initializer := "spec: {initializer: {dataset: {storageUri: s3://b/set}}, "
	needy := file("needy.yaml", strings.Replace(goodText, "spec: {", initializer, 1))
	wrong := file("wrong.yaml", "apiVersion: trainer.kubeflow.org/v1alpha1\nkind: TrainJob\nmetadata: {name: next}\nspec:\n  runtimeRef: {name: mpich-cpu}\n  trainer:\n    numNodes: 9\n")
	long := strings.Repeat("n", 45)
	other := file("other.yaml", "apiVersion: trainer.kubeflow.org/v1alpha1\nkind: TrainJob\nmetadata: {name: next, namespace: other}\nspec: {runtimeRef: {name: mpich-cpu}, trainer: {command: [train]}}\n")
	two := file("two.yaml", "apiVersion: trainer.kubeflow.org/v1alpha1\nkind: TrainJob\nmetadata: {name: next}\nspec: {runtimeRef: {name: mpich-cpu}, trainer: {command: [train]}}\n---\n"+
		"apiVersion: trainer.kubeflow.org/v1alpha1\nkind: TrainJob\nmetadata: {name: second}\nspec: {runtimeRef: {name: mpich-cpu}, trainer: {command: [train]}}\n")
	file("script.py", "print()\n")
	policy := apierrors.NewForbidden(schema.GroupResource{Group: "trainer.kubeflow.org", Resource: "trainjobs"}, "next", nil)
	policy.ErrStatus.TypeMeta = metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}
	policy.ErrStatus.Message = "trainjobs.trainer.kubeflow.org \"next\" is forbidden: ValidatingAdmissionPolicy 'lockstep-trainjob' denied request: no"

	taken := apierrors.NewAlreadyExists(schema.GroupResource{Group: "trainer.kubeflow.org", Resource: "trainjobs"}, "next")
	taken.ErrStatus.TypeMeta = policy.ErrStatus.TypeMeta
	cases := map[string]struct {
		prepare      func(*apiServer)
		args         string
		code         int
		out, errText string
	}{
		"Logs":        {nil, "logs train", 0, "3| loss 1\nplain\n", ""},
		"LogsMerged":  {nil, "logs train --merge", 0, "launcher 3| loss 1\nnode-0| between\nlauncher| plain\n", ""},
		"LogsOfARank": {nil, "logs train --rank 3 -o json", 0, `"rank":3,"text":"loss 1"`, ""},
		"LogsNoTag":   {nil, "logs train --rank 0 --role node", 0, "", "no line so far names the rank"},
		"LogsTooMany": {nil, "logs train --merge --max-log-requests 1", 2, "", "2 logs would be read"},
		"LogsOddFlag": {nil, "logs train --include (", 2, "", "not a regular expression"},
		"LogsOddRole": {nil, "logs train --role worker", 2, "", "one of launcher, node, all"},
		"LogsOddTime": {nil, "logs train --since-time noon", 2, "", "2026-03-01T12:00:00Z"},
		"LogsNobody":  {nil, "logs", 2, "", "takes one job name, not 0"},
		"LogsRefused": {func(s *apiServer) {
			job := failedJob(metav1.Condition{Type: trainer.TrainJobFailed, Status: metav1.ConditionTrue, Reason: "InvalidWorld"})
			job.Labels = map[string]string{mpi.TrainJobLabel: "next"}
			s.objects["/apis/trainer.kubeflow.org/v1alpha1"+team+"trainjobs/next"] = job
			s.objects["/api/v1"+team+"pods"] = corev1.PodList{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "PodList"}}
		}, "logs next", 1, "", "`next` was refused and never had pods: `kubectl mpi why next --namespace team` says why"},
		"LogsGone":        {func(s *apiServer) { s.addJob(t, failed); s.recordCause(t, "train", told) }, "logs train", 0, "3| no memory\n", "the pods of `train` are gone"},
		"LogsGoneFine":    {func(s *apiServer) { s.addJob(t, over) }, "logs train", 1, "", "kubectl mpi describe train"},
		"LogsNotYet":      {func(s *apiServer) { s.addJob(t) }, "logs train", 1, "", "kubectl mpi why train"},
		"SubmitDry":       {nil, "submit next --nodes 2 --dry-run=client -- mpirun x", 0, "    name: mpich-cpu\n", ""},
		"SubmitFiles":     {nil, "submit next --files " + folder + " --dry-run=client -- python script.py", 0, "path: script.py", ""},
		"SubmitMade":      {nil, "submit next -o json -- mpirun x", 0, `"uid": "uid-1"`, ""},
		"SubmitNoDash":    {nil, "submit next mpirun x", 2, "", "put `--` before the command"},
		"SubmitNoName":    {nil, "submit -- mpirun x", 2, "", "the job has no name"},
		"SubmitOddName":   {nil, "submit Next -- x", 2, "", "cannot be the name"},
		"SubmitOddEnv":    {nil, "submit next --env A -- x", 2, "", "NAME=VALUE"},
		"SubmitNoSuch":    {nil, "submit next --runtime mpich-cpus -- x", 1, "", "did you mean `mpich-cpu`?"},
		"SubmitOddDry":    {nil, "submit next --dry-run=yes -- x", 2, "", "client or server"},
		"SubmitRefused":   {func(s *apiServer) { s.refuse = policy }, "submit next -- x", 6, "", "the API server refuses it: no"},
		"SubmitNever":     {nil, "submit next --nodes 9 --preflight -- x", 6, "", "at most 4"},
		"SubmitNoNodes":   {nil, "submit next --nodes 0 -- x", 2, "", "`--nodes` must be at least 1, not 0"},
		"SubmitNoFolder":  {nil, "submit next --files " + folder + "/none -- x", 1, "", "--files takes a folder: "},
		"SubmitOddUnit":   {nil, "submit next --resources memory=16GB -- x", 2, "", "`GB` is no unit of `memory=16GB`: write `16G` or `16Gi`"},
		"SubmitKB":        {nil, "submit next --resources memory=64KB -- x", 2, "", "`KB` is no unit of `memory=64KB`: write `64k` or `64Ki`"},
		"SubmitIBytes":    {nil, "submit next --resources memory=1.5GiB -- x", 2, "", "`GiB` is no unit of `memory=1.5GiB`: write `1.5G` or `1.5Gi`"},
		"SubmitGB":        {nil, "submit next --resources memory=1gb -- x", 2, "", "`gb` is no unit of `memory=1gb`: write `1G` or `1Gi`"},
		"SubmitBytes":     {nil, "submit next --resources memory=512 -- x", 2, "", "did you mean `memory=512Mi`?"},
		"SubmitMem":       {nil, "submit next --resources mem=1Gi -- x", 2, "", "there is no resource `mem`: it is one of cpu, memory, ephemeral-storage"},
		"SubmitOddAmount": {nil, "submit next --resources memory=lots -- x", 2, "", "is not RESOURCE=QUANTITY"},
		"DeleteNothing":   {nil, "delete", 2, "", "`delete` takes at least one job name, not 0"},
		"DiffOne":         {nil, "diff train", 2, "", "`diff` takes two job names, not 1"},
		"ListOne":         {nil, "list train", 2, "", "`list` takes no arguments, not 1"},
		"SubmitTwice":     {nil, "submit next --env A=1 --env A=2 -- x", 2, "", "the variable `A` is given twice"},
		"SubmitOnePlace":  {nil, "submit next --pvc a:/data --pvc b:/data -- x", 2, "", "the claims `a` and `b` cannot both be at /data"},
		"SubmitOverFiles": {nil, "submit next --files " + folder + " --pvc a:/workspace -- x", 2, "", "cannot be at /workspace"},
		"SubmitBackwards": {nil, "submit next --wait --timeout -1s -- x", 2, "", "--timeout is -1s"},
		"SubmitIdleWait":  {nil, "submit next --timeout 1s -- x", 2, "", "`--timeout` is for `--wait` and `--follow`"},
		"SubmitEmptyDry":  {nil, "submit next --dry-run -- x", 2, "", "`--dry-run` has no value"},
		"DeleteBackwards": {nil, "delete train --wait --timeout -1s", 2, "", "--timeout is -1s"},
		"DeleteIdleWait":  {nil, "delete train --timeout 1s", 2, "", "`--timeout` is for `--wait`"},
		"LogsTwoTimes":    {nil, "logs train --since 1m --since-time 2026-03-01T12:00:00Z", 2, "", "give one of them"},
		"LogsNoRank":      {nil, "logs train --rank 99", 1, "", "`train` has no such rank: it has ranks 0 to 3 at most"},
		"LogsOddRank":     {nil, "logs train --rank -1", 1, "", "`train` has no such rank"},
		"LogsSilentRank":  {nil, "logs train --rank 2", 0, "", ""},
		"ValidateEmpty":   {nil, "validate -f " + file("empty.yaml", "# nothing\n"), 1, "", "empty.yaml:1:1: error: the file has no TrainJob"},
		"CreateEmpty":     {nil, "create -f " + file("empty.yaml", "# nothing\n"), 1, "", "empty.yaml:1:1: error: the file has no TrainJob"},
		"CompleteRuntime": {nil, "__complete submit next --runtime mpi", 0, "mpich-cpu\n", ""},
		"CompleteSet":     {nil, "__complete clone train --set re", 0, "resources.\n", ""},
		"CompleteTrace":   {nil, "__complete submit next --trace tr", 0, "traffic\n", ""},
		"CloneOwnImage":   {nil, "clone train --set image= --dry-run=client -o jsonpath={.spec.trainer.image}", 0, "", ""},
		"CloneNoRuntime":  {nil, "clone train --set runtime=", 2, "", "a runtime has a name"},
		"SubmitLong":      {nil, "submit " + long + " -- mpirun x", 6, "", "has 45 characters, at most 44 are allowed"},
		"SubmitNoCommand": {nil, "submit next", 6, "", "nothing was made: the job has no command, and its runtime `mpich-cpu` brings none: give one after `--`"},
		"CloneLong":       {nil, "clone train " + long, 6, "", "at most 44"},
		"CreateLong":      {nil, "create -f " + file("long.yaml", strings.ReplaceAll(goodText, "next", long)), 6, "", "at most 44"},
		"CreateOneLong":   {nil, "create -f " + file("one-long.yaml", goodText+"---\n"+strings.ReplaceAll(goodText, "next", long)), 6, "", "nothing was made"},
		"ValidateLong":    {nil, "validate -f " + file("long.yaml", strings.ReplaceAll(goodText, "next", long)), 1, "", "long.yaml:3:18: error: the name"},
		"NoCommandIn":     {nil, "validate -f " + file("idle.yaml", strings.ReplaceAll(goodText, "train]", "]")), 1, "", "the job has no command"},
		"PreflightIdle":   {nil, "preflight next", 6, "the job has no command", "can never run"},
		"Create":          {nil, "create -f " + good + " -o name", 0, "trainjob/next\n", ""},
		"CreateNoFile":    {nil, "create -f " + good + "x", 1, "", "no such file"},
		"CreateAndWait": {func(s *apiServer) {
			s.objects["/apis/trainer.kubeflow.org/v1alpha1"+team+"trainjobs/next"] = failedJob(failed)
		}, "create -f " + good + " --wait", 3, "", "OOMKilled"},
		"WaitAsJSON": {func(s *apiServer) {
			s.objects["/apis/trainer.kubeflow.org/v1alpha1"+team+"trainjobs/next"] = failedJob(failed)
		}, "create -f " + good + " --wait -o jsonpath={.phase}", 3, "Failed", "OOMKilled"},
		"CreateAndFollow": {func(s *apiServer) {
			s.objects["/apis/trainer.kubeflow.org/v1alpha1"+team+"trainjobs/next"] = failedJob(failed)
			s.objects["/api/v1"+team+"pods"] = corev1.PodList{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "PodList"}}
		}, "create -f " + good + " --follow", 3, "", "OOMKilled"},
		"SubmitOffline":    {func(s *apiServer) { s.Close() }, "submit next --runtime openmpi --dry-run=client -- mpirun x", 0, "    name: openmpi\n", "no cluster was asked whether it has runtime `openmpi`: cannot reach"},
		"SubmitOfflineAny": {func(s *apiServer) { s.Close() }, "submit next --dry-run=client -- mpirun x", 1, "", "cannot reach"},
		"CreateTaken":      {func(s *apiServer) { s.refuse = taken }, "create -f " + good, 1, "", "there is a TrainJob `next` already. Choose another name, or give `submit --replace` once it is over, or `submit --numbered`; `kubectl mpi clone next --namespace team` runs the old one again"},
		"ValidateTaken":    {func(s *apiServer) { s.refuse = taken }, "validate -f " + good, 0, "1 TrainJob, no mistakes", ""},
		"CreateSome":       {func(s *apiServer) { s.refuse, s.refused = policy, `"second"` }, "create -f " + two, 6, "trainjob/next created in namespace team\n", "refuses it: no"},
		"CreateElsewhere":  {nil, "create -f " + other, 1, "", "other.yaml:3:35: error: metadata.namespace is `other`, and --namespace says `team`"},
		"CreateTooLarge":   {nil, "create -f /dev/zero", 1, "", "more than 16 MiB"},
		"Clone":            {nil, "clone train --set nodes=4 --dry-run=client", 0, "name: train-2", ""},
		"CloneCommand":     {nil, "clone train again --dry-run=client -- mpirun other", 0, "- other", ""},
		"CloneOddSet":      {nil, "clone train --set colour=red", 2, "", "cannot be set"},
		"Diff":             {nil, "diff train train", 0, "nothing differs", ""},
		"Validate":         {nil, "validate -f " + good, 0, "1 TrainJob, no mistakes", ""},
		"ValidateNeeds": {func(s *apiServer) {
			const claim = "persistentvolumeclaims/lockstep-data"
			s.objects["/api/v1"+team+claim] = apierrors.NewNotFound(schema.GroupResource{}, "lockstep-data")
		}, "validate -f " + needy, 0, "1 TrainJob, no mistakes",
			"namespace `team` has no PersistentVolumeClaim `lockstep-data`\n  help: ask the"},
		"HistoryNot": {func(s *apiServer) {
			s.objects["/apis/history.lockstep.dev"] = apierrors.NewNotFound(schema.GroupResource{}, "")
		}, "history", 1, "", "this cluster keeps no history of jobs"},
		"HistoryForbidden": {nil, "history", 5, "", "'jane' lacks 'get' permission"},
		"ValidateWrong":    {nil, "validate -f " + wrong, 1, "", "wrong.yaml:7:15: error: numNodes is 9, this runtime allows at most 4"},
		"ValidatePolicy":   {func(s *apiServer) { s.refuse = policy }, "validate -f " + good, 1, "", "refuses it: no"},
		"Preflight":        {nil, "preflight -f " + good, 0, "fits now", ""},
		"PreflightNever":   {nil, "preflight -f " + wrong, 6, "never", "can never run"},
		"PreflightWhat":    {nil, "preflight", 2, "", "say which job"},
		"CloneFiles":       {nil, "clone train --files " + folder + " --dry-run=client", 0, "path: ", ""},
		"CpNoPath":         {nil, "cp train", 2, "", "`train` is not JOB:PATH with a path from the root, such as `train:/results/model.pt`"},
		"CpIn":             {nil, "cp . train:/results", 2, "", "`cp` only copies out of a job"},
		"CpNoPlace":        {nil, "cp train:/a " + folder + "/none/there", 1, "", "cannot write to"},
		"CpNotRun":         {nil, "cp train:/a", 1, "", "`train` has not run, so it has no files: `kubectl mpi why train --namespace team` says why"},
		"ExecForbidden":    {nil, "exec train -- ls", 5, "", "User 'jane' lacks 'create' permission for pods/exec in namespace 'team'"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			s := newAPIServer(t)
			s.addJob(t, over)
			s.addPod("train-launcher-0", mpi.LauncherJob, "2026-03-01T12:00:01Z [1,3]<stdout>:loss 1\n2026-03-01T12:00:03Z plain\n")
			s.addPod("train-node-0", mpi.NodeJob, "2026-03-01T12:00:02Z between\n")
			if tc.prepare != nil {
				tc.prepare(s)
			}
			code, out, errText := s.command(t, strings.Fields(tc.args)...)
			if code != tc.code || !strings.Contains(out, tc.out) || !strings.Contains(errText, tc.errText) {
				t.Errorf("code %d\nstdout: %s\nstderr: %s", code, out, errText)
			}
		})
	}
}

// TestFollowsWhatHasNoPods: whoever follows a job that waits is told so, and how to come back when he has stopped.
func TestFollowsWhatHasNoPods(t *testing.T) {
	s := newAPIServer(t)
	s.addJob(t)
	k, out, errOut := s.kube(t, "")
	ctx, cancel := context.WithCancel(t.Context())
	path, reads := "/api/v1"+team+"pods", atomic.Int32{}
	none := s.objects[path]
	s.objects[path] = func() any {
		if reads.Add(1) == 2 { // what came of the first was said
			cancel()
		}
		return none
	}
	code := run(ctx, []string{"--server", s.URL, "--namespace", "team", "logs", "train", "-f"}, k)
	for _, want := range []string{"`train` has no pods yet, and is followed as soon as it has; `kubectl mpi why train --namespace team`", "The job goes on. `kubectl mpi logs train -f --namespace team`"} {
		if code != exitInterrupted || !strings.Contains(errOut.String(), want) {
			t.Errorf("code %d, want %q: %s%s", code, want, out, errOut)
		}
	}
}

// TestFollowsWhatIsDeleted: whoever follows a job that somebody deletes is told so, and not that there never was one.
func TestFollowsWhatIsDeleted(t *testing.T) {
	deleted := apierrors.NewNotFound(schema.GroupResource{Group: "trainer.kubeflow.org", Resource: "trainjobs"}, "train")
	deleted.ErrStatus.TypeMeta = metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}
	const path = "/apis/trainer.kubeflow.org/v1alpha1" + team + "trainjobs/"
	for command, readsBefore := range map[string]int32{"logs train -f": 1, "clone train next --follow": 1, "clone train next --wait": 1, "submit next --follow -- x": 0} {
		s := newAPIServer(t)
		s.addJob(t)
		s.addPod("train-launcher-0", mpi.LauncherJob, "2026-03-01T12:00:01Z no answer from node\n")
		job, reads := s.objects[path+"train"], atomic.Int32{}
		s.objects[path+"train"] = func() any {
			if reads.Add(1) <= readsBefore {
				return job
			}
			return deleted
		}
		s.objects[path+"next"] = deleted
		if code, out, errText := s.command(t, strings.Fields(command)...); code != 1 || !strings.Contains(errText, "the TrainJob was deleted: somebody has deleted `") {
			t.Errorf("%s: code %d: %s%s", command, code, out, errText)
		}
	}
}

// TestWaitsInTheNamespaceOfTheFile: a job that a file makes in another namespace than the kubeconfig's is waited for there, and so are the hints.
func TestWaitsInTheNamespaceOfTheFile(t *testing.T) {
	s := newAPIServer(t)
	s.addJob(t)
	const jobs = "/apis/trainer.kubeflow.org/v1alpha1/namespaces/other/trainjobs"
	s.objects[jobs] = s.objects["/apis/trainer.kubeflow.org/v1alpha1"+team+"trainjobs"]
	job := failedJob(metav1.Condition{Type: trainer.TrainJobFailed, Status: metav1.ConditionTrue, Reason: "OOMKilled", Message: "Worker 1 failed"})
	job.Namespace = "other"
	s.objects[jobs+"/next"] = job
	s.objects["/api/v1/namespaces/other/pods"] = s.objects["/api/v1"+team+"pods"]
	text := "apiVersion: trainer.kubeflow.org/v1alpha1\nkind: TrainJob\nmetadata: {name: next, namespace: other}\nspec: {runtimeRef: {name: mpich-cpu}, trainer: {command: [train]}}\n"
	k, out, errOut := s.kube(t, text)
	if code := run(t.Context(), []string{"--server", s.URL, "create", "-f", "-", "--wait"}, k); code != exitJobFailed || !strings.Contains(errOut.String(), "next failed: OOMKilled") {
		t.Errorf("code %d: %s%s", code, out, errOut)
	}
	if hint := k.commandHint("other", "logs next"); hint != "`kubectl mpi logs next --namespace other`" {
		t.Error(hint)
	}
	if hint := k.commandHint("default", "logs next"); hint != "`kubectl mpi logs next`" {
		t.Error(hint)
	}
}

func failedJob(failed metav1.Condition) trainer.TrainJob {
	return trainer.TrainJob{
		TypeMeta:   metav1.TypeMeta{APIVersion: trainer.GroupVersion.String(), Kind: "TrainJob"},
		ObjectMeta: metav1.ObjectMeta{Name: "next", Namespace: "team", UID: "next"},
		Spec:       trainer.TrainJobSpec{RuntimeRef: trainer.RuntimeRef{Name: "mpich-cpu"}}, Status: trainer.TrainJobStatus{Conditions: []metav1.Condition{failed}},
	}
}

// TestExecAsksTheSameCluster: kubectl gets the flags that choose cluster and user, and no others.
func TestExecAsksTheSameCluster(t *testing.T) {
	k := newKube(genericiooptions.NewTestIOStreamsDiscard())
	root := newRoot(k)
	cmd, args, err := root.Find([]string{"exec"})
	if err != nil {
		t.Fatal(err)
	}
	args = append(args, "--kubeconfig", "x.yaml", "--context=prod", "-n", "team", "--as-group", "a", "--as-group", "b", "--rank", "3", "train")
	if err := cmd.ParseFlags(args); err != nil {
		t.Fatal(err)
	}
	want := "--as-group=a --as-group=b --context=prod --kubeconfig=x.yaml"
	if got := strings.Join(k.connectionFlags(cmd), " "); got != want {
		t.Errorf("kubectl is called with %q, want %q", got, want)
	}
}

// TestFollowShowsLastLinesOnce: the log was shown, so the error has its cause and not its last lines.
func TestFollowShowsLastLinesOnce(t *testing.T) {
	for flag, want := range map[string]bool{"--follow": false, "--wait": true} {
		s := newAPIServer(t)
		s.addJob(t)
		s.objects["/apis/trainer.kubeflow.org/v1alpha1"+team+"trainjobs/next"] = failedJob(metav1.Condition{
			Type: trainer.TrainJobFailed, Status: metav1.ConditionTrue, Reason: "OOMKilled",
			Message: "Worker 1 failed. What to do: use less\nLast lines:\nno memory",
		})
		s.recordCause(t, "next", jobv1.Cause{
			Reason: "OOMKilled", Message: "Worker 1 failed", Remedy: "use less", Lines: []string{"no memory"},
		})
		s.objects["/api/v1"+team+"pods"] = corev1.PodList{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "PodList"}}
		code, _, errText := s.command(t, "submit", "next", flag, "--", "mpirun", "x")
		whole := strings.Contains(errText, "next failed: OOMKilled: Worker 1 failed. What to do: use less")
		if code != 3 || !whole || strings.Contains(errText, "no memory") != want {
			t.Errorf("%s: ended with %d: %s", flag, code, errText)
		}
	}
}

func TestBundleOfAJob(t *testing.T) {
	s := newAPIServer(t)
	s.addJob(t)
	s.addPod("train-launcher-0", mpi.LauncherJob, "2026-03-01T12:00:01Z using a-token-of-mine\n")
	archive := filepath.Join(t.TempDir(), "b.tar.gz")
	if code, out, errText := s.command(t, "bundle", "train", "--file", archive); code != 0 || !strings.Contains(out, "files") {
		t.Fatal(code, out, errText)
	}
	if info, err := os.Stat(archive); err != nil || info.Mode().Perm() != 0o600 {
		t.Error(info, err)
	}
	if code, _, errText := s.command(t, "bundle", "train", "--file", archive); code != 1 || !strings.Contains(errText, "b.tar.gz is there already: --file names another") {
		t.Errorf("it was overwritten: %d, %s", code, errText)
	}
}

// TestDiffOfLongValues: what differs in a long value is shown in a line that fits a screen.
func TestDiffOfLongValues(t *testing.T) {
	var out strings.Builder
	long := strings.Repeat("x", 6000)
	if err := writeDiff(&out, []string{"a", "b"}, compare.Comparison{Differences: []compare.Difference{{What: "command", Left: long + "lr=0.1" + long, Right: long + "lr=0.3" + long}}}); err != nil {
		t.Fatal(err)
	}
	if got := out.String(); !strings.Contains(got, "xlr=0.1x") || !strings.Contains(got, "xlr=0.3x") || len(got) > 300 {
		t.Error(got)
	}
}

// TestWarnings: what the API server warns of is shown as kubectl shows it, once, and not in the words of a library.
func TestWarnings(t *testing.T) {
	s := newAPIServer(t)
	s.addJob(t)
	s.addPod("train-launcher-0", mpi.LauncherJob, "")
	s.warning = "spec.a is deprecated"
	if code, _, errText := s.command(t, "logs", "train"); code != 0 || strings.Count(errText, "Warning: spec.a is deprecated\n") != 1 {
		t.Errorf("code %d: %s", code, errText)
	}
}

// TestRetiringRuntime: who submits reads the end of the runtime once, from the command or from a policy of the cluster.
func TestRetiringRuntime(t *testing.T) {
	const end = "runtime `mpich-cpu` is deprecated and retires on 2027-03-31; use `mpich-5` instead: no longer patched"
	const policy = "Validation failed for ValidatingAdmissionPolicy 'p' with binding 'p': "
	const path = "/apis/trainer.kubeflow.org/v1alpha1/clustertrainingruntimes/mpich-cpu"
	file := filepath.Join(t.TempDir(), "job.yaml")
	manifest := "apiVersion: trainer.kubeflow.org/v1alpha1\nkind: TrainJob\nmetadata: {name: next}\n" +
		"spec: {runtimeRef: {name: mpich-cpu}, trainer: {command: [mpirun, x]}}\n"
	if err := os.WriteFile(file, []byte(manifest), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{
		{"submit", "next", "--", "mpirun", "x"}, {"create", "-f", file}, {"validate", "-f", file},
	} {
		for _, tc := range []struct {
			warning  string
			readable bool
		}{{"", true}, {policy + end, true}, {policy + end, false}} {
			s := newAPIServer(t)
			s.addJob(t)
			s.policyWarning = tc.warning
			built := s.objects[path].(*trainer.ClusterTrainingRuntime)
			built.Labels[mpi.SupportLabel] = mpi.Deprecated
			built.Annotations[mpi.RetireOnAnnotation] = "2027-03-31"
			built.Annotations[mpi.SuccessorAnnotation] = "mpich-5"
			built.Annotations[mpi.DeprecationReasonAnnotation] = "no longer patched"
			if !tc.readable {
				delete(s.objects, path)
			}
			code, _, errText := s.command(t, args...)
			if code != 0 || strings.Count(errText, "arning: "+end) != 1 {
				t.Errorf("%v %+v: code %d: %s", args, tc, code, errText)
			}
		}
	}
}

// TestColours: logs are coloured on terminals only, and not where NO_COLOR is set, unless they are asked for.
func TestColours(t *testing.T) {
	terminal, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil {
		t.Skip("SKIPPED: there are no terminals here: ", err)
	}
	defer terminal.Close()
	t.Setenv("TERM", "xterm")
	for name, tc := range map[string]struct {
		noColor, flag string
		out           io.Writer
		want          bool
	}{
		"Terminal": {"", "auto", terminal, true},
		"File":     {"", "auto", io.Discard, false},
		"NoColor":  {"1", "auto", terminal, false},
		"Always":   {"1", "always", io.Discard, true},
		"Never":    {"", "never", terminal, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv("NO_COLOR", tc.noColor)
			if p := (&logsFlags{color: tc.flag}).newPrinter(tc.out); p.Color != tc.want || p.Terminal != (tc.out == terminal) {
				t.Errorf("coloured: %t, terminal: %t", p.Color, p.Terminal)
			}
		})
	}
}

// TestUntaggedLinesOfRanks: who follows the log of a rank does not wait for ever for lines that name it.
func TestUntaggedLinesOfRanks(t *testing.T) {
	var out, notes bytes.Buffer
	f := logsFlags{ranks: []int{0}, format: string(logs.Text)}
	p := &rankPrinter{Printer: f.newPrinter(&out), notes: &notes}
	for i := range 2 * untaggedLines {
		if err := p.printLines(make([]logs.Line, 1)); err != nil {
			t.Fatal(err)
		}
		if want := min((i+1)/untaggedLines, 1); strings.Count(notes.String(), "no line so far") != want {
			t.Fatalf("after %d lines: %q", i+1, notes.String())
		}
	}
}
