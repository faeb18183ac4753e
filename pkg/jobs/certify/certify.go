// Package certify makes a Certification of what the job of a probe left: the log of its launcher, and what kubelet says of its pods. It asks nobody.
package certify

import (
	"encoding/json"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	trainer "lockstep.dev/lockstep/api/trainer/v1alpha1"
	"lockstep.dev/lockstep/api/v1alpha1"
	"lockstep.dev/lockstep/pkg/jobs/logs"
	"lockstep.dev/lockstep/pkg/mpi"
)

// Limits are what the probe must hold, and how long it measures. Zero limits ask for nothing.
type Limits struct {
	For, MaxRoundTrip time.Duration
	// MinBandwidth is in Mbit/s.
	MinBandwidth float64
}

// DefaultFor is how long a probe measures unless a user asks for more.
const DefaultFor = 5 * time.Second

// timeBeside is what the probe may take beside measuring, as long as all of it may by default.
const timeBeside = time.Minute

// Command is the probe as the launcher runs it. All launchers of MPI that a runtime may have take -n.
func Command(ranks int32, l Limits) []string {
	n := strconv.Itoa(int(ranks))
	command := []string{"mpirun", "-n", n, "mpi-agent", "probe", "-o", "json", "--ranks", n, "--for", l.For.String(), "--timeout", (l.For + timeBeside).String()}
	if l.MaxRoundTrip > 0 {
		command = append(command, "--max-round-trip", l.MaxRoundTrip.String())
	}
	if l.MinBandwidth > 0 {
		command = append(command, "--min-bandwidth", strconv.FormatFloat(l.MinBandwidth, 'f', -1, 64))
	}
	return command
}

// AddProbe makes a job of a world run the probe.
func AddProbe(job *trainer.TrainJob, world mpi.World, l Limits) error {
	ranks := world.Ranks()
	if ranks > mpi.MaxProbeRanks {
		return fmt.Errorf("a probe has at most %d ranks, and %d nodes with %d slots have %d: ask for fewer nodes or slots",
			mpi.MaxProbeRanks, world.Nodes, world.SlotsPerNode, ranks)
	}
	if job.Spec.Trainer == nil {
		job.Spec.Trainer = &trainer.Trainer{}
	}
	job.Spec.Trainer.Command = Command(ranks, l)
	return nil
}

// Report holds the parts of the result of a probe that are read here; docs/probe.md has all of it.
type Report struct {
	OK           bool     `json:"ok"`
	Problems     []string `json:"problems"`
	Ranks        []Rank   `json:"ranks"`
	Pairs        []Pair   `json:"pairs"`
	BetweenHosts *Summary `json:"betweenHosts"`
}

// Pair is two ranks: their round trip in microseconds, the bandwidth of each direction in Mbit/s, or why there is none.
type Pair struct {
	From           int        `json:"from"`
	To             int        `json:"to"`
	SameHost       bool       `json:"sameHost,omitempty"`
	RoundTrip      *RoundTrip `json:"roundTrip,omitempty"`
	BandwidthThere float64    `json:"bandwidthThere,omitempty"`
	BandwidthBack  float64    `json:"bandwidthBack,omitempty"`
	Error          string     `json:"error,omitempty"`
}

// RoundTrip is one byte there and back, in microseconds.
type RoundTrip struct {
	Median float64 `json:"median"`
}

// Rank is one rank.
type Rank struct {
	Host string `json:"host"`
}

// Summary is about pairs of ranks: round trips in microseconds, bandwidths in Mbit/s.
type Summary struct {
	Pairs            int     `json:"pairs"`
	RoundTripMedian  float64 `json:"roundTripMedian"`
	RoundTripWorst   float64 `json:"roundTripWorst"`
	RoundTripWorstOf [2]int  `json:"roundTripWorstOf"`
	BandwidthMedian  float64 `json:"bandwidthMedian"`
	BandwidthSlowest float64 `json:"bandwidthSlowest"`
	SlowestFrom      int     `json:"slowestFrom"`
	SlowestTo        int     `json:"slowestTo"`
}

// reportStart is how the line with the result begins.
const reportStart = `{"schema":"lockstep.dev/probe/v1"`

// ReportOf finds the result of a probe in the log of a launcher, or nil. Launchers may put a tag before it.
func ReportOf(log string) *Report {
	for line := range strings.Lines(log) {
		at, report := strings.Index(line, reportStart), &Report{}
		if at >= 0 && json.NewDecoder(strings.NewReader(line[at:])).Decode(report) == nil {
			return report
		}
	}
	return nil
}

// ReadReport finds the result of a probe in lines as they are read, or nil.
func ReadReport(read func(take func([]logs.Line) error) error) (*Report, error) {
	var log strings.Builder
	err := read(func(lines []logs.Line) error {
		for _, line := range lines {
			if !line.Continued { // the result of a hundred ranks is longer than what is read as one line
				log.WriteByte('\n')
			}
			log.WriteString(line.Raw)
		}
		return nil
	})
	return ReportOf(log.String()), err
}

var digestPattern = regexp.MustCompile(`sha256:[0-9a-f]{64}`)

// ImageDigests are those of what runs in the main containers of pods, sorted, each once. A pod that has not started has none.
func ImageDigests(pods []corev1.Pod) []string {
	var digests []string
	for i := range pods {
		for _, s := range pods[i].Status.ContainerStatuses {
			if digest := digestPattern.FindString(s.ImageID); s.Name == mpi.Container && digest != "" {
				digests = append(digests, digest)
			}
		}
	}
	slices.Sort(digests)
	return slices.Compact(digests)
}

// Evidence is what is known of a job of a probe that is over.
type Evidence struct {
	Runtime, By string
	// Before and After are the fingerprints of the runtime before the job was made and when it was over.
	Before, After string
	// Nodes is how many the job had.
	Nodes   int32
	Digests []string
	Report  Report
	Now     time.Time
}

// Problems are the reasons why the evidence certifies nothing, none where it does.
func (e Evidence) Problems() []string {
	problems := slices.Clone(e.Report.Problems)
	hosts := map[string]bool{}
	for _, r := range e.Report.Ranks {
		hosts[r.Host] = true
	}
	if len(hosts) != int(e.Nodes) {
		problems = append(problems, fmt.Sprintf("the launcher put all ranks on %d of %d nodes", len(hosts), e.Nodes))
	} else if e.Report.BetweenHosts == nil && len(problems) == 0 {
		problems = append(problems, "no pair of ranks on different nodes was measured")
	}
	switch {
	case len(e.Digests) == 0:
		problems = append(problems, "kubelet does not say which image ran: no pod of the job has an image ID with a sha256 digest")
	case len(e.Digests) > 1:
		problems = append(problems, "the pods ran different images, "+strings.Join(e.Digests, " and ")+": pin the image of the runtime by its digest")
	}
	if e.Before != e.After {
		problems = append(problems, "the runtime was changed while it was tested: run it again")
	}
	return problems
}

// Certification is what to write into the spec of the cluster, of evidence without problems.
func (e Evidence) Certification() v1alpha1.Certification {
	between := e.Report.BetweenHosts
	whole := func(value float64) int32 { return int32(min(math.MaxInt32, max(1, math.Round(value)))) }
	return v1alpha1.Certification{
		Runtime: e.Runtime, Fingerprint: e.Before, Date: e.Now.UTC().Format(time.DateOnly), By: e.By, Image: e.Digests[0],
		Nodes: e.Nodes, Ranks: int32(len(e.Report.Ranks)), Pairs: int32(between.Pairs),
		RoundTripMicroseconds: whole(between.RoundTripMedian), BandwidthMbps: whole(between.BandwidthMedian), SlowestMbps: whole(between.BandwidthSlowest),
	}
}

// Stanza is a certification as it stands in the spec of a cluster, its keys in the order of the type.
func Stanza(c v1alpha1.Certification) string {
	var b strings.Builder
	b.WriteString("  certified:\n")
	for i, field := range []struct {
		key   string
		value any
	}{
		{"runtime", c.Runtime}, {"fingerprint", c.Fingerprint}, {"date", c.Date}, {"by", c.By}, {"image", c.Image}, {"nodes", c.Nodes}, {"ranks", c.Ranks}, {"pairs", c.Pairs},
		{"roundTripMicroseconds", c.RoundTripMicroseconds}, {"bandwidthMbps", c.BandwidthMbps}, {"slowestMbps", c.SlowestMbps},
	} {
		start := "      "
		if i == 0 {
			start = "    - "
		}
		value, err := yaml.Marshal(field.value)
		if err != nil {
			panic(err) // texts and numbers can be written
		}
		b.WriteString(start + field.key + ": " + string(value))
	}
	return b.String()
}
