package main

import (
	"fmt"
	"runtime"

	"lockstep.dev/lockstep/internal/version"
)

func printVersion([]string) int {
	fmt.Println(versionText())
	return 0
}

func versionText() string {
	return fmt.Sprintf("mpi-agent %s %s/%s", version.String(), runtime.GOOS, runtime.GOARCH)
}
