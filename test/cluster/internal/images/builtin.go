package images

import (
	"fmt"
	"os"
	"path/filepath"

	"lockstep.dev/lockstep/test/cluster/internal/programs"
	"lockstep.dev/lockstep/test/images/archive"
)

// The cluster's own images. The registry does not exist: everything comes from
// archives.
const (
	Pause   = "lockstep.test/pause:1"
	CoreDNS = "lockstep.test/coredns:v1.15.0"
	JobSet  = "lockstep.test/jobset:v0.12.0"
	Trainer = "lockstep.test/trainer:v2.3.0"
	Kueue   = "lockstep.test/kueue:v0.19.2"
	Kwok    = "lockstep.test/kwok:v0.8.0"
	// MPIOperator is what people come from.
	MPIOperator = "lockstep.test/mpi-operator:v0.8.0"
	// Coscheduler is scheduler-plugins' kube-scheduler.
	Coscheduler = "lockstep.test/coscheduler:v0.35.4-devel"
)

// builtin is an image that holds one program.
type builtin struct {
	reference, program, path string
}

// builtins: the path of the program is what upstream's manifests expect.
var builtins = []builtin{
	{reference: Pause, program: "pause", path: "/pause"},
	{reference: CoreDNS, program: "coredns", path: "/coredns"},
	{reference: JobSet, program: "jobset-manager", path: "/manager"},
	{reference: Trainer, program: "trainer-manager", path: "/manager"},
	{reference: Kueue, program: "kueue-manager", path: "/manager"},
	{reference: Kwok, program: "kwok", path: "/kwok"},
	{reference: MPIOperator, program: "mpi-operator", path: "/opt/mpi-operator"},
	{reference: Coscheduler, program: "coscheduler", path: "/kube-scheduler"},
}

// Builtin makes archives of the images of the built programs in a folder,
// unless they are there. The name of an archive holds that of the program's folder, which
// is a hash of everything in it.
func Builtin(dir string, built map[string]programs.Program) ([]Archive, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, fmt.Errorf("make the folder for image archives: %w", err)
	}
	var archives []Archive
	for _, b := range builtins {
		program := built[b.program].Path
		if program == "" {
			continue
		}
		file := filepath.Join(dir, filepath.Base(filepath.Dir(program))+".tar")
		if _, err := os.Stat(file); err != nil {
			spec := archive.Spec{
				Reference:  b.reference,
				Files:      []archive.File{{Path: b.path, Source: program, Mode: 0o755}},
				Entrypoint: []string{b.path},
				Env:        []string{"PATH=/"},
				User:       "65532:65532",
			}
			if _, err := archive.Scratch(spec, file); err != nil {
				return nil, fmt.Errorf("make image %s: %w", b.reference, err)
			}
		}
		a, err := Open(file)
		if err != nil {
			return nil, err
		}
		archives = append(archives, a)
	}
	return archives, nil
}
