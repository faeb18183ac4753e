// Command release makes the files of a release into a folder: archives of the compiler's programs and of kubectl's plugin, images as OCI layouts, the chart, the
// licences of what is linked (NOTICE), a bill of materials (SPDX), and the checksums of all of them. It needs git and the module cache, and
// no registry.
//
// The same commit and the same version of Go give the same bytes: programs are built with -trimpath, and everything has the time of the commit.
package main

import (
	"cmp"
	"flag"
	"fmt"
	"os"
	"regexp"
	"strings"
)

// versions are those that Go modules and Helm both take: semantic, with a v in front.
var versions = regexp.MustCompile(`^v(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)(-[0-9A-Za-z.-]+)?$`)

func main() {
	version := flag.String("version", "", "`VERSION` of the release, such as v0.1.0")
	out := flag.String("out", "build/release", "`folder` that the files are written to; its content is replaced")
	url := flag.String("url", "", "`URL` of the folder that people fetch the files from, for the manifest of Krew (default https://lockstep.dev/releases/VERSION)")
	arch := flag.String("arch", "amd64,arm64", "architectures of Linux, separated by commas")
	flag.Parse()
	if err := run(*version, *out, *url, strings.Split(*arch, ",")); err != nil {
		fmt.Fprintln(os.Stderr, "release:", err)
		os.Exit(1)
	}
}

func run(version, out, url string, arches []string) error {
	if !versions.MatchString(version) {
		return fmt.Errorf("the version is `%s`, want one such as v0.1.0 or v0.2.0-rc.1", version)
	}
	source, err := readSourceCommit(version)
	if err != nil {
		return err
	}
	r := release{version: version, arches: arches, out: out, url: cmp.Or(strings.TrimSuffix(url, "/"), "https://lockstep.dev/releases/"+version), source: source}
	return r.makeFiles()
}
