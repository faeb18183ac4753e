package main

import (
	"context"
	_ "embed" // the script
	"fmt"

	"lockstep.dev/lockstep/test/bench/sides"
	"lockstep.dev/lockstep/test/platform"
)

//go:embed measure.sh
var script string

const (
	// steps and work make a run of some three seconds on one processor: 200 steps of 8 million multiplications, which 8 ranks can share.
	steps = 200
	work  = 8
)

func measure(ctx context.Context, p *platform.Platform, sizes []int32, runs int) (report Report, err error) {
	report.Lockstep, report.Stock, err = sides.Measure(ctx, p, "scaling", sizes, func(ctx context.Context, side sides.Side, pods int32) (Size, error) {
		log, err := side.Run(ctx, pods, script, fmt.Sprint(pods), fmt.Sprint(runs), fmt.Sprint(steps), fmt.Sprint(work))
		if err != nil {
			return Size{}, err
		}
		s := Size{Pods: int(pods)}
		err = s.read(log)
		return s, err
	})
	return report, err
}
