// Command prometheus measures what Prometheus pays for many jobs: it scrapes a page of metrics, which a benchmark of the controller has written, with
// the rules of the mixin.
package main

import (
	"context"
	"flag"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"lockstep.dev/lockstep/pkg/mpi/agent/sleep"
	"lockstep.dev/lockstep/test/bench/series"
	"lockstep.dev/lockstep/test/prometheus"
	"lockstep.dev/lockstep/test/testjob"
)

const name = "bench-prometheus"

// queries are what is measured, each over the time that %s stands for.
var queries = []struct{ what, query string }{
	{"samples a scrape of the controller", `scrape_samples_scraped{job="mpi-controller"}`},
	{"seconds to read and store them, average", `avg_over_time(scrape_duration_seconds{job="mpi-controller"}[%s])`},
	{"seconds to evaluate all rules", `sum(prometheus_rule_group_last_duration_seconds)`},
	{"MB of memory, most", `max_over_time(process_resident_memory_bytes{job="prometheus"}[%s]) / 1e6`},
	{"processors, average", `rate(process_cpu_seconds_total{job="prometheus"}[%s])`},
}

// Report is what was measured.
type Report struct {
	Date       string             `json:"date"`
	Cores      int                `json:"cores"`
	LoadBefore float64            `json:"loadBefore"`
	Minutes    float64            `json:"minutes"`
	Measured   map[string]float64 `json:"measured"`
}

func main() { series.Main(name, run) }

func run(ctx context.Context) error {
	flags := flag.NewFlagSet(name, flag.ContinueOnError)
	page := flags.String("page", "", "`file` with the metrics of the controller; without it nothing is scraped but Prometheus itself")
	length := flags.Duration("for", 5*time.Minute, "`time` in which the page is scraped every 15 s")
	programs := flags.String("prometheus", os.Getenv(prometheus.Folder), "`folder` with the program prometheus ("+prometheus.Folder+")")
	out := flags.String("out", os.Getenv("OUT"), "write the numbers as JSON to this `file` (OUT)")
	if err := flags.Parse(os.Args[1:]); err != nil {
		return err
	}
	report, err := measure(ctx, *programs, *page, *length)
	if err != nil {
		return err
	}
	fmt.Printf("%s, %d cores, load %.1f before, %.0f min, scraped every 15 s:\n", report.Date, report.Cores, report.LoadBefore, report.Minutes)
	for _, q := range queries {
		if value, ok := report.Measured[q.what]; ok {
			fmt.Printf("  %-42s %.4g\n", q.what, value)
		}
	}
	if *out != "" {
		return testjob.WriteJSON(*out, report)
	}
	return nil
}

func measure(ctx context.Context, programs, page string, length time.Duration) (Report, error) {
	report := Report{Date: time.Now().UTC().Format(time.DateOnly), Cores: runtime.NumCPU(), LoadBefore: series.Load(), Minutes: length.Minutes(), Measured: map[string]float64{}}
	controller := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/plain; version=0.0.4")
		http.ServeFile(w, r, page)
	}))
	defer controller.Close()
	rules, err := filepath.Abs("mixin/alerts/*.yaml")
	if err != nil {
		return report, fmt.Errorf("find the rules: %w", err)
	}
	config := prometheus.Config{Interval: 15 * time.Second, Rules: rules}
	if page != "" {
		config.Controller = controller.Listener.Addr().String()
	}
	server, err := prometheus.Start(ctx, programs, config)
	if err != nil {
		return report, err
	}
	defer server.Close()
	if !sleep.For(ctx, length) {
		return report, ctx.Err()
	}
	for _, q := range queries {
		samples, err := server.Query(ctx, strings.ReplaceAll(q.query, "%s", length.String()))
		if err != nil {
			return report, err
		}
		for _, sample := range samples {
			report.Measured[q.what] = float64(sample.Value)
		}
	}
	return report, nil
}
