// Package dirs says where everything that belongs to the local cluster lives
// on disk. It reads the environment once and creates nothing.
package dirs

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
)

// SourceVariable names the environment variable that overrides where the
// folder test/cluster of the source tree is looked for.
const SourceVariable = "LOCKSTEP_CLUSTER_SOURCE"

// Dirs are the roots of all paths.
type Dirs struct {
	// Cache survives `down`: finished programs, image archives and each node's
	// image store. Everything below it can be made again.
	Cache string
	// State belongs to the cluster that runs now, or ran last.
	State string
}

// Find reads the XDG base directories (XDG Base Directory Specification 0.8).
func Find() (Dirs, error) {
	home, err := os.UserHomeDir()
	if err != nil {
		return Dirs{}, fmt.Errorf("find the home directory: %w", err)
	}
	return Dirs{
		Cache: filepath.Join(base("XDG_CACHE_HOME", home, ".cache"), "lockstep"),
		State: filepath.Join(base("XDG_STATE_HOME", home, ".local", "state"), "lockstep", "cluster"),
	}, nil
}

// base follows the specification: relative values are ignored.
func base(variable, home string, fallback ...string) string {
	if v := os.Getenv(variable); filepath.IsAbs(v) {
		return v
	}
	return filepath.Join(append([]string{home}, fallback...)...)
}

// Programs holds one folder for every program that was built.
func (d Dirs) Programs() string { return filepath.Join(d.Cache, "programs") }

// Images holds image archives made from programs.
func (d Dirs) Images() string { return filepath.Join(d.Cache, "images") }

// Store is where the image store of node i is kept between clusters.
func (d Dirs) Store(i int) string {
	return filepath.Join(d.Cache, "nodes", nodeName(i), "containerd")
}

// Stores holds the image stores of all nodes.
func (d Dirs) Stores() string { return filepath.Join(d.Cache, "nodes") }

// Node holds the state of node i: its own /var, configuration and identity.
func (d Dirs) Node(i int) string { return filepath.Join(d.State, nodeName(i)) }

// Logs holds the logs of the components of node i. They survive `down`, so
// that a cluster that failed can be understood, until the next `up`.
func (d Dirs) Logs(i int) string { return filepath.Join(d.State, "log", nodeName(i)) }

// PKI holds certificates, keys and kubeconfigs.
func (d Dirs) PKI() string { return filepath.Join(d.State, "pki") }

// Volumes holds what is on the PersistentVolumes of the cluster. It goes with `down`.
func (d Dirs) Volumes() string { return filepath.Join(d.State, "volumes") }

// Kubeconfig is the administrator's.
func (d Dirs) Kubeconfig() string { return filepath.Join(d.PKI(), "admin.conf") }

// Sysctls is the file that remembers the machine's own sysctl values.
func (d Dirs) Sysctls() string { return filepath.Join(d.State, "sysctls.json") }

// Bridging is the file that remembers that a kernel module was loaded.
func (d Dirs) Bridging() string { return filepath.Join(d.State, "bridging.json") }

func nodeName(i int) string { return "node" + strconv.Itoa(i) }

// Source finds the folder test/cluster of the source tree, which holds the
// pinned modules of the programs: the value of LOCKSTEP_CLUSTER_SOURCE, or the
// folder that this binary was compiled from, which one built with -trimpath
// does not know, or one above this binary, or one above the current folder.
func Source() (string, error) {
	if v := os.Getenv(SourceVariable); v != "" {
		if !isSource(v) {
			return "", fmt.Errorf("%s=%s holds no programs/kubernetes/go.mod: set it to the folder test/cluster", SourceVariable, v)
		}
		return filepath.Abs(v)
	}
	if _, file, _, ok := runtime.Caller(0); ok && filepath.IsAbs(file) {
		if dir := filepath.Join(filepath.Dir(file), "..", ".."); isSource(dir) {
			return filepath.Clean(dir), nil
		}
	}
	if self, err := os.Executable(); err == nil {
		if dir, found := above(filepath.Dir(self)); found {
			return dir, nil
		}
	}
	current, err := os.Getwd()
	if err != nil {
		return "", fmt.Errorf("find the source folder: %w", err)
	}
	if dir, found := above(current); found {
		return dir, nil
	}
	return "", errors.New("the folder test/cluster was not found: run this inside the source tree, or set " + SourceVariable)
}

// above finds the source folder that holds a folder, or lies in one that does.
func above(dir string) (string, bool) {
	for ; ; dir = filepath.Dir(dir) {
		for _, candidate := range []string{dir, filepath.Join(dir, "test", "cluster")} {
			if isSource(candidate) {
				return candidate, true
			}
		}
		if dir == filepath.Dir(dir) {
			return "", false
		}
	}
}

func isSource(dir string) bool {
	_, err := os.Stat(filepath.Join(dir, "programs", "kubernetes", "go.mod"))
	return err == nil
}
