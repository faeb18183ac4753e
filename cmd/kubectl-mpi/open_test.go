package main

import (
	"strings"
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
)

func TestOpenInTheDashboardOfTheCluster(t *testing.T) {
	objects := []client.Object{jobOf("train")}
	for name, tc := range map[string]struct {
		variable, flag, out, errOut string
	}{
		"flag":     {"", "https://jobs.example.com/", "https://jobs.example.com/jobs/team/train\n", ""},
		"variable": {"https://jobs.example.com/path", "", "https://jobs.example.com/path/jobs/team/train\n", ""},
		"both":     {"https://b.example.com", "https://a.example.com", "https://a.example.com/jobs/team/train\n", ""},
		"script":   {"", "javascript:alert(1)", "", "is no address of a dashboard"},
		"no host":  {"jobs", "", "", "is no address of a dashboard"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv(dashboardVariable, tc.variable)
			args := []string{"open", "train", "--no-browser"}
			if tc.flag != "" {
				args = append(args, "--dashboard", tc.flag)
			}
			got := runWith(t, objects, interceptor.Funcs{}, args...)
			if got.out != tc.out || !strings.Contains(got.errOut, tc.errOut) {
				t.Errorf("%d %q %q", got.code, got.out, got.errOut)
			}
		})
	}
	t.Setenv(dashboardVariable, "https://jobs.example.com")
	if got := runWith(t, objects, interceptor.Funcs{}, "open", "trian"); got.code == 0 || got.out != "" {
		t.Errorf("a job that does not exist has the page %q", got.out)
	}
}
