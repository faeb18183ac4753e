package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"slices"
	"time"

	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	"lockstep.dev/lockstep/test/platform"
	"lockstep.dev/lockstep/test/prometheus"
)

// alertWatch is a real Prometheus with the rules of the mixin that scrapes the controller while jobs run: none of them may wake anybody.
type alertWatch struct {
	server *prometheus.Server
	bridge *http.Server
}

// watchAlerts starts the Prometheus of a folder of programs.
func watchAlerts(ctx context.Context, programs, rules string, meter *platform.Meter) (*alertWatch, error) {
	bridge, target, err := serveMetrics(ctx, meter)
	if err != nil {
		return nil, err
	}
	server, err := prometheus.Start(ctx, programs, prometheus.Config{Interval: 10 * time.Second, Rules: rules, Controller: target})
	if err != nil {
		_ = bridge.Close()
		return nil, err
	}
	return &alertWatch{server, bridge}, nil
}

// serveMetrics serves what the controller serves, to which Prometheus has no key.
func serveMetrics(ctx context.Context, meter *platform.Meter) (bridge *http.Server, address string, err error) {
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, "", fmt.Errorf("serve metrics: %w", err)
	}
	bridge = &http.Server{ReadHeaderTimeout: time.Second, Handler: http.HandlerFunc(func(out http.ResponseWriter, r *http.Request) {
		families, err := meter.Read(r.Context())
		if err != nil {
			http.Error(out, err.Error(), http.StatusBadGateway)
			return
		}
		format := expfmt.NewFormat(expfmt.TypeTextPlain)
		out.Header().Set("Content-Type", string(format))
		encoder := expfmt.NewEncoder(out, format)
		for _, family := range families {
			_ = encoder.Encode(family) // Prometheus tells of a scrape that is cut
		}
	})}
	go func() { _ = bridge.Serve(listener) }()
	return bridge, listener.Addr().String(), nil
}

// fired are the names of the alerts that fired since a time. It is an error if nothing was scraped.
func (w *alertWatch) fired(ctx context.Context, since time.Time) ([]string, error) {
	window := model.Duration(time.Since(since).Round(time.Second))
	scraped, err := w.server.Query(ctx, fmt.Sprintf(`count_over_time(mpi_trainjob_ended_total[%s])`, window))
	if err != nil {
		return nil, err
	}
	if len(scraped) == 0 {
		return nil, errors.New("ask Prometheus: it has nothing of the controller")
	}
	alerts, err := w.server.Query(ctx, fmt.Sprintf(`max by (alertname) (max_over_time(ALERTS{alertstate="firing"}[%s]))`, window))
	if err != nil {
		return nil, err
	}
	var names []string
	for _, sample := range alerts {
		names = append(names, string(sample.Metric["alertname"]))
	}
	slices.Sort(names)
	return names, nil
}

func (w *alertWatch) close() {
	w.server.Close()
	_ = w.bridge.Close()
}
