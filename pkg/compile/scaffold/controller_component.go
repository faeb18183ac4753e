package scaffold

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"

	"lockstep.dev/lockstep/charts"
	"lockstep.dev/lockstep/pkg/mpi"
)

// ChartPath is where a repository keeps the chart of mpi-controller.
const ChartPath = "charts/" + mpi.ControllerName

// controllerNamespace is where a cluster has it that says nothing else.
const controllerNamespace = "lockstep-system"

// controllerComponent is the component that runs the jobs of a cluster. Without it a TrainJob waits forever.
func controllerComponent(written Written) Value {
	v := Value{items: []string{
		"- chart: " + ChartPath,
		"  release: " + mpi.ControllerName,
		"  namespace: " + controllerNamespace,
	}}
	if image := controllerImage(written); image != "" {
		repository, key, version := splitImage(image)
		v.items = append(v.items, "  values:", "    image:", "      repository: "+scalarText(repository))
		if version != "" {
			v.items = append(v.items, "      "+key+": "+scalarText(version))
		}
	}
	return v.Because("It runs the TrainJobs; beside Kubeflow Trainer it explains and guards them.")
}

// controllerImage is what was written, or the image beside that of the agent: both are built from one release. "" leaves it to the chart.
func controllerImage(written Written) string {
	if image := strings.Join(written["controller-image"], ""); image != "" {
		return image
	}
	agent := strings.Join(written["agent-image"], "")
	if beside := strings.Replace(agent, "/mpi-agent", "/"+mpi.ControllerName, 1); beside != agent && !strings.Contains(agent, "@") {
		return beside
	}
	return ""
}

// splitImage returns the parts of a reference as the chart has them; key is tag or digest.
func splitImage(image string) (repository, key, version string) {
	if repository, digest, found := strings.Cut(image, "@"); found {
		return repository, "digest", digest
	}
	if colon := strings.LastIndex(image, ":"); colon > strings.LastIndex(image, "/") {
		return image[:colon], "tag", image[colon+1:]
	}
	return image, "tag", ""
}

// controllerChart returns the files of the chart, or none where the repository has one.
func controllerChart(root fs.FS) ([]File, error) {
	if _, err := fs.Stat(root, ChartPath); !errors.Is(err, fs.ErrNotExist) {
		return nil, nil // what is wrong with it says whoever reads it
	}
	var files []File
	err := fs.WalkDir(charts.Controller, mpi.ControllerName, func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		data, err := fs.ReadFile(charts.Controller, name)
		files = append(files, File{Path: path.Join("charts", name), Data: data})
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("read the chart of %s: %w", mpi.ControllerName, err)
	}
	return files, nil
}
