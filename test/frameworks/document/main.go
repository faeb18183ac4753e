// Command document writes docs/catalog.md of this checkout: `go run ./test/frameworks/document`.
package main

import (
	"fmt"
	"os"

	"lockstep.dev/lockstep/test/frameworks/results"
	"lockstep.dev/lockstep/test/reporoot"
)

func main() {
	if err := write(); err != nil {
		fmt.Fprintln(os.Stderr, "document:", err)
		os.Exit(1)
	}
}

func write() error {
	root, err := reporoot.Find()
	if err != nil {
		return err
	}
	return results.Write(root)
}
