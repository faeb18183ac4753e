// Command gen makes the archive of schemas that package schema embeds.
//
//	go run ./pkg/compile/schema/gen FILE
//
// It reads OpenAPI v3 of Kubernetes and CRDs of other projects from the module cache, keeps the kinds of wanted_kinds.go, reduces each to a
// shape.Table and writes them into one zip file. The bytes depend only on the sources of this command and of package shape: files
// are sorted and have no time.
//
// It needs nothing that the root module lacks, so it is part of it; the pins are in package pinned.
package main

import (
	"fmt"
	"os"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: gen FILE")
		os.Exit(2)
	}
	if err := generateArchive(os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, "gen:", err)
		os.Exit(1)
	}
}
