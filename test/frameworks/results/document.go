package results

import (
	"cmp"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"sigs.k8s.io/yaml"

	"lockstep.dev/lockstep/api/v1alpha1"
)

const head = `# The catalog, and what of it ran

Made of the results of ` + "`make frameworks`" + ` and of [catalog/runtimes](../catalog/runtimes); do not edit it. Each framework is started as its own documentation says, unmodified, in a
TrainJob of 2 slots per node, by the editor of a tenant, on the local cluster: real pods, TCP on Ethernet, no GPU. Images are made from Debian's packages and Python's
package index ([recipes](../test/images)); those for GPUs are yours to build ([recipes](../images)), and nobody here has built or run them.

## Runtimes

| runtime | image | image ID | ran |
|---|---|---|---|
`

const rowsHead = `
## Frameworks and launchers

*Runs*: all ranks ran on their nodes and the program ended well. *Learns*: the same small network learned more than 98 % on all ranks together, with the weights of a single
process ([mpi-train](../test/images/mpi-train/mpi-train.py), [torch-train](../test/images/torch-train/torch-train.py),
[tensorflow-train](../test/images/tensorflow-train/tensorflow-train.py)). *Exit*, *killed* and *memory*: rank 2 exited with 3, was killed by SIGKILL, or
took more memory than its pod may have, in the middle, and the condition of the TrainJob named that rank and how it ended; otherwise the reason that it gave, of another rank or of none,
or *no end*: the other ranks waited for that one still, 90 seconds later ([limits](limits.md)). All this is with mpi-controller as the executor. *Companion*: it runs, and learns
the same, where Kubeflow Trainer's own manager makes the pods and mpi-controller is the companion beside it. *Resumes*: Kueue stopped it for a job of higher priority, and it went
on from its checkpoint on a volume, with the loss that it had. – is for what does not apply: a benchmark learns nothing.

| framework | launcher | MPI | runtime | nodes | runs | learns | exit named | killed named | memory named | companion | resumes |
|---|---|---|---|---|---|---|---|---|---|---|---|
`

const commandsHead = `
## Commands

`

// Document is docs/catalog.md. catalog is the folder of the repository that has the specs of runtimes.
func Document(catalog fs.FS, rows []Row) (string, error) {
	files, err := fs.Glob(catalog, "*.yaml")
	if err != nil {
		return "", err
	}
	var text strings.Builder
	text.WriteString(head)
	for _, file := range files {
		spec, err := read(catalog, file)
		if err != nil {
			return "", err
		}
		digest, date := last(rows, spec)
		fmt.Fprintf(&text, "| [%s](../catalog/runtimes/%s) | `%s` | %s | %s |\n", spec.Metadata.Name, path.Base(file), spec.Spec.Image, digest, date)
	}
	text.WriteString(rowsHead)
	for _, r := range rows {
		fmt.Fprintf(&text, "| %s | `%s` | %s | %s | %d | %s | %s | %s | %s | %s | %s | %s |\n", r.Framework, r.Launcher, r.MPI, r.Runtime, r.Nodes, cmp.Or(r.Runs, Never), r.Learns, r.Exit, r.Killed, r.Memory,
			cmp.Or(r.Companion, Never), r.resumes())
	}
	text.WriteString(commandsHead)
	for _, r := range rows {
		nodes := fmt.Sprintf("%d nodes", r.Nodes)
		if r.Nodes == 1 {
			nodes = "one node"
		}
		fmt.Fprintf(&text, "%s by `%s` on %s, %s:\n\n```\n%s\n```\n\n", r.Framework, r.Launcher, r.MPI, nodes, r.Command)
	}
	return strings.TrimSuffix(text.String(), "\n"), nil
}

// resumes is never of a training that was not stopped, and nothing of what has nothing to go on from.
func (r Row) resumes() string {
	if r.Learns == NotApplicable {
		return NotApplicable
	}
	return cmp.Or(r.Resumes, Never)
}

func read(catalog fs.FS, file string) (*v1alpha1.MPIRuntime, error) {
	text, err := fs.ReadFile(catalog, file)
	if err != nil {
		return nil, err
	}
	spec := &v1alpha1.MPIRuntime{}
	if err := yaml.UnmarshalStrict(text, spec); err != nil {
		return nil, fmt.Errorf("decode %s: %w", file, err)
	}
	return spec, nil
}

// last is the image ID and the day of the newest run of a runtime with the image that it names now.
func last(rows []Row, spec *v1alpha1.MPIRuntime) (digest, date string) {
	digest, date = "–", Never
	for _, r := range rows {
		if r.Runtime == spec.Metadata.Name && r.Image == spec.Spec.Image && (date == Never || r.Date > date) {
			digest, date = "`"+short(r.Digest)+"`", r.Date
		}
	}
	return digest, date
}

func short(digest string) string { return digest[:min(len(digest), len("sha256:")+12)] }

// Write writes the document of a checkout.
func Write(root string) error {
	rows, err := Read(filepath.Join(root, File))
	if err != nil {
		return err
	}
	text, err := Document(os.DirFS(filepath.Join(root, "catalog", "runtimes")), rows)
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(root, Page), []byte(text), 0o644)
}
