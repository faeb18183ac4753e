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

func measure(ctx context.Context, p *platform.Platform, sizes []int32, runs int) (report Report, err error) {
	report.Lockstep, report.Stock, err = sides.Measure(ctx, p, "width", sizes, func(ctx context.Context, side sides.Side, pods int32) (Launches, error) {
		log, err := side.Run(ctx, pods, script, fmt.Sprint(pods), fmt.Sprint(runs))
		if err != nil {
			return Launches{}, err
		}
		l := Launches{Pods: int(pods)}
		err = l.read(log)
		return l, err
	})
	return report, err
}
