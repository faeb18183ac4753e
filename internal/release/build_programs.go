package main

import (
	"debug/buildinfo"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

// compilerPrograms returns the names of the programs for people, which belong into one folder: all that cmd has of the compiler.
func compilerPrograms() ([]string, error) {
	folders, err := filepath.Glob("cmd/runtime-compiler*")
	if err != nil || len(folders) == 0 {
		return nil, fmt.Errorf("there is no cmd/runtime-compiler: release runs in the root of the repository (%w)", err)
	}
	var names []string
	for _, folder := range folders {
		names = append(names, filepath.Base(folder))
	}
	return names, nil
}

// podImage is the image of a program that runs in pods.
type podImage struct {
	program string
	// links are other names of the program, beside it.
	links []string
	// with are further programs in it.
	with []string
}

// podImages are named by charts and compiled runtimes. test/images has the images of tests.
var podImages = []podImage{
	// mpirun calls the agent by the names of remote shells.
	{program: "mpi-agent", links: []string{"rsh", "ssh"}, with: []string{"mpi-data"}},
	{program: "mpi-controller"},
	{program: "mpi-dashboard"},
}

func podPrograms() []string {
	var names []string
	for _, image := range podImages {
		names = append(append(names, image.program), image.with...)
	}
	return names
}

// programBuild is a program for a platform.
type programBuild struct {
	program, system, arch string
	file                  string
	info                  *buildinfo.BuildInfo
}

// versionVariable is what programs read their version from.
const versionVariable = "lockstep.dev/lockstep/internal/version.release"

// buildPrograms compiles programs for all architectures of some systems into a folder.
func (r release) buildPrograms(programs, systems []string, folder string) ([]programBuild, error) {
	var builds []programBuild
	for _, system := range systems {
		for _, arch := range r.arches {
			for _, program := range programs {
				b := programBuild{program: program, system: system, arch: arch}
				b.file = filepath.Join(folder, system, arch, b.fileName())
				if err := r.compileProgram(&b); err != nil {
					return nil, err
				}
				builds = append(builds, b)
			}
		}
	}
	return builds, nil
}

// compileProgram builds a program.
func (r release) compileProgram(b *programBuild) error {
	fmt.Printf("go build %s for %s/%s\n", b.program, b.system, b.arch)
	cmd := exec.Command("go", append(append([]string{"build"}, r.buildFlags()...), "-o", b.file, "./cmd/"+b.program)...)
	cmd.Env = b.goEnvironment()
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("build %s for %s/%s: %w\n%s", b.program, b.system, b.arch, err, out)
	}
	var err error
	b.info, err = buildinfo.ReadFile(b.file)
	return err
}

// buildFlags are those of go build. The revision is not stamped: a tag that only adds the schemas would change every byte.
func (r release) buildFlags() []string {
	return []string{"-trimpath", "-buildvcs=false", "-ldflags=-s -w -buildid= -X " + versionVariable + "=" + r.version}
}

// goEnvironment is that in which Go builds for the platform.
func (b programBuild) goEnvironment() []string {
	return append(os.Environ(), "GOFLAGS=", "CGO_ENABLED=0", "GOOS="+b.system, "GOARCH="+b.arch)
}
