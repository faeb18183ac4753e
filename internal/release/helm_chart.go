package main

import (
	"bytes"
	"fmt"
	"path/filepath"
	"strings"
)

// packageChart packages a chart as `helm package --version --app-version` does, with the times of the release. Its images are of the appVersion.
func (r release) packageChart(folder string) error {
	files, err := readFolder(folder)
	if err != nil {
		return err
	}
	name, number := filepath.Base(folder), strings.TrimPrefix(r.version, "v")
	for i, f := range files {
		if f.name == name+"/Chart.yaml" {
			files[i].data = replaceLines(f.data, "version: "+number, "appVersion: "+r.version)
		}
	}
	data, err := tarGzip(files, r.source.time)
	if err != nil {
		return err
	}
	return r.writeFile(fmt.Sprintf("%s-%s.tgz", name, number), data)
}

// replaceLines replaces the lines that begin with the same key.
func replaceLines(data []byte, replacements ...string) []byte {
	lines := bytes.SplitAfter(data, []byte("\n"))
	for i, line := range lines {
		for _, replacement := range replacements {
			if key, _, _ := strings.Cut(replacement, ":"); bytes.HasPrefix(line, []byte(key+":")) {
				lines[i] = []byte(replacement + "\n")
			}
		}
	}
	return bytes.Join(lines, nil)
}
