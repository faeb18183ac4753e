package branch

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"github.com/go-git/go-billy/v5"
	"github.com/go-git/go-billy/v5/util"
	"github.com/go-git/go-git/v5"
	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/storage/filesystem"
)

// OpenLocal returns a branch of the repository that a folder is in.
func OpenLocal(folder, name string) (*Branch, error) {
	opened, reference, err := openBranch(folder, name)
	if err != nil {
		return nil, err
	}
	return &Branch{name: name, git: opened, place: &localBranch{git: opened, reference: reference}}, nil
}

// isCheckedOut reports whether the branch is checked out here, or in a linked worktree.
func (l *localBranch) isCheckedOut() bool {
	head, err := l.git.Reference(plumbing.HEAD, false)
	if err == nil && head.Target() == l.reference {
		if config, err := l.git.Config(); err == nil && !config.Core.IsBare {
			return true
		}
	}
	files := l.gitFilesystem()
	if files == nil {
		return false
	}
	worktrees, err := files.ReadDir("worktrees")
	if err != nil {
		return false
	}
	for _, w := range worktrees {
		data, err := util.ReadFile(files, files.Join("worktrees", w.Name(), "HEAD"))
		if err == nil && strings.TrimSpace(string(data)) == "ref: "+l.reference.String() {
			return true
		}
	}
	return false
}

// CheckName refuses what is not a name of a branch, and what git reads as something else: HEAD, and full names of references.
func CheckName(name string) error {
	err := plumbing.NewBranchReferenceName(name).Validate()
	within, isFull := strings.CutPrefix(name, "refs/")
	switch {
	case err != nil:
		return fmt.Errorf("`%s` is not a name of a branch: %w", name, err)
	case name == plumbing.HEAD.String():
		return fmt.Errorf("`%s` is not a name of a branch: git reads it as what is checked out", name)
	case isFull && strings.HasPrefix(within, "heads/"):
		return fmt.Errorf("`%s` is the full name of a branch: write `%s`", name, strings.TrimPrefix(within, "heads/"))
	case isFull:
		return fmt.Errorf("`%s` is not a name of a branch: git reads it as the full name of a reference", name)
	}
	return nil
}

func openBranch(folder, name string) (*git.Repository, plumbing.ReferenceName, error) {
	if err := CheckName(name); err != nil {
		return nil, "", err
	}
	opened, err := git.PlainOpenWithOptions(folder, &git.PlainOpenOptions{DetectDotGit: true, EnableDotGitCommonDir: true})
	if errors.Is(err, git.ErrRepositoryNotExists) {
		opened, err = git.PlainOpen(folder)
	}
	if err != nil {
		return nil, "", fmt.Errorf("open the git repository of `%s`: %w", folder, err)
	}
	return opened, plumbing.NewBranchReferenceName(name), nil
}

// localBranch is a branch of this repository.
type localBranch struct {
	git       *git.Repository
	reference plumbing.ReferenceName
}

func (l *localBranch) tip(context.Context) (plumbing.Hash, error) {
	found, err := l.git.Reference(l.reference, true)
	if errors.Is(err, plumbing.ErrReferenceNotFound) {
		return plumbing.ZeroHash, nil
	}
	if err != nil {
		return plumbing.ZeroHash, err
	}
	return found.Hash(), nil
}

// advance holds git's own lock of the branch, so that git and others that publish see one change after the other.
func (l *localBranch) advance(ctx context.Context, from, to plumbing.Hash) error {
	release, err := l.lockReference()
	if err != nil {
		return err
	}
	defer release()
	now, err := l.tip(ctx)
	switch {
	case err != nil:
		return err
	case now != from:
		return errMoved
	}
	if err := l.git.Storer.SetReference(plumbing.NewHashReference(l.reference, to)); err != nil {
		return fmt.Errorf("move the branch: %w", err)
	}
	return nil
}

func (l *localBranch) lockReference() (release func(), err error) {
	files := l.gitFilesystem()
	if files == nil {
		return func() {}, nil
	}
	name := l.reference.String() + ".lock"
	file, err := files.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
	if errors.Is(err, fs.ErrExist) {
		return nil, fmt.Errorf("%w: `%s` is locked by another git", errMoved, l.reference.Short())
	}
	if err != nil {
		return nil, fmt.Errorf("lock the branch: %w", err)
	}
	return func() {
		file.Close()
		_ = files.Remove(name) // a lock that stays is told by the next git
	}, nil
}

// gitFilesystem are those of git; nil for a repository that has none.
func (l *localBranch) gitFilesystem() billy.Filesystem {
	if stored, isFiles := l.git.Storer.(*filesystem.Storage); isFiles {
		return stored.Filesystem()
	}
	return nil
}
