// Package gitfs reads a repository as it is in a revision of git, through an fs.FS: without a checkout, and without git itself.
//
// Only what git has recorded is seen: no attributes, no filters, no replaced objects, no files that others would fill in later. What cannot be read for a
// reason that git knows (a submodule, a shallow or partial clone) is an error that says so.
package gitfs

import (
	"errors"
	"fmt"
	"path/filepath"
	"sync"

	"github.com/go-git/go-git/v5"
	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/object"
)

// ErrNoRepository says that a folder is in no git repository.
var ErrNoRepository = errors.New("not in a git repository")

// Repository is the history that a folder belongs to. It is safe for use by several at one time.
type Repository struct {
	git *git.Repository
	// prefix is the way from the top of the repository to the folder, with slashes; "." for the top itself.
	prefix string
	// shallow says that the clone does not have the whole history.
	shallow bool

	// lock is held for everything that is asked of git, whose storage is not safe for several.
	lock sync.Mutex
	// blobs and folders are what was read: two revisions share most of them. Nobody changes them.
	blobs   map[plumbing.Hash][]byte
	folders map[plumbing.Hash][]object.TreeEntry
}

// Open opens the repository that a folder is in. The folder may be below its top, in a linked worktree or in a bare repository. The
// error is ErrNoRepository where there is none.
func Open(folder string) (*Repository, error) {
	folder, err := filepath.EvalSymlinks(folder)
	if err != nil {
		return nil, err
	}
	opened, err := git.PlainOpenWithOptions(folder, &git.PlainOpenOptions{DetectDotGit: true, EnableDotGitCommonDir: true})
	if errors.Is(err, git.ErrRepositoryNotExists) {
		// It may be a bare one, which has no folder .git to be found by.
		opened, err = git.PlainOpen(folder)
	}
	if errors.Is(err, git.ErrRepositoryNotExists) {
		return nil, fmt.Errorf("`%s` is %w", folder, ErrNoRepository)
	}
	if err != nil {
		return nil, fmt.Errorf("open the git repository of `%s`: %w", folder, err)
	}
	prefix, err := pathFromTop(opened, folder)
	if err != nil {
		return nil, err
	}
	boundary, err := opened.Storer.Shallow()
	if err != nil {
		return nil, fmt.Errorf("read where the history of `%s` ends: %w", folder, err)
	}
	return &Repository{
		git: opened, prefix: prefix, shallow: len(boundary) > 0,
		blobs: map[plumbing.Hash][]byte{}, folders: map[plumbing.Hash][]object.TreeEntry{},
	}, nil
}

// pathFromTop returns the way from the top of a repository to a folder. A bare repository has nothing but its top.
func pathFromTop(opened *git.Repository, folder string) (string, error) {
	tree, err := opened.Worktree()
	if errors.Is(err, git.ErrIsBareRepository) {
		return ".", nil
	}
	if err != nil {
		return "", fmt.Errorf("find the top of the repository: %w", err)
	}
	top, err := filepath.EvalSymlinks(tree.Filesystem.Root())
	if err != nil {
		return "", err
	}
	if folder, err = filepath.Abs(folder); err != nil {
		return "", err
	}
	way, err := filepath.Rel(top, folder)
	if err != nil {
		return "", err
	}
	return filepath.ToSlash(way), nil
}

// Prefix is the way from the top of the repository to the folder, ending with a slash; "" for the top itself.
func (r *Repository) Prefix() string {
	if r.prefix == "." {
		return ""
	}
	return r.prefix + "/"
}

// Top is the folder of the working tree at the top of the repository; "" for a bare one.
func (r *Repository) Top() string {
	tree, err := r.git.Worktree()
	if err != nil {
		return ""
	}
	return tree.Filesystem.Root()
}

// IsBare reports whether the repository has no working tree.
func (r *Repository) IsBare() bool {
	config, err := r.git.Config()
	return err == nil && config.Core.IsBare
}

// Revision finds a revision by a name: a branch, a tag, a hash or its beginning, HEAD~2, origin/main. It means what it means to git, or is an
// error; that is ErrName for a text that is no such name.
func (r *Repository) Revision(name string) (*Revision, error) {
	commit, err := r.commitNamed(name)
	switch {
	case errors.Is(err, ErrName):
		return nil, fmt.Errorf("`%s` %w", name, err)
	case err != nil:
		return nil, r.explainByClone(fmt.Errorf("find the revision `%s`: %w", name, err))
	}
	return r.newRevision(name, commit)
}

func (r *Repository) newRevision(name string, commit *object.Commit) (*Revision, error) {
	if _, err := r.folderEntries(commit.TreeHash); err != nil {
		return nil, fmt.Errorf("read the files of `%s`: %w", name, err)
	}
	return &Revision{Name: name, repository: r, commit: commit, tree: commit.TreeHash}, nil
}

// MergeBase returns where two revisions parted: what a pull request is compared with. Of several such places it takes git's first.
func (r *Repository) MergeBase(a, b *Revision) (*Revision, error) {
	r.lock.Lock()
	bases, err := a.commit.MergeBase(b.commit)
	r.lock.Unlock()
	if err != nil {
		return nil, r.explainByClone(fmt.Errorf("find where `%s` and `%s` parted: %w", a.Name, b.Name, err))
	}
	if len(bases) == 0 {
		return nil, r.explainByClone(fmt.Errorf("`%s` and `%s` have no commit in common", a.Name, b.Name))
	}
	return r.newRevision(bases[0].Hash.String()[:12], bases[0])
}

// defaults are where a clone keeps its default branch, best first.
var defaults = []plumbing.ReferenceName{
	plumbing.NewRemoteHEADReferenceName("origin"),
	plumbing.NewRemoteReferenceName("origin", "main"), plumbing.NewRemoteReferenceName("origin", "master"),
	plumbing.NewBranchReferenceName("main"), plumbing.NewBranchReferenceName("master"),
}

// DefaultBranch returns the default branch: what the remote `origin` says, or else `main` or `master`.
func (r *Repository) DefaultBranch() (*Revision, error) {
	for _, name := range defaults {
		if found, err := r.commitNamed(name.String()); err == nil {
			// A tag may have the same short name.
			return r.newRevision(name.Short(), found)
		}
	}
	return nil, fmt.Errorf("no default branch: neither origin/HEAD nor `main` nor `master` exist here; name the revision to compare with")
}

// explainByClone adds what the kind of clone has to do with an error.
func (r *Repository) explainByClone(err error) error {
	switch {
	case r.shallow:
		return fmt.Errorf("%w; this clone is shallow: fetch the whole history (`git fetch --unshallow`, in GitHub Actions `fetch-depth: 0`, in GitLab `GIT_DEPTH: 0`)", err)
	case errors.Is(err, plumbing.ErrObjectNotFound):
		return fmt.Errorf("%w; if this clone is partial (`git clone --filter`), fetch without a filter", err)
	case errors.Is(err, plumbing.ErrReferenceNotFound):
		return fmt.Errorf("%w; `git branch --all` and `git tag` list the names that exist", err)
	}
	return err
}
