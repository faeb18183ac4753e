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

func measure(ctx context.Context, p *platform.Platform, sizes []int32, runs int) (report Report, err error) {
	into := func(launches *[]Launches) func(context.Context, sides.Side) error {
		return func(ctx context.Context, side sides.Side) error {
			for _, pods := range sizes {
				log, err := side.Run(ctx, pods, script, fmt.Sprint(pods), fmt.Sprint(runs))
				if err != nil {
					return err
				}
				l := Launches{Pods: int(pods)}
				if err := l.read(log); err != nil {
					return err
				}
				fmt.Fprintf(os.Stdout, "%s\t%s\n", side.Runtime, l.row())
				*launches = append(*launches, l)
			}
			return nil
		}
	}
	err = sides.Measure(ctx, p, "width", into(&report.Lockstep), into(&report.Stock))
	return report, err
}
