package reviewer

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"lockstep.dev/lockstep/internal/cli"
	"lockstep.dev/lockstep/pkg/compile/revision"
	"lockstep.dev/lockstep/pkg/compile/source"
)

// workingTree is how the files of --root are called in reports, as they are on disk.
const workingTree = "working tree"

// side is one of the two states that are compared.
type side struct {
	// name is how it was asked for, hash the commit behind it, "" for a folder.
	name, hash string
	files      fs.FS
	close      func() error
}

// sides opens what --from and --to name. The default is what a pull request changes: from where the work left the default branch to
// the working tree.
func sides(root, from, to string) (before, after side, err error) {
	s := opener{root: root}
	if to == "" {
		after, err = s.workingTree()
	} else {
		after, err = s.open("--to", to, nil)
	}
	if err != nil {
		return side{}, side{}, err
	}
	if from == "" {
		before, err = s.parting(to, after.files)
	} else {
		before, err = s.open("--from", from, after.files)
	}
	if err != nil {
		_ = after.close() // nothing was written
		return side{}, side{}, err
	}
	return before, after, nil
}

// opener opens sides. It opens the repository of --root when the first revision is asked for.
type opener struct {
	root       string
	repository *revision.Repository
}

// workingTree takes the files of --root as they are on disk.
func (o *opener) workingTree() (side, error) {
	opened, err := revision.Open(o.root)
	if err != nil {
		// Two folders can be compared without git.
		return folderSide(o.root, workingTree)
	}
	if opened.Bare() {
		return side{}, fmt.Errorf("--to is not given, and `%s` is a bare repository, which has no working tree: name the revision that is compared", o.root)
	}
	o.repository = opened
	found, err := folderSide(o.root, workingTree)
	if err == nil {
		found.files = opened.WorkingTree(found.files)
	}
	return found, err
}

// isPath says whether a name can only be that of a folder: no revision begins so.
func isPath(name string) bool {
	return strings.HasPrefix(name, ".") || filepath.IsAbs(name)
}

// open takes a revision, or a folder of specs. A name that could be both is refused: `./main` is always the folder.
func (o *opener) open(flag, name string, beside fs.FS) (side, error) {
	info, err := os.Stat(name)
	isFolder := err == nil && info.IsDir()
	switch {
	case isFolder && strings.ContainsAny(name, `/\`) || name == "." || name == "..":
		return folderSide(name, name)
	case isPath(name) && err != nil:
		return side{}, fmt.Errorf("%s `%s`: %w", flag, name, source.Reason(err))
	case isPath(name):
		return side{}, fmt.Errorf("%s `%s` is a file, not a folder", flag, name)
	}
	found, err := o.revision(name)
	switch {
	case err == nil && isFolder:
		return side{}, fmt.Errorf("%s `%s` is a revision and a folder: write `./%s` for the folder, or `refs/heads/%s` for the branch", flag, name, name, name)
	case err == nil:
		return side{name: name, hash: found.Hash(), files: found.FS(beside), close: nothing}, nil
	case isFolder:
		return folderSide(name, name)
	case errors.Is(err, revision.ErrNoRepository):
		return side{}, fmt.Errorf("%s `%s` is no folder, and %w: give two folders, or set --root to a folder of a git repository", flag, name, err)
	}
	return side{}, misnamed(flag, err)
}

// misnamed is the error about a revision: a text that is no name of one is a mistake on the command line.
func misnamed(flag string, err error) error {
	err = fmt.Errorf("%s: %w", flag, err)
	if errors.Is(err, revision.ErrName) {
		return err
	}
	return cli.Failure(err)
}

// parting is where a revision, HEAD for the working tree, left the default branch.
func (o *opener) parting(of string, beside fs.FS) (side, error) {
	found, err := o.merged(cmp.Or(of, "HEAD"))
	if errors.Is(err, revision.ErrNoRepository) {
		return side{}, fmt.Errorf("--from is not given, and %w: name a folder to compare with", err)
	}
	if err != nil {
		return side{}, cli.Failure(fmt.Errorf("find what to compare with, as --from is not given: %w", err))
	}
	return side{name: found.Name, hash: found.Hash(), files: found.FS(beside), close: nothing}, nil
}

func (o *opener) merged(name string) (*revision.Revision, error) {
	own, err := o.revision(name)
	if err != nil {
		return nil, err
	}
	branch, err := o.repository.Default()
	if err != nil {
		return nil, err
	}
	return o.repository.MergeBase(branch, own)
}

func (o *opener) revision(name string) (*revision.Revision, error) {
	if o.repository == nil {
		opened, err := revision.Open(o.root)
		if err != nil {
			return nil, err
		}
		o.repository = opened
	}
	return o.repository.Revision(name)
}

// folderSide opens a folder, out of which nothing is read.
func folderSide(folder, name string) (side, error) {
	input := cli.Input{Root: folder}
	root, err := input.Open()
	if err != nil {
		return side{}, err
	}
	return side{name: name, files: root.FS(), close: root.Close}, nil
}

func nothing() error { return nil }
