package dashboards

import (
	"bytes"
	"context"
	"flag"
	"html"
	"math"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/api"
	prometheus "github.com/prometheus/client_golang/api/prometheus/v1"
	"github.com/prometheus/common/model"
)

var update = flag.Bool("update", false, "write the pictures")

// When the simulated day of pkg/mpi/reconciler/metrics ends, and what somebody looks at.
var (
	dayEnds = time.Date(2026, 11, 25, 18, 0, 0, 0, time.UTC)
	chosen  = map[string]string{"namespace": "team-vision", "job": "resnet-large"}
)

// counted are panels that tell how many there were, with a query that tells it of a day in which the controller never started again.
var counted = map[string]string{"Failures in a day, by cause": `sum(mpi_trainjob_ended_total{outcome="Failed"})`}

// Nobody opens a dashboard to find a panel that is empty, or that shows less than there was. The pictures of the guide show what is drawn here.
func TestDashboardsShowTheSimulatedDay(t *testing.T) {
	server := simulatedDay(t)
	for _, name := range []string{"platform", "job"} {
		board, err := readBoard("../../mixin/dashboards/" + name + ".json")
		if err != nil {
			t.Fatal(err)
		}
		p := picture{board: board, to: dayEnds}
		if p.from, err = board.begins(dayEnds); err != nil {
			t.Fatal(err)
		}
		var shown []string
		for _, panel := range board.Panels {
			answers, err := panel.ask(t.Context(), server, board.variables(chosen), p.from, p.to)
			if err != nil || len(answers) == 0 {
				t.Errorf("%s: the panel %q has no data (%v)", board.Title, panel.Title, err)
			}
			if truth := counted[panel.Title]; truth != "" {
				compareCount(t, server, panel, answers, truth)
			}
			p.answers = append(p.answers, answers)
			shown = append(shown, panel.Title)
			for _, a := range answers {
				shown = append(shown, a.name)
			}
		}
		holdPicture(t, "../../docs/dashboard-"+name+".svg", p, shown)
	}
}

// compareCount allows for increase(), which extrapolates.
func compareCount(t *testing.T, server prometheus.API, p panel, answers []answer, truth string) {
	t.Helper()
	value, _, _, err := server.Query(t.Context(), truth, dayEnds)
	if err != nil {
		t.Fatal(err)
	}
	sum, want := 0.0, float64(value.(model.Vector)[0].Value)
	for _, a := range answers {
		sum += a.last()
	}
	if want < 3 || math.Abs(sum-want) > 0.5 {
		t.Errorf("the panel %q tells of %.1f, and there were %.0f", p.Title, sum, want)
	}
}

// holdPicture compares what there is to read: numbers and lines may differ a little from one version of Prometheus to the next.
func holdPicture(t *testing.T, path string, p picture, shown []string) {
	t.Helper()
	var svg bytes.Buffer
	if err := p.write(&svg); err != nil {
		t.Fatal(err)
	}
	if *update {
		if err := os.WriteFile(path, svg.Bytes(), 0o644); err != nil { //nolint:gosec // everybody may read it
			t.Fatal(err)
		}
	}
	kept, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	missing := slices.DeleteFunc(shown, func(words string) bool {
		return words == "" || strings.Contains(html.UnescapeString(string(kept)), ">"+words+"<")
	})
	if len(missing) > 0 {
		t.Errorf("%s does not show %q: run `make test-dashboards UPDATE=1`", path, missing)
	}
}

// simulatedDay is a Prometheus that knows the day.
func simulatedDay(t *testing.T) prometheus.API {
	t.Helper()
	programs, day := os.Getenv("LOCKSTEP_PROMETHEUS"), os.Getenv("LOCKSTEP_SIMULATED_DAY")
	if programs == "" || day == "" {
		t.Skip("SKIPPED: this needs Prometheus and the simulated day: run `make test-dashboards`")
	}
	data := t.TempDir()
	if out, err := exec.CommandContext(t.Context(), filepath.Join(programs, "promtool"), "tsdb", "create-blocks-from", "openmetrics", "--quiet", day, data).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	config := filepath.Join(t.TempDir(), "prometheus.yaml")
	if err := os.WriteFile(config, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	address := freeAddress(t)
	// A series that has ended has no mark of that in these blocks, so that an answer must not look back to the scrape before.
	program := exec.Command(filepath.Join(programs, "prometheus"), "--config.file="+config, "--storage.tsdb.path="+data, "--storage.tsdb.retention.time=100y",
		"--query.lookback-delta=1m", "--web.listen-address="+address)
	var log bytes.Buffer
	program.Stderr = &log
	if err := program.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = program.Process.Kill()
		_ = program.Wait()
	})
	client, err := api.NewClient(api.Config{Address: "http://" + address})
	if err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(time.Minute); !isReady(t.Context(), address); time.Sleep(100 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("Prometheus does not answer: %s", log.String())
		}
	}
	return prometheus.NewAPI(client)
}

func isReady(ctx context.Context, address string) bool {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+address+"/-/ready", nil)
	if err != nil {
		return false
	}
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		return false
	}
	return answer.Body.Close() == nil && answer.StatusCode == http.StatusOK
}

func freeAddress(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = listener.Close() }()
	return listener.Addr().String()
}
