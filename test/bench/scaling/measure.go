package main

import (
	"context"
	_ "embed" // the script
	"fmt"
	"os"

	"lockstep.dev/lockstep/test/bench/sides"
	"lockstep.dev/lockstep/test/platform"
)

//go:embed measure.sh
var script string

const (
	// steps and work make a run of some two seconds on one processor: 200 steps of 5 million multiplications.
	steps = 200
	work  = 5
)

func measure(ctx context.Context, p *platform.Platform, sizes []int32, runs int) (report Report, err error) {
	into := func(all *[]Size) func(context.Context, sides.Side) error {
		return func(ctx context.Context, side sides.Side) error {
			for _, pods := range sizes {
				log, err := side.Run(ctx, pods, script, fmt.Sprint(pods), fmt.Sprint(runs), fmt.Sprint(steps), fmt.Sprint(work))
				if err != nil {
					return err
				}
				size := Size{Pods: int(pods)}
				if err := size.read(log); err != nil {
					return err
				}
				fmt.Fprintf(os.Stdout, "%s\t%s\n", side.Runtime, size.row())
				*all = append(*all, size)
			}
			return nil
		}
	}
	err = sides.Measure(ctx, p, "scaling", into(&report.Lockstep), into(&report.Stock))
	return report, err
}
