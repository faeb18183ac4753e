package chart_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"lockstep.dev/lockstep/pkg/compile/patch/chart"
)

// kinds renders the values of a chart as Go sees them.
type kinds struct{}

func (kinds) Render(charts []chart.Chart) []chart.Rendered {
	rendered := make([]chart.Rendered, len(charts))
	for i, c := range charts {
		rendered[i].Documents = []chart.Document{{Name: c.Release, Text: fmt.Sprintf("%#v", c.Values)}}
	}
	return rendered
}

// TestServe: a process that renders sees the same charts as the one that asks, number kinds included, one after the other.
func TestServe(t *testing.T) {
	asked := []chart.Chart{
		{Release: "a", Values: chart.Values{"replicas": 2, "share": 2.0, "large": 1e21, "on": true, "list": []any{1, 1.5, "x"}, "below": map[string]any{"port": 8080}}},
		{Release: "b", Files: []chart.File{{Name: "Chart.yaml", Data: []byte("name: b\n")}}},
	}
	var in, out bytes.Buffer
	encoder := json.NewEncoder(&in)
	for _, c := range asked {
		if err := encoder.Encode(c); err != nil {
			t.Fatal(err)
		}
	}
	if err := chart.Serve(&in, &out, kinds{}); err != nil {
		t.Fatal(err)
	}
	decoder := json.NewDecoder(&out)
	for i, want := range (kinds{}).Render(asked) {
		var got chart.Rendered
		if err := decoder.Decode(&got); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); i == 0 && diff != "" || got.Documents[0].Name != asked[i].Release {
			t.Errorf("chart %d (-want +got):\n%s", i, diff)
		}
	}
}

// full is a pipe whose reader has gone.
type full struct{}

func (full) Write([]byte) (int, error) { return 0, errors.New("broken pipe") }

// TestServeSaysWhatIsWrong: the other side sees why there is no answer.
func TestServeSaysWhatIsWrong(t *testing.T) {
	for in, want := range map[string]string{
		`{"Release": `:                     "read a chart",
		`{"Values": []}`:                   "read values",
		`{"Values": {"a": [1e999]}}`:       "out of range",
		`{"Values": {"a": {"b": 1.5}}}`:    "invalid syntax",
		`{"Release": "a", "Values": null}`: "write a result: broken pipe",
	} {
		if err := chart.Serve(strings.NewReader(in), full{}, kinds{}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", in, err, want)
		}
	}
}
