package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"regexp"
	"strconv"
	"text/tabwriter"

	"lockstep.dev/lockstep/test/bench/sides"
	"lockstep.dev/lockstep/test/platform"
	"lockstep.dev/lockstep/test/testjob"
)

// ownProgram is a program of the user's own on a cluster of the user's own.
type ownProgram struct {
	runtime, namespace, queue, rate string
	slots                           int
	command                         []string
}

// run measures until it is done, or Ctrl-C.
func (o ownProgram) run(sizes []int32, runs int) error {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	return o.measure(ctx, sizes, runs)
}

// measure prints the median rate on each number of nodes, and what part it is of the rate on the smallest one, node by node.
func (o ownProgram) measure(ctx context.Context, sizes []int32, runs int) error {
	rate, err := regexp.Compile(o.rate)
	if err != nil || rate.NumSubexp() == 0 || len(o.command) == 0 {
		return errors.Join(err, errors.New("want -rate with an expression that has a group, and the command behind --"))
	}
	user, err := platform.UserOf(os.Getenv("KUBECONFIG"))
	if err != nil {
		return err
	}
	table := tabwriter.NewWriter(os.Stdout, 0, 4, 2, ' ', 0)
	defer table.Flush()
	_, _ = fmt.Fprintln(table, "NODES\tRATE\tOF LINEAR")
	perNode := 0.0
	for _, nodes := range sizes {
		var rates []float64
		for i := range runs {
			r, err := o.rateOf(ctx, user, fmt.Sprintf("scaling-%d-%d", nodes, i), nodes, rate)
			if err != nil {
				return err
			}
			rates = append(rates, r)
		}
		got := sides.Median(rates)
		if perNode == 0 {
			perNode = got / float64(nodes)
		}
		_, _ = fmt.Fprintf(table, "%d\t%.4g\t%.1f %%\n", nodes, got, 100*got/(perNode*float64(nodes)))
	}
	return nil
}

func (o ownProgram) rateOf(ctx context.Context, user testjob.User, name string, nodes int32, rate *regexp.Regexp) (float64, error) {
	job := testjob.Job{Name: name, Namespace: o.namespace, Runtime: o.runtime, Nodes: nodes, Slots: int32(o.slots), Queue: o.queue, Command: o.command}
	var log bytes.Buffer
	result, err := testjob.Run(ctx, user, job, &log)
	if err != nil {
		return 0, err
	}
	if result.Condition != "Complete" {
		return 0, fmt.Errorf("TrainJob %s, which is kept, ended as %s (%s): %s", name, result.Condition, result.Reason, result.Message)
	}
	found := rate.FindAllStringSubmatch(log.String(), -1)
	if len(found) == 0 {
		return 0, fmt.Errorf("TrainJob %s, which is kept, printed nothing that -rate finds", name)
	}
	got, err := strconv.ParseFloat(found[len(found)-1][1], 64)
	if err != nil {
		return 0, fmt.Errorf("TrainJob %s, which is kept: the rate is no number: %w", name, err)
	}
	return got, user.Client.Delete(ctx, job.TrainJob())
}
