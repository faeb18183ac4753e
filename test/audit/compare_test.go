package audit

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	rbacv1 "k8s.io/api/rbac/v1"
)

func TestCompare(t *testing.T) {
	const (
		listPods  = `{"verb":"list","objectRef":{"resource":"pods","namespace":"a"},"responseStatus":{"code":200}}`
		watchPods = `{"verb":"watch","objectRef":{"resource":"pods"},"responseStatus":{"code":200}}`
		getKey    = `{"verb":"get","objectRef":{"resource":"secrets","namespace":"a","name":"key"},"responseStatus":{"code":404}}`
		refusal   = `{"verb":"patch","objectRef":{"apiGroup":"g","resource":"jobs","subresource":"status","namespace":"a"},"responseStatus":{"code":403,"message":"jobs is forbidden: User \"x\" cannot patch resource"}}`
		admission = `{"verb":"create","objectRef":{"resource":"pods","namespace":"a"},"responseStatus":{"code":403,"message":"exceeded quota"}}`
	)
	rule := func(resource string, names []string, verbs ...string) []rbacv1.PolicyRule {
		return []rbacv1.PolicyRule{{APIGroups: []string{""}, Resources: []string{resource}, ResourceNames: names, Verbs: verbs}}
	}
	cases := map[string]struct {
		reason string
		log    []string
		grants []Grant
		want   Comparison
	}{
		"Exact":     {"a used right is no news", []string{listPods}, []Grant{{"r", "", rule("pods", nil, "list")}}, Comparison{}},
		"Unused":    {"a right that nobody uses", []string{listPods}, []Grant{{"r", "", rule("pods", nil, "list", "delete")}}, Comparison{Unused: []string{"r: delete pods."}}},
		"Streamed":  {"who watches needs list where lists are not streamed", []string{watchPods}, []Grant{{"r", "", rule("pods", nil, "list", "watch")}}, Comparison{}},
		"NotThere":  {"a right in another namespace was not used", []string{listPods}, []Grant{{"r", "b", rule("pods", nil, "list")}}, Comparison{Unused: []string{"r: list pods."}}},
		"Somewhere": {"one of the bindings of a role uses it", []string{listPods}, []Grant{{"r", "b", rule("pods", nil, "list")}, {"r", "a", rule("pods", nil, "list")}}, Comparison{}},
		"Name":      {"a right for a name is used with that name", []string{getKey}, []Grant{{"r", "", rule("secrets", []string{"key"}, "get")}, {"s", "", rule("secrets", []string{"other"}, "get")}}, Comparison{Unused: []string{"s: get secrets."}}},
		"Refused":   {"what is refused is told once, with its place", []string{refusal, refusal}, nil, Comparison{Refused: []string{"patch jobs/status.g a"}}},
		"Admission": {"a quota is no lack of rights", []string{admission}, nil, Comparison{}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			entries, err := Read(strings.NewReader(strings.Join(tc.log, "\n")), func(Entry) bool { return true })
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, Compare(entries, tc.grants)); diff != "" {
				t.Errorf("%s: -want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

// The API server may be in the middle of a line.
func TestReadLeavesHalfAnEntry(t *testing.T) {
	const whole = `{"verb":"list"}`
	for _, half := range []string{"", whole[:9], whole} {
		entries, err := Read(strings.NewReader(whole+"\n"+half), func(Entry) bool { return true })
		want := 1
		if half == whole {
			want = 2
		}
		if err != nil || len(entries) != want {
			t.Errorf("%q at the end: %d entries, %v: want %d", half, len(entries), err, want)
		}
	}
}

func TestReadRefusesWhatIsNoLog(t *testing.T) {
	if _, err := Read(strings.NewReader("{\n"), func(Entry) bool { return true }); err == nil {
		t.Error("half an entry was read")
	}
}
