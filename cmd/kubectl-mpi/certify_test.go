package main

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	trainer "lockstep.dev/lockstep/api/trainer/v1alpha1"
	"lockstep.dev/lockstep/api/v1alpha1"
	"lockstep.dev/lockstep/pkg/mpi"
	"lockstep.dev/lockstep/pkg/mpi/agent/probe"
)

// probing is an API server on which each job that is made is over at once, with a result of a probe in its log.
type probing struct {
	*apiServer
	report   probe.Report
	end      metav1.Condition
	imageIDs [2]string
}

func newProbing(t *testing.T) *probing {
	digest := "registry.example.com/mpich@sha256:" + strings.Repeat("1", 64)
	s := &probing{
		apiServer: newAPIServer(t), imageIDs: [2]string{digest, digest},
		end: metav1.Condition{Type: trainer.TrainJobComplete, Status: metav1.ConditionTrue, Reason: "x"},
		report: probe.Report{
			Schema: probe.Schema, OK: true, Ranks: []probe.Rank{{Host: "a"}, {Host: "a"}, {Host: "b"}, {Host: "b"}},
			BetweenHosts: &probe.Summary{
				Pairs: 4, RoundTripMedian: 66.5, RoundTripWorst: 75.4, RoundTripWorstOf: [2]int{1, 3}, BandwidthMedian: 5668.4, BandwidthSlowest: 4607.8, SlowestTo: 2,
			},
		},
	}
	s.addJob(t)
	s.objects[runtimePath].(*trainer.ClusterTrainingRuntime).Annotations[mpi.FingerprintAnnotation] = "sha256:" + strings.Repeat("f", 64)
	s.made = func(name string) {
		text, err := json.Marshal(s.report)
		if err != nil {
			t.Error(err)
		}
		log := "2026-11-26T12:00:01Z a word of the launcher\n2026-11-26T12:00:02Z " + string(text) + "\n"
		if s.report.Schema == "" {
			log = "2026-11-26T12:00:01Z mpirun: not found\n"
		}
		s.addPod(name+"-launcher-0", mpi.LauncherJob, log)
		s.addPod(name+"-node-0", mpi.NodeJob, "")
		pods := s.objects["/api/v1"+team+"pods"].(corev1.PodList)
		for i := range pods.Items {
			pods.Items[i].Status.ContainerStatuses[0].ImageID = s.imageIDs[i]
		}
		job := failedJob(s.end)
		job.Name, job.UID = name, "uid-1"
		if s.end.Type == "" {
			job.Status.Conditions = nil
		}
		s.objects["/apis/trainer.kubeflow.org/v1alpha1"+team+"trainjobs/"+name] = job
	}
	return s
}

const runtimePath = "/apis/trainer.kubeflow.org/v1alpha1/clustertrainingruntimes/mpich-cpu"

// certifiedText is what people see of a runtime that holds, but for the day.
const certifiedText = `mpich-cpu holds: 4 ranks on 2 nodes, 4 pairs between nodes
  round trip  median 66.5 µs, worst 75.4 µs (ranks 1 and 3)
  bandwidth   median 5668 Mbit/s, slowest 4608 Mbit/s (ranks 0 and 2)
  image       sha256:1111111111111111111111111111111111111111111111111111111111111111

Write it into the spec of this cluster, overlays/<cluster>/cluster.yaml, in place of an older entry of the runtime:

  certified:
    - runtime: mpich-cpu
      fingerprint: sha256:ffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff
      date: "DAY"
      by: jane
      image: sha256:1111111111111111111111111111111111111111111111111111111111111111
      nodes: 2
      ranks: 4
      pairs: 4
      roundTripMicroseconds: 67
      bandwidthMbps: 5668
      slowestMbps: 4608
`

func TestCertify(t *testing.T) {
	s := newProbing(t)
	before := time.Now().UTC()
	code, out, errText := s.command(t, "certify", "mpich-cpu", "--max-round-trip", "200us", "--min-bandwidth", "900")
	want := strings.ReplaceAll(certifiedText, "DAY", before.Format(time.DateOnly))
	if code != 0 || out != want && out != strings.ReplaceAll(certifiedText, "DAY", time.Now().UTC().Format(time.DateOnly)) {
		t.Errorf("code %d: %s%s", code, out, errText)
	}
	var made trainer.TrainJob
	for path, body := range s.posted {
		if strings.Contains(path, "/trainjobs") {
			if err := json.Unmarshal([]byte(body), &made); err != nil {
				t.Fatal(err)
			}
		}
	}
	if got := strings.Join(made.Spec.Trainer.Command, " "); got != "mpirun -n 4 mpi-agent probe -o json --ranks 4 --for 5s --timeout 1m5s --max-round-trip 200µs --min-bandwidth 900" || *made.Spec.Trainer.NumNodes != 2 {
		t.Errorf("the job runs %q on %d nodes", got, *made.Spec.Trainer.NumNodes)
	}
	if len(s.deleted) != 1 || !strings.HasSuffix(s.deleted[0], "/trainjobs/"+made.Name) {
		t.Errorf("deleted: %v", s.deleted)
	}

	s = newProbing(t)
	for range mpi.MaxProbeRanks * (mpi.MaxProbeRanks - 1) / 2 {
		s.report.Pairs = append(s.report.Pairs, probe.Pair{From: 100, To: 101, RoundTrip: &probe.RoundTrip{Min: 50.1, Median: 66.5, P99: 900.9, Count: 1000}, BandwidthThere: 5668.4, BandwidthBack: 4607.8})
	}
	code, out, _ = s.command(t, "certify", "mpich-cpu", "--by", "the platform team", "-o", "json")
	var c v1alpha1.Certification
	if err := json.Unmarshal([]byte(out), &c); err != nil || code != 0 || c.By != "the platform team" || c.Pairs != 4 {
		t.Errorf("code %d: %v: %s", code, err, out)
	}
}

// TestCertifiesNothing: what does not hold is said, and the job stays for whoever looks for the reason.
func TestCertifiesNothing(t *testing.T) {
	failed := metav1.Condition{Type: trainer.TrainJobFailed, Status: metav1.ConditionTrue, Reason: "CommandFailed", Message: "the command ended with 1"}
	for name, c := range map[string]struct {
		prepare func(*probing)
		args    string
		code    int
		errText string
		kept    bool
	}{
		"Limits": {func(s *probing) {
			s.end, s.report.OK, s.report.Problems = failed, false, []string{"ranks 0 (a) and 2 (b): the bandwidth is 50 Mbit/s, at least 500 is asked for"}
		}, "", 1, "`mpich-cpu` is not certified:\n  ranks 0 (a) and 2 (b): the bandwidth is 50 Mbit/s", true},
		"Failed":    {func(s *probing) { s.end, s.report.Schema = failed, "" }, "", exitJobFailed, "failed: CommandFailed: the command ended with 1", true},
		"NoResult":  {func(s *probing) { s.report.Schema = "" }, "", 1, "has no result of a probe", true},
		"TwoImages": {func(s *probing) { s.imageIDs[1] = "sha256:" + strings.Repeat("2", 64) }, "", 1, "the pods ran different images", true},
		"NoFingerprint": {func(s *probing) {
			delete(s.objects[runtimePath].(*trainer.ClusterTrainingRuntime).Annotations, mpi.FingerprintAnnotation)
		}, "", 1, "compile it with this release", false},
		"OneNode":      {nil, "--nodes 1", 2, "on one node no network is measured", false},
		"TooManyRanks": {nil, "--nodes 4 --slots 40", 2, "a probe has at most 128 ranks, and 4 nodes with 40 slots have 160", false},
		"TooManyNodes": {nil, "--nodes 5", exitRefused, "this runtime allows at most 4", false},
	} {
		t.Run(name, func(t *testing.T) {
			s := newProbing(t)
			if c.prepare != nil {
				c.prepare(s)
			}
			code, out, errText := s.command(t, append([]string{"certify", "mpich-cpu"}, strings.Fields(c.args)...)...)
			if code != c.code || out != "" || !strings.Contains(errText, c.errText) || strings.Contains(errText, "kubectl mpi delete certify-") != c.kept || len(s.deleted) > 0 {
				t.Errorf("code %d, deleted %v: %s%s", code, s.deleted, out, errText)
			}
		})
	}
}

// TestCertifyInterrupted: nobody has to clean up after a test that somebody stopped, or that took too long.
func TestCertifyInterrupted(t *testing.T) {
	for args, want := range map[string]struct {
		code int
		text string
	}{"--timeout 5m": {exitInterrupted, "error: interrupted\n"}, "--timeout 200ms": {exitTimeout, "after 200ms certify-"}} {
		s := newProbing(t)
		s.end = metav1.Condition{}
		k, out, errOut := s.kube(t, "")
		ctx, cancel := context.WithCancel(t.Context())
		if want.code == exitInterrupted {
			made := s.made
			s.made = func(name string) { made(name); time.AfterFunc(500*time.Millisecond, cancel) }
		}
		code := run(ctx, append([]string{"--server", s.URL, "--namespace", "team", "certify", "mpich-cpu"}, strings.Fields(args)...), k)
		cancel()
		if code != want.code || out.Len() > 0 || !strings.Contains(errOut.String(), want.text) || len(s.deleted) != 1 {
			t.Errorf("%s: code %d, deleted %v: %s", args, code, s.deleted, errOut)
		}
	}
}
