package cost_test

import (
	"bytes"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"lockstep.dev/lockstep/pkg/cost"
)

var start = time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC)

// step is a step of the job team/NAME some hours after start.
func step(job, what string, hour float64) cost.JobStep {
	s := cost.JobStep{Namespace: "team", Job: job, What: what, By: "system:serviceaccount:lockstep-system:mpi-controller", Time: start.Add(time.Duration(hour * float64(time.Hour)))}
	if what == "created" {
		s.By, s.Runtime, s.Nodes = "jane", "gpu", 2
	}
	return s
}

var rates = cost.Cluster{
	Tenants: map[string]string{"team": "vision"}, Runtimes: map[string]cost.Runtime{"gpu": {Profile: "h100", Nodes: 4}}, Prices: map[string]float64{"h100": 10},
	Guaranteed: map[cost.ShareKey]int64{{Tenant: "vision", Profile: "h100"}: 3}, Queues: true,
}

// TestLives: which hours of a life are billed.
func TestLives(t *testing.T) {
	for name, c := range map[string]struct {
		steps []cost.JobStep
		// hours are machine-hours of two nodes.
		hours float64
		jobs  int
	}{
		"completes":                       {[]cost.JobStep{step("a", "created", 0), step("a", "Running", 1), step("a", "Complete", 3)}, 4, 1},
		"never ran":                       {[]cost.JobStep{step("a", "created", 0), step("a", "Failed", 3)}, 0, 0},
		"is started again":                {[]cost.JobStep{step("a", "created", 0), step("a", "Running", 1), step("a", "Restarting", 2), step("a", "Running", 2.5), step("a", "Failed", 3)}, 4, 1},
		"suspended and resumed":           {[]cost.JobStep{step("a", "created", 0), step("a", "Running", 1), step("a", "suspend", 2), step("a", "Suspended", 2.1), step("a", "resume", 5), step("a", "Running", 6), step("a", "Complete", 7)}, 4, 1},
		"deleted while it runs":           {[]cost.JobStep{step("a", "created", 0), step("a", "Running", 1), step("a", "deleted", 2)}, 2, 1},
		"runs still":                      {[]cost.JobStep{step("a", "created", 0), step("a", "Running", 1), step("b", "created", 4)}, 6, 1},
		"created again under its name":    {[]cost.JobStep{step("a", "created", 0), step("a", "Running", 0), step("a", "Complete", 1), step("a", "created", 2), step("a", "Running", 2), step("a", "Complete", 3)}, 4, 2},
		"before the month and after it":   {[]cost.JobStep{step("a", "created", -5), step("a", "Running", -5), step("a", "Complete", 1000)}, 2 * 720, 1},
		"older than the log, one machine": {[]cost.JobStep{step("a", "Running", 1), step("a", "Complete", 2)}, 1, 1},
	} {
		t.Run(name, func(t *testing.T) {
			bill := cost.NewBill(cost.MachineUses(c.steps), &rates, start, start.AddDate(0, 1, 0))
			var hours float64
			jobs := 0
			for _, row := range bill.Rows {
				hours, jobs = hours+row.MachineHours, jobs+row.Jobs
			}
			if math.Abs(hours-c.hours) > 1e-9 || jobs != c.jobs {
				t.Errorf("%v machine-hours of %d jobs, want %v of %d: %+v", hours, jobs, c.hours, c.jobs, bill.Rows)
			}
		})
	}
}

// TestBorrowed: what came first has what is guaranteed; the rest is borrowed; when the first goes, the second has it.
func TestBorrowed(t *testing.T) {
	steps := []cost.JobStep{
		step("a", "created", 0), step("a", "Running", 0), step("b", "created", 1), step("b", "Running", 1), // 2 of 3 machines, then 4
		step("a", "Complete", 2), step("b", "Complete", 4),
	}
	steps[2].By = "system:serviceaccount:ci:robot" // an account pays as a person does
	bill := cost.NewBill(cost.MachineUses(steps), &rates, start, start.Add(4*time.Hour))
	want := cost.Bill{
		From: start, To: start.Add(4 * time.Hour),
		Rows: []cost.BillRow{
			{Tenant: "vision", Person: "jane", Runtime: "gpu", Profile: "h100", Jobs: 1, MachineHours: 4, Guaranteed: 4, Cost: 40, Priced: true},
			{Tenant: "vision", Person: "system:serviceaccount:ci:robot", Runtime: "gpu", Profile: "h100", Jobs: 1, MachineHours: 6, Guaranteed: 5, Borrowed: 1, Cost: 60, Priced: true},
		},
		Idle: []cost.IdleMachines{{Tenant: "vision", Profile: "h100", MachineHours: 3, Cost: 30, Priced: true}},
	}
	if diff := cmp.Diff(want, bill); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if sums := bill.SumBy("runtime"); len(sums) != 1 || sums[0].MachineHours != 10 || sums[0].Jobs != 2 || sums[0].Tenant != "" {
		t.Errorf("by runtime: %+v", sums)
	}
}

// TestSums: of random lives, hours are those of the spans, nothing guaranteed is used twice, and idle and guaranteed are what was guaranteed.
func TestSums(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2)) //nolint:gosec // a test
	for range 200 {
		var steps []cost.JobStep
		for i := range 20 {
			name, from := string(rune('a'+i)), random.Float64()*50
			made := step(name, "created", from)
			made.Nodes = random.Int64N(4) // 0 is the runtime's 4
			steps = append(steps, made, step(name, "Running", from), step(name, "Complete", from+random.Float64()*10))
		}
		var b bytes.Buffer
		uses := cost.MachineUses(steps)
		bill := cost.NewBill(uses, &rates, start, start.Add(100*time.Hour))
		var want, total, guaranteed float64
		for _, use := range uses {
			nodes := use.Nodes
			if nodes == 0 {
				nodes = 4
			}
			want += float64(nodes) * use.To.Sub(use.From).Hours()
		}
		if diff := cmp.Diff(bill, cost.NewBill(uses, &rates, start, start.Add(100*time.Hour))); diff != "" {
			t.Fatalf("the same again is something else:\n%s", diff)
		}
		for _, row := range bill.Rows {
			total, guaranteed = total+row.Guaranteed+row.Borrowed, guaranteed+row.Guaranteed
		}
		if math.Abs(total-want) > 1e-6 || math.Abs(guaranteed+bill.Idle[0].MachineHours-300) > 1e-6 || bill.Idle[0].MachineHours < 0 {
			t.Fatalf("%v machine-hours, want %v; guaranteed %v, idle %v of 300", total, want, guaranteed, bill.Idle[0].MachineHours)
		}
		if err := bill.WriteCSV(&b); err != nil || strings.Count(b.String(), "\n") != len(bill.Rows)+2 {
			t.Fatalf("%v\n%s", err, &b)
		}
	}
}

// TestNames: users choose names, and neither a spreadsheet nor a browser runs them.
func TestNames(t *testing.T) {
	bill := cost.Bill{Rows: []cost.BillRow{{Tenant: "vision", Person: `=cmd|'/c calc'!A1`, Runtime: "<script>alert(1)</script>", MachineHours: 1.005}}}
	var csv, html bytes.Buffer
	if err := bill.WriteCSV(&csv); err != nil {
		t.Fatal(err)
	}
	if err := bill.WriteHTML(&html, "hpc"); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(csv.String(), `vision,'=cmd|`) || strings.Contains(html.String(), "<script>") || !strings.Contains(html.String(), "&lt;script&gt;") {
		t.Errorf("%s\n%s", &csv, &html)
	}
}

func TestReadSteps(t *testing.T) {
	for text, want := range map[string]string{
		"":                          "read the steps of jobs: EOF",
		`{"kind":"Event"}`:          "read the steps of jobs: there is no list of `items`, as `kubectl mpi audit -o json` prints it",
		`{"items":[{"nodes":"x"}]}`: "read the steps of jobs: json: cannot unmarshal",
	} {
		if _, err := cost.ReadJobSteps(strings.NewReader(text)); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%q: %v", text, err)
		}
	}
	steps, err := cost.ReadJobSteps(strings.NewReader(`{"items":[{"time":"2026-11-02T00:00:00Z","job":"b"},{"time":"2026-11-01T00:00:00Z","job":"a"}]}`))
	if err != nil || len(steps) != 2 || steps[0].Job != "a" {
		t.Errorf("%v %v", steps, err)
	}
}
