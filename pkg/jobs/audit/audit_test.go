package audit_test

import (
	"fmt"
	"strings"
	"testing"

	"lockstep.dev/lockstep/pkg/jobs/audit"
)

// entry is a line of a log about the TrainJob team/train. Sent is the body of the request.
func entry(verb, subresource, by, sent string, more ...string) string {
	line := fmt.Sprintf(`{"kind":"Event","stage":"ResponseComplete","verb":%q,"user":{"username":%q},"requestReceivedTimestamp":"2026-11-24T04:00:00.5Z",`+
		`"objectRef":{"apiGroup":"trainer.kubeflow.org","resource":"trainjobs","subresource":%q,"namespace":"team","name":"train"},"responseStatus":{"code":200}`, verb, by, subresource)
	if sent != "" {
		line += `,"requestObject":` + sent
	}
	return line + strings.Join(more, "") + "}\n"
}

const (
	controller = "system:serviceaccount:lockstep-system:mpi-controller"
	acts       = `,"impersonatedUser":{"username":"jane"}`
)

// stepsOf are the steps of a log, as `what by: detail`.
func stepsOf(t *testing.T, log string) []string {
	t.Helper()
	var history audit.History
	var steps []string
	for event, err := range audit.ReadEvents(strings.NewReader(log)) {
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range history.Add(event) {
			by := s.By
			if s.Through != "" {
				by += " through " + s.Through
			}
			steps = append(steps, fmt.Sprintf("%s/%s %s %s: %s", s.Namespace, s.Job, s.What, by, s.Detail))
		}
	}
	return steps
}

func TestHistory(t *testing.T) {
	condition := func(kind, reason string) string {
		return fmt.Sprintf(`[{"op":"test","path":"/metadata/uid","value":"1"},{"op":"add","path":"/status","value":{"conditions":[`+
			`{"type":%q,"status":"True","reason":%q,"message":"said","lastTransitionTime":"2026-11-24T04:00:00Z"}]}}]`, kind, reason)
	}
	recorded := `{"metadata":{"annotations":{"lockstep.dev/conditions":"{\"uid\":\"1\",\"conditions\":[{\"type\":\"Running\",\"status\":\"True\",\"reason\":\"NodesAnswered\",\"message\":\"\",\"lastTransitionTime\":\"2026-11-24T04:00:00Z\"}]}"}}}`
	for name, c := range map[string]struct {
		log  string
		want []string
	}{
		"a life": {
			entry("create", "", "system:serviceaccount:kubeflow:dashboard", `{"apiVersion":"trainer.kubeflow.org/v1alpha1","spec":{"runtimeRef":{"name":"openmpi5-cpu"},"trainer":{"numNodes":4}}}`, acts) +
				entry("patch", "", controller, recorded) + entry("patch", "", controller, recorded) +
				entry("patch", "", "jane", `{"spec":{"suspend":true}}`) +
				entry("patch", "status", controller, condition("Suspended", "Suspended")) + entry("patch", "status", controller, condition("Suspended", "Suspended")) +
				entry("update", "", "system:serviceaccount:kueue-system:kueue", `{"apiVersion":"trainer.kubeflow.org/v1alpha1","spec":{"suspend":false}}`) +
				entry("patch", "status", controller, condition("Failed", "RankFailed")) + entry("delete", "", "jane", ""),
			[]string{
				"team/train created jane through system:serviceaccount:kubeflow:dashboard: runtime openmpi5-cpu, 4 nodes",
				"team/train Running " + controller + ": NodesAnswered", "team/train suspend jane: ", "team/train Suspended " + controller + ": Suspended: said",
				"team/train resume system:serviceaccount:kueue-system:kueue: ", "team/train Failed " + controller + ": RankFailed: said", "team/train deleted jane: ",
			},
		},
		"a name again": {
			entry("patch", "status", controller, condition("Complete", "Succeeded")) + entry("create", "", "jane", `{"spec":{"runtimeRef":{"name":"mpich-cpu"}}}`) +
				entry("patch", "status", controller, condition("Complete", "Succeeded")),
			[]string{"team/train Complete " + controller + ": Succeeded: said", "team/train created jane: runtime mpich-cpu", "team/train Complete " + controller + ": Succeeded: said"},
		},
		"what else is changed": {
			entry("patch", "", "jane", `{"metadata":{"labels":{"a":"b"}},"spec":{"trainer":{"numNodes":2}}}`) + entry("patch", "", "jane", `[{"op":"test","path":"/spec/x","value":1},{"op":"remove","path":"/spec/labels"}]`) +
				entry("patch", "", controller, `{"metadata":{"labels":{"a":"b"}}}`),
			[]string{"team/train changed jane: metadata.labels.a, spec.trainer.numNodes", "team/train changed jane: spec.labels"},
		},
		"a policy without bodies": {entry("patch", "", "jane", ""), []string{"team/train changed jane: "}},
		"all of a selector": {
			strings.ReplaceAll(entry("deletecollection", "", "jane", ""), `"name":"train"`, `"name":""`), []string{"team/* deleted jane: "},
		},
		"a name that the server makes is that of the body": {
			strings.ReplaceAll(entry("create", "", "jane", `{"metadata":{"name":"train"},"spec":{}}`), `,"name":"train"}`, `}`), []string{"team/train created jane: "},
		},
		"a refusal": {
			strings.ReplaceAll(entry("create", "", "mallory", `{}`), `{"code":200}`, `{"code":403,"message":"no"}`), []string{"team/train refused mallory: create: no"},
		},
		"a conflict, a look, another kind, and the beginning of a request": {
			strings.ReplaceAll(entry("update", "", "jane", `{}`), "200", "409") + entry("get", "", "jane", "") + strings.ReplaceAll(entry("create", "", "jane", "{}"), "trainjobs", "pods") +
				strings.ReplaceAll(entry("create", "", "jane", "{}"), "ResponseComplete", "RequestReceived"), nil,
		},
	} {
		t.Run(name, func(t *testing.T) {
			if got := stepsOf(t, c.log); strings.Join(got, "\n") != strings.Join(c.want, "\n") {
				t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(c.want, "\n"))
			}
		})
	}
}

// A log that is being written ends anywhere; a file that is none says in which line.
func TestReadOfWhatIsNoLog(t *testing.T) {
	whole := entry("delete", "", "jane", "")
	for log, want := range map[string]string{
		whole + whole[:40]: "unfinished after 1", whole + "hello\n" + whole: "line 2 is not an audit event", whole + "[]\n": "line 2 is not an audit event", "": "", whole: "",
	} {
		read, got := 0, ""
		for _, err := range audit.ReadEvents(strings.NewReader(log)) {
			switch {
			case audit.IsUnfinishedLine(err):
				got = fmt.Sprintf("unfinished after %d", read)
			case err != nil:
				got = err.Error()
			default:
				read++
			}
		}
		if want == "" && got != "" || !strings.Contains(got, want) {
			t.Errorf("%q: got %q, want %q", log, got, want)
		}
	}
}

func FuzzHistory(f *testing.F) {
	f.Add(entry("create", "", "jane", `{"spec":{"suspend":true}}`))
	f.Add(entry("patch", "status", "jane", `[{"op":"add","path":"/status/conditions/0","value":{}},{"path":7},"x"]`))
	f.Add(entry("patch", "", "jane", `{"metadata":{"annotations":{"lockstep.dev/conditions":"{"}},"spec":null}`))
	f.Fuzz(func(_ *testing.T, log string) {
		var history audit.History
		for event, err := range audit.ReadEvents(strings.NewReader(log)) {
			if err == nil {
				history.Add(event)
			}
		}
	})
}

// TestWhatWasAskedFor: a step of a creation has in fields of its own what programs count by.
func TestWhatWasAskedFor(t *testing.T) {
	log := entry("create", "", "jane", `{"metadata":{"labels":{"kueue.x-k8s.io/queue-name":"gpu"}},"spec":{"runtimeRef":{"name":"mpich-cpu"},"trainer":{"numNodes":4}}}`)
	var history audit.History
	for event, err := range audit.ReadEvents(strings.NewReader(log)) {
		if err != nil {
			t.Fatal(err)
		}
		steps := history.Add(event)
		if len(steps) != 1 || steps[0].Runtime != "mpich-cpu" || steps[0].Queue != "gpu" || steps[0].Nodes != 4 {
			t.Errorf("%+v", steps)
		}
	}
}
