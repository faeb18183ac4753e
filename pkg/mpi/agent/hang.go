package agent

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"lockstep.dev/lockstep/pkg/mpi"
	"lockstep.dev/lockstep/pkg/mpi/agent/client"
	"lockstep.dev/lockstep/pkg/mpi/agent/process"
)

// HangRule says when a job counts as hung. The zero value is never.
//
// Nobody can see from outside whether a program gets on. What can be seen is whether any process of the job writes
// anything: output, files, and messages as far as they go by write(2). That is the rule by default. CPU time says less
// than it seems: ranks that wait for each other in MPI or NCCL usually spin, so a job in a deadlock uses all its CPU.
// It can be made to count, for jobs that compute in silence for long and that sleep when they wait.
type HangRule struct {
	// After is how long nothing may happen; 0 turns the watch off.
	After time.Duration
	// CPUCounts says that CPU time is progress, from busyShare of one core per node on.
	CPUCounts bool
}

// busyShare is the part of a core above which a node counts as computing: programs that wait wake up now and then.
const busyShare = 0.05

// minHang is the shortest time that makes sense: the watch looks ten times.
const minHang = time.Second

// HangRuleFrom reads the rule from the values of its two variables: a duration such as `10m`, and `output` or
// `output,cpu`. Empty values are the defaults.
func HangRuleFrom(after, progress string) (HangRule, error) {
	var rule HangRule
	if after != "" {
		d, err := time.ParseDuration(after)
		if err != nil || d < minHang && d != 0 {
			return HangRule{}, fmt.Errorf("%s is `%s`: allowed are 0 (off) and durations from %v, such as 10m", mpi.HangAfterVariable, after, minHang)
		}
		rule.After = d
	}
	switch progress {
	case "", "output":
	case "output,cpu":
		rule.CPUCounts = true
	default:
		return HangRule{}, fmt.Errorf("%s is `%s`: allowed are `output` and `output,cpu`", mpi.HangProgressVariable, progress)
	}
	return rule, nil
}

// interval is the time between two looks.
func (r HangRule) interval() time.Duration {
	return min(max(r.After/10, 100*time.Millisecond), 30*time.Second)
}

// stillness remembers when the job last did something.
type stillness struct {
	rule HangRule
	// since is when something happened last, base what the pods had done then.
	since time.Time
	base  map[string]mpi.Progress
}

// look takes in what the pods have done until now and says whether the job has hung. A pod that does not answer proves
// nothing: the job is not called hung as long as one is silent. Whether it is lost is another watch's business.
func (s *stillness) look(now time.Time, pods map[string]mpi.Progress, all bool) bool {
	if s.base == nil || s.moved(now, pods) {
		s.since, s.base = now, pods
		return false
	}
	for name, progress := range pods {
		if _, known := s.base[name]; !known {
			s.base[name] = progress
		}
	}
	return all && now.Sub(s.since) >= s.rule.After
}

func (s *stillness) moved(now time.Time, pods map[string]mpi.Progress) bool {
	for name, progress := range pods {
		before, known := s.base[name]
		switch {
		case !known:
		case progress.WrittenBytes != before.WrittenBytes, progress.Processes != before.Processes:
			return true
		case s.rule.CPUCounts && progress.CPUSeconds-before.CPUSeconds > busyShare*max(now.Sub(s.since), s.rule.interval()).Seconds():
			return true
		}
	}
	return false
}

// watchHang returns what is seen of a hang once the job has hung, nil when the context ends first.
func (l Launcher) watchHang(ctx context.Context, table mpi.HostTable, own *tracker) *obstacle {
	if l.Hang.After == 0 {
		return nil
	}
	still := stillness{rule: l.Hang}
	for sleep(ctx, l.Hang.interval()) {
		pods := l.askProgress(ctx, table, own, l.gate().nodes(), mpi.ProgressRequest{})
		if still.look(time.Now(), pods, len(pods) == len(l.gate().nodes())+1) {
			evidence := l.askProgress(ctx, table, own, l.gate().nodes(), mpi.ProgressRequest{Evidence: true})
			return &obstacle{reason: mpi.ReasonHang, message: describeHang(l.Hang, evidence)}
		}
	}
	return nil
}

// askProgress asks the own pod and nodes, side by side, and returns the answers by the first label of the host name.
func (l Launcher) askProgress(
	ctx context.Context, table mpi.HostTable, own *tracker, nodes []mpi.Host, request mpi.ProgressRequest,
) map[string]mpi.Progress {
	ctx, cancel := context.WithTimeout(ctx, attempt)
	defer cancel()
	pods := map[string]mpi.Progress{firstLabel(l.Hostname): own.progress(request)}
	var mu sync.Mutex
	var group sync.WaitGroup
	for _, node := range nodes {
		group.Go(func() {
			host, _ := find(table, node.Name)
			address, err := client.At(host, l.Settings.Port)
			if err != nil {
				return
			}
			progress, err := client.Progress(ctx, l.Dial, l.Key, address, request)
			if err != nil {
				return // the rule counts who answers
			}
			mu.Lock()
			defer mu.Unlock()
			pods[firstLabel(node.Name)] = progress
		})
	}
	group.Wait()
	return pods
}

// maxStuck is the number of ranks that a message describes.
const maxStuck = 8

// describeHang says what was seen, the lowest ranks first.
func describeHang(rule HangRule, pods map[string]mpi.Progress) string {
	type located struct {
		host string
		mpi.Stuck
	}
	var ranks []located
	processes := 0
	for host, progress := range pods {
		processes += progress.Processes
		for _, stuck := range progress.Evidence {
			if stuck.Rank >= 0 && !slices.ContainsFunc(ranks, func(l located) bool { return l.Rank == stuck.Rank }) {
				ranks = append(ranks, located{host, stuck}) // the first of a rank is the rank, others its children
			}
		}
	}
	slices.SortFunc(ranks, func(a, b located) int { return a.Rank - b.Rank })
	rule0 := "wrote anything"
	if rule.CPUCounts {
		rule0 += " or computed"
	}
	text := fmt.Sprintf("none of the %d processes of the job %s for %v", processes, rule0, rule.After)
	for i, rank := range ranks {
		if i == maxStuck {
			return fmt.Sprintf("%s; and %d more ranks", text, len(ranks)-maxStuck)
		}
		text += fmt.Sprintf("; rank %d (%s, pid %d on %s) is %s", rank.Rank, rank.Name, rank.PID, rank.host, describeStuck(rank.Stuck))
	}
	return text
}

func describeStuck(s mpi.Stuck) string {
	text := s.State
	switch {
	case s.Wait != "":
		text += " in " + s.Wait
	case s.Call != "":
		text += " in " + s.Call
	}
	if len(s.Stack) > 0 {
		text += " (" + strings.Join(s.Stack, " < ") + ")"
	}
	return text
}

// hangGrace is the time between SIGTERM and SIGKILL for the command of a job that has hung.
const hangGrace = 2 * time.Second

// attend looks after a running command: it times the launch, tells what may be in its way, and ends a job that has hung by the rule of
// its user. The returned function stops that and says what was seen of a hang, or nil.
func (l Launcher) attend(ctx context.Context, child *process.Process, table mpi.HostTable, front *front) func() *obstacle {
	ctx, cancel := context.WithCancel(ctx)
	var group sync.WaitGroup
	if l.runsRanks() {
		group.Go(func() { front.watch.lookForRank(ctx) })
	}
	group.Go(func() { l.watchLaunch(ctx, table, front.watch, front.times) })
	var hang *obstacle
	group.Go(func() {
		if hang = l.watchHang(ctx, table, front.watch); hang != nil {
			child.End(hangGrace)
		}
	})
	group.Go(func() { l.watchObstacles(ctx, table, front) })
	return func() *obstacle {
		cancel()
		group.Wait()
		front.times.seen(front.watch.progress(mpi.ProgressRequest{}))
		return hang
	}
}

// runsRanks says whether the launcher is a host of the hostfile.
func (l Launcher) runsRanks() bool { return len(l.gate().nodes()) < len(l.Hosts) }
