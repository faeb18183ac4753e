package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"lockstep.dev/lockstep/pkg/mpi"
	"lockstep.dev/lockstep/pkg/mpi/agent/sleep"
	"lockstep.dev/lockstep/test/bench"
	"lockstep.dev/lockstep/test/bench/series"
	"lockstep.dev/lockstep/test/platform"
	"lockstep.dev/lockstep/test/testjob"
)

const (
	// concurrent is how many jobs of each tenant run at the same time.
	concurrent = 3
	jobLimit   = 10 * time.Minute
	// settled is how old a pod is at which others knock: the policy engine of the local cluster lets everything to a pod pass until it has rules for it.
	settled = 5 * time.Second
)

var (
	tenants    = []string{"team-vision", "team-nlp"}
	podNetwork = netip.MustParsePrefix("10.244.0.0/16")
)

// Report is what was seen.
type Report struct {
	Date       string      `json:"date"`
	Cores      int         `json:"cores"`
	LoadBefore float64     `json:"loadBefore"`
	Jobs       bench.Tally `json:"jobs"`
	// Lost are packets that the sockets had no room for.
	Lost uint32 `json:"lost"`
	judgement
}

// listen runs jobs of both tenants while it listens on all machines.
func listen(ctx context.Context, p *platform.Platform, jobs int) (r Report, err error) {
	r = Report{Date: time.Now().UTC().Format(time.DateOnly), Cores: runtime.NumCPU(), LoadBefore: series.Load(), Jobs: bench.Tally{Jobs: jobs * len(tenants)}}
	machines, err := p.LocalMachines(ctx)
	if err != nil {
		return r, err
	}
	admin, err := p.Admin()
	if err != nil {
		return r, err
	}
	w := newWitness(podNetwork)
	listening, stop := context.WithCancel(ctx)
	defer stop()
	group, groupCtx := errgroup.WithContext(listening)
	var lost atomic.Uint32
	for _, machine := range machines {
		group.Go(func() error {
			dropped, err := capture(groupCtx, machine, w.see)
			lost.Add(dropped)
			return err
		})
	}
	group.Go(func() error { return w.watchPods(groupCtx, admin.Client) })
	group.Go(func() error {
		defer stop()
		return r.runJobs(groupCtx, p, admin.Client, jobs)
	})
	err = group.Wait()
	r.Lost, r.judgement = lost.Load(), w.judge()
	slices.Sort(r.Reached)
	slices.Sort(r.Overheard)
	return r, errors.Join(err, ctx.Err())
}

// watchPods notes the addresses of all pods of the tenants.
func (w *witness) watchPods(ctx context.Context, admin client.Client) error {
	for ctx.Err() == nil {
		pods, err := podsOf(ctx, admin, tenants...)
		if err != nil && ctx.Err() == nil {
			return err
		}
		for i := range pods {
			if address, err := netip.ParseAddr(pods[i].Status.PodIP); err == nil {
				w.seePod(address, pod{pods[i].Namespace, pods[i].Name, pods[i].CreationTimestamp.Time})
			}
		}
		sleep.For(ctx, 250*time.Millisecond)
	}
	return nil
}

func podsOf(ctx context.Context, admin client.Client, tenants ...string) ([]corev1.Pod, error) {
	var all []corev1.Pod
	for _, tenant := range tenants {
		list := &corev1.PodList{}
		if err := admin.List(ctx, list, client.InNamespace(tenant)); err != nil {
			return nil, fmt.Errorf("list pods: %w", err)
		}
		all = append(all, list.Items...)
	}
	return all, nil
}

func (r *Report) runJobs(ctx context.Context, p *platform.Platform, admin client.Client, jobs int) error {
	return p.Progress.Watch(fmt.Sprintf("%d jobs", r.Jobs.Jobs), func(now func(string)) error {
		var mu sync.Mutex
		count := func(add func()) {
			mu.Lock()
			defer mu.Unlock()
			add()
			now(r.Jobs.Progress())
		}
		group, ctx := errgroup.WithContext(ctx)
		group.SetLimit(concurrent * len(tenants))
		for i := range jobs {
			for n, tenant := range tenants {
				group.Go(func() error {
					count(func() { r.Jobs.Created++ })
					failure, err := knock(ctx, p, admin, tenant, tenants[1-n], i)
					if err == nil {
						count(func() { r.Jobs.RecordEnd(failure) })
					}
					return err
				})
			}
		}
		return group.Wait()
	})
}

// knock runs a job of a tenant that first tries to reach every pod that the other tenant has, by TCP and UDP.
func knock(ctx context.Context, p *platform.Platform, admin client.Client, tenant, other string, number int) (*bench.Failure, error) {
	user, err := p.Editor(tenant)
	if err != nil {
		return nil, err
	}
	pods, err := podsOf(ctx, admin, other)
	if err != nil {
		return nil, err
	}
	var addresses []string
	for i := range pods {
		if pods[i].Status.Phase == corev1.PodRunning && time.Since(pods[i].CreationTimestamp.Time) > settled {
			addresses = append(addresses, pods[i].Status.PodIP)
		}
	}
	job := testjob.Job{
		Name: fmt.Sprintf("knock-%d", number), Namespace: tenant, Runtime: "openmpi4-cpu", Nodes: 2, Slots: 1,
		Command: []string{"bash", "-c", fmt.Sprintf(`
			for address in %s; do
				echo hello > /dev/udp/$address/53
				for port in 22 %d 40000; do timeout 0.5 bash -c "exec 3<>/dev/tcp/$address/$port" 2> /dev/null && exit 52; done
			done
			mpirun -n 2 mpi-hello --sleep 6`, strings.Join(addresses, " "), mpi.AgentPort)},
	}
	limited, cancel := context.WithTimeoutCause(ctx, jobLimit, fmt.Errorf("no end within %s", jobLimit))
	defer cancel()
	result, err := testjob.Run(limited, user, job, io.Discard)
	if err != nil {
		return nil, err
	}
	var failure *bench.Failure
	if err := result.Check(len(result.Machines)); err != nil {
		failure = &bench.Failure{Job: tenant + "/" + job.Name, Reason: result.Reason, Message: err.Error()}
	}
	return failure, user.Client.Delete(ctx, job.TrainJob())
}

// Print writes what was seen for people.
func (r Report) Print(out io.Writer) {
	_, _ = fmt.Fprintf(out, "\n%s, %d cores, load %.1f before. %d of %d jobs complete.\n", r.Date, r.Cores, r.LoadBefore, r.Jobs.Complete, r.Jobs.Jobs)
	_, _ = fmt.Fprintf(out, "%d packets within a tenant, %d sent to another one, %d times one arrived, %d times another pod could hear one; %d were not seen for want of room\n",
		r.Within, r.Tried, len(r.Reached), len(r.Overheard), r.Lost)
	for _, text := range slices.Concat(r.Reached, r.Overheard) {
		_, _ = fmt.Fprintln(out, "  "+text)
	}
	for _, failure := range r.Jobs.Failures {
		_, _ = fmt.Fprintf(out, "failed: %s\n", failure)
	}
}

// Verdict is an error where a packet has arrived, or where nothing was shown.
func (r Report) Verdict() error {
	switch {
	case len(r.Reached) > 0:
		return fmt.Errorf("packets of another tenant have reached a pod %d times", len(r.Reached))
	case r.Tried == 0 || r.Within == 0:
		return errors.New("nothing is shown: no packet within a tenant was seen, or none was sent to the other one")
	case r.Lost > 0:
		return fmt.Errorf("%d packets were not looked at", r.Lost)
	}
	return r.Jobs.Err()
}
