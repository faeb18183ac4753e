// Package charts holds the chart of mpi-controller, so that the compiler can write it into a repository that lacks it.
package charts

import "embed"

// Controller is the folder mpi-controller with its chart.
//
//go:embed all:mpi-controller
var Controller embed.FS
