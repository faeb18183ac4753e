package main

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"lockstep.dev/lockstep/internal/cli"
	"lockstep.dev/lockstep/internal/cli/compiling"
	"lockstep.dev/lockstep/internal/gitfs"
	"lockstep.dev/lockstep/pkg/compile/source"
)

// workingTree is how the files of --root are called in reports, as they are on disk.
const workingTree = "working tree"

// comparedState is one of the two states that are compared.
type comparedState struct {
	// name is how it was asked for, hash the commit behind it, "" for a folder.
	name, hash string
	files      fs.FS
	// top is the whole repository as far as it is known, for the files beside the specs.
	top   fs.FS
	close func() error
}

// openStates opens what --from and --to name. The default is what a pull request changes: from where the work left the default branch to
// the working tree.
func openStates(root, from, to string) (before, after comparedState, err error) {
	s := stateOpener{root: root}
	if to == "" {
		after, err = s.workingTree()
	} else {
		after, err = s.openNamed("--to", to)
	}
	if err != nil {
		return comparedState{}, comparedState{}, err
	}
	if from == "" {
		before, err = s.mergeBase(to)
	} else {
		before, err = s.openNamed("--from", from)
	}
	if err != nil {
		_ = after.close() // nothing was written
		return comparedState{}, comparedState{}, err
	}
	return before, after, nil
}

// stateOpener opens sides. It opens the repository of --root when the first revision is asked for.
type stateOpener struct {
	root       string
	repository *gitfs.Repository
}

// workingTree takes the files of --root as they are on disk.
func (o *stateOpener) workingTree() (comparedState, error) {
	opened, err := gitfs.Open(o.root)
	if err != nil {
		// Two folders can be compared without git.
		return openFolder(o.root, workingTree)
	}
	if opened.IsBare() {
		return comparedState{}, fmt.Errorf("--to is not given, and `%s` is a bare repository, which has no working tree: name the revision that is compared", o.root)
	}
	o.repository = opened
	found, err := openFolder(o.root, workingTree)
	if err == nil {
		found.files = opened.WorkingTree(os.DirFS(o.root).(gitfs.FolderFS))
		if top := opened.Top(); top != "" {
			found.top = source.Whole(os.DirFS(top))
		}
	}
	return found, err
}

// isPath reports whether a name can only be that of a folder: no revision begins so.
func isPath(name string) bool {
	return strings.HasPrefix(name, ".") || filepath.IsAbs(name)
}

// openNamed takes a revision, or a folder of specs. A name that could be both is refused: `./main` is always the folder.
func (o *stateOpener) openNamed(flag, name string) (comparedState, error) {
	info, err := os.Stat(name)
	isFolder := err == nil && info.IsDir()
	switch {
	case isFolder && strings.ContainsAny(name, `/\`) || name == "." || name == "..":
		return openFolder(name, name)
	case isPath(name) && err != nil:
		return comparedState{}, fmt.Errorf("%s `%s`: %w", flag, name, source.Reason(err))
	case isPath(name):
		return comparedState{}, fmt.Errorf("%s `%s` is a file, not a folder", flag, name)
	}
	found, err := o.revision(name)
	switch {
	case err == nil && isFolder:
		return comparedState{}, fmt.Errorf("%s `%s` is a revision and a folder: write `./%s` for the folder, or `refs/heads/%s` for the branch", flag, name, name, name)
	case err == nil:
		return comparedState{name: name, hash: found.Hash(), files: found.FS(), top: found.Top(), close: noCleanup}, nil
	case isFolder:
		return openFolder(name, name)
	case errors.Is(err, gitfs.ErrNoRepository):
		return comparedState{}, fmt.Errorf("%s `%s` is not a folder, and %w: name two folders, or set --root to a folder of a git repository", flag, name, err)
	}
	return comparedState{}, badRevisionError(flag, err)
}

// badRevisionError is the error about a revision: a text that is not a name of one is a mistake on the command line.
func badRevisionError(flag string, err error) error {
	err = fmt.Errorf("%s: %w", flag, err)
	if errors.Is(err, gitfs.ErrName) {
		return err
	}
	return cli.Failure(err)
}

// mergeBase is where a revision, HEAD for the working tree, left the default branch.
func (o *stateOpener) mergeBase(of string) (comparedState, error) {
	found, err := o.mergeBaseOf(cmp.Or(of, "HEAD"))
	if errors.Is(err, gitfs.ErrNoRepository) {
		return comparedState{}, fmt.Errorf("--from is not given, and %w: name a folder to compare with", err)
	}
	if err != nil {
		return comparedState{}, cli.Failure(fmt.Errorf("find what to compare with, as --from is not given: %w", err))
	}
	return comparedState{name: found.Name, hash: found.Hash(), files: found.FS(), top: found.Top(), close: noCleanup}, nil
}

func (o *stateOpener) mergeBaseOf(name string) (*gitfs.Revision, error) {
	own, err := o.revision(name)
	if err != nil {
		return nil, err
	}
	branch, err := o.repository.DefaultBranch()
	if err != nil {
		return nil, err
	}
	return o.repository.MergeBase(branch, own)
}

func (o *stateOpener) revision(name string) (*gitfs.Revision, error) {
	if o.repository == nil {
		opened, err := gitfs.Open(o.root)
		if err != nil {
			return nil, err
		}
		o.repository = opened
	}
	return o.repository.Revision(name)
}

// openFolder opens a folder of specs. No path leads out of it.
func openFolder(folder, name string) (comparedState, error) {
	input := compiling.Input{Root: folder}
	root, err := input.OpenRoot()
	if err != nil {
		return comparedState{}, err
	}
	return comparedState{name: name, files: root.FS(), top: source.Whole(root.Root.FS()), close: root.Close}, nil
}

func noCleanup() error { return nil }
