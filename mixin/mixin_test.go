package mixin

import (
	"encoding/json"
	"io/fs"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"lockstep.dev/lockstep/docs"
	"lockstep.dev/lockstep/pkg/mpi"
)

type rules struct {
	Groups []struct {
		Rules []struct {
			Alert       string
			Labels      map[string]string
			Annotations map[string]string
		}
	}
}

// Whoever is told something at night finds out what it means, how bad it is, and where to look first; and promtool was shown that it is told
// when it should, and not when it should not (test/integration/alerts_test.go runs it).
func TestEveryAlertIsTestedAndHasAPage(t *testing.T) {
	fires, quiet := judged(t)
	paths, err := fs.Glob(Alerts, "alerts/*.yaml")
	if err != nil || len(paths) == 0 {
		t.Fatal(paths, err)
	}
	for _, path := range paths {
		var file rules
		read(t, Alerts, path, &file)
		for _, group := range file.Groups {
			for _, rule := range group.Rules {
				if !fires[rule.Alert] || !quiet[rule.Alert] {
					t.Errorf("%s: fires in a test: %v, is quiet in one: %v", rule.Alert, fires[rule.Alert], quiet[rule.Alert])
				}
				if !regexp.MustCompile("^(critical|warning|info)$").MatchString(rule.Labels["severity"]) {
					t.Errorf("%s has the severity %q", rule.Alert, rule.Labels["severity"])
				}
				if rule.Annotations["summary"] == "" || rule.Annotations["description"] == "" {
					t.Errorf("%s says too little: %v", rule.Alert, rule.Annotations)
				}
				word, explained := strings.CutPrefix(rule.Annotations["runbook"], "kubectl mpi explain ")
				_, isAlert := docs.Page("alerts/" + word)
				if _, isReason := docs.Page("failures/" + word); !explained || !isAlert && !isReason && word != "{{ $labels.reason }}" {
					t.Errorf("%s has no page: %s", rule.Alert, rule.Annotations["runbook"])
				}
			}
		}
	}
}

// Queries name labels that the collector reads. The controller's count of restarts comes before JobSet's.
func TestLogsCanBeFoundByTheirLabels(t *testing.T) {
	here := os.DirFS("logs")
	var collector struct {
		Processors struct {
			K8s struct {
				Extract struct {
					Labels []struct {
						Tag string `json:"tag_name"`
						Key string
					}
				}
			} `json:"k8s_attributes"`
		}
	}
	read(t, here, "collector.yaml", &collector)
	labels := map[string]string{"namespace": "", "rank": ""}
	for _, l := range collector.Processors.K8s.Extract.Labels {
		labels[l.Tag] = l.Key
	}
	if labels["attempt"] != mpi.AttemptLabel {
		t.Errorf("attempts are told apart by %q", labels["attempt"])
	}
	var queries []struct{ Name, Query string }
	read(t, here, "queries.yaml", &queries)
	for _, q := range queries {
		for _, name := range regexp.MustCompile(`(\w+)="\$`).FindAllStringSubmatch(q.Query, -1) {
			if _, known := labels[name[1]]; !known && q.Name != "history" {
				t.Errorf("%s: no line has the label %s", q.Name, name[1])
			}
		}
	}
}

// judged are the alerts that fire in tests of promtool, and those that are quiet in some.
func judged(t *testing.T) (fires, quiet map[string]bool) {
	t.Helper()
	fires, quiet = map[string]bool{}, map[string]bool{}
	here := os.DirFS(".")
	paths, err := fs.Glob(here, "testdata/*_test.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range paths {
		var file struct {
			Tests []struct {
				Cases []struct {
					Name     string `json:"alertname"`
					Expected []struct {
						Labels map[string]string `json:"exp_labels"`
					} `json:"exp_alerts"`
				} `json:"alert_rule_test"`
			}
		}
		read(t, here, path, &file)
		for _, test := range file.Tests {
			for _, c := range test.Cases {
				fires[c.Name] = fires[c.Name] || len(c.Expected) > 0
				quiet[c.Name] = quiet[c.Name] || len(c.Expected) == 0
				for _, alert := range c.Expected {
					// By this label Prometheus' operator tells the team of the job. What is no team's has none.
					if _, named := alert.Labels["namespace"]; named != strings.HasPrefix(c.Name, "TrainJobMPI") {
						t.Errorf("%s: %s fires with the labels %v", path, c.Name, alert.Labels)
					}
				}
			}
		}
	}
	return fires, quiet
}

// Grafana takes a dashboard for another one, or cannot show it, without these.
func TestDashboardsAreWhole(t *testing.T) {
	paths, err := fs.Glob(Dashboards, "dashboards/*.json")
	if err != nil || len(paths) == 0 {
		t.Fatal(paths, err)
	}
	seen := map[string]string{}
	for _, path := range paths {
		text, err := Dashboards.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		var board struct {
			UID, Title    string
			SchemaVersion int
			Panels        []struct {
				ID      int
				Title   string
				Type    string
				GridPos struct{ H, W, X, Y int }
				Targets []struct {
					Expr, RefID string
					Instant     bool
				}
			}
		}
		if err := json.Unmarshal(text, &board); err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		if board.UID == "" || seen[board.UID] != "" || board.SchemaVersion != 39 {
			t.Errorf("%s: uid %q (also of %q), schemaVersion %d", path, board.UID, seen[board.UID], board.SchemaVersion)
		}
		seen[board.UID] = path
		taken := map[[2]int]string{}
		for _, panel := range board.Panels {
			if len(panel.Targets) == 0 || panel.GridPos.X+panel.GridPos.W > 24 {
				t.Errorf("%s: panel %q shows nothing, or is wider than the page", path, panel.Title)
			}
			// Of a query that is not instant these show the last value of each series of hours: phases that a job has left.
			if single := slices.Contains([]string{"stat", "bargauge", "table"}, panel.Type); single && !panel.Targets[0].Instant {
				t.Errorf("%s: panel %q shows what is now, and its query is not instant", path, panel.Title)
			}
			for x := range panel.GridPos.W {
				for y := range panel.GridPos.H {
					cell := [2]int{panel.GridPos.X + x, panel.GridPos.Y + y}
					if taken[cell] != "" {
						t.Fatalf("%s: panels %q and %q overlap", path, taken[cell], panel.Title)
					}
					taken[cell] = panel.Title
				}
			}
		}
	}
}

func read(t *testing.T, from fs.FS, path string, into any) {
	t.Helper()
	text, err := fs.ReadFile(from, path)
	if err != nil {
		t.Fatal(err)
	}
	if err := yaml.Unmarshal(text, into); err != nil {
		t.Fatalf("%s: %v", path, err)
	}
}
