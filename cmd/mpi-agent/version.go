package main

import (
	"fmt"
	"runtime"
	"runtime/debug"
)

// release is set by the linker for releases: -X main.release=v1.2.3.
var release = ""

func version([]string) int {
	fmt.Println(versionText())
	return 0
}

func versionText() string {
	name := release
	if info, found := debug.ReadBuildInfo(); name == "" && found {
		name = info.Main.Version
	}
	return fmt.Sprintf("mpi-agent %s %s/%s", name, runtime.GOOS, runtime.GOARCH)
}
