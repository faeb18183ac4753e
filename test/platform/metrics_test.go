package platform

import (
	"math"
	"strings"
	"testing"
)

const reading = `# TYPE rest_client_requests_total counter
rest_client_requests_total{code="200",method="GET"} 100
rest_client_requests_total{code="201",method="POST"} 7
rest_client_requests_total{code="200",method="PATCH"} 5
# TYPE process_resident_memory_bytes gauge
process_resident_memory_bytes 1e+06
# TYPE took histogram
took_bucket{controller="a",le="0.1"} %A
took_bucket{controller="a",le="1"} %B
took_bucket{controller="a",le="+Inf"} %C
took_sum{controller="a"} 1
took_count{controller="a"} %C
`

func metricsOf(t *testing.T, a, b, c string) Metrics {
	t.Helper()
	m, err := parse(strings.NewReader(strings.NewReplacer("%A", a, "%B", b, "%C", c).Replace(reading)))
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func TestMetrics(t *testing.T) {
	before, after := metricsOf(t, "10", "10", "10"), metricsOf(t, "109", "110", "110")
	if got := after.Writes(); got != 12 {
		t.Errorf("Writes = %g, want the 12 that change something", got)
	}
	if got := after.Resident(); got != 1e6 {
		t.Errorf("Resident = %g", got)
	}
	if got := after.Quantile(0.99, before, "took"); got != 0.1 {
		t.Errorf("99 of 100 took at most 0.1 s since the first reading: p99 = %g", got)
	}
	if got := after.Quantile(0.999, before, "took", "controller", "a"); got != 1 {
		t.Errorf("p99.9 = %g, want 1", got)
	}
	if got := after.Quantile(0.99, after, "took"); !math.IsNaN(got) {
		t.Errorf("nothing was counted, but p99 = %g", got)
	}
}
