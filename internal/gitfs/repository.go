// Package gitfs reads a repository as it is in a revision of git, through an fs.FS and without a checkout, by the program
// git.
//
// It shows the files as git has recorded them: without attributes, filters, replaced objects, or files that a partial
// clone would fetch. No hook and no other program that the repository names runs. What git cannot read for a reason that
// it knows (a submodule, a shallow or partial clone) is an error with this reason.
package gitfs

import (
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
)

var (
	// ErrNoRepository is the error of Open for a folder outside of git repositories, or without git.
	ErrNoRepository = errors.New("not in a git repository")
	// errMissing is the error about an object or a name that the repository does not have.
	errMissing = errors.New("there is none")
)

// Repository is the history that a folder belongs to. It is safe for use by several goroutines.
type Repository struct {
	folder string
	// prefix leads from the top of the repository to the folder, with slashes and a last one; "" for the top itself.
	prefix        string
	bare, shallow bool
	objects       *objects
}

// Open opens the repository that a folder is in. The folder may be below its top, in a linked worktree or in a bare
// repository. The error is ErrNoRepository if there is none.
func Open(folder string) (*Repository, error) {
	folder, err := filepath.EvalSymlinks(folder)
	if err != nil {
		return nil, err
	}
	output, _, err := run(folder, "rev-parse", "--is-bare-repository", "--is-shallow-repository", "--show-prefix")
	if failed := (*failedError)(nil); errors.As(err, &failed) && strings.Contains(failed.stderr, "not a git repository") {
		return nil, fmt.Errorf("`%s` is %w", folder, ErrNoRepository)
	}
	if errors.Is(err, exec.ErrNotFound) {
		return nil, fmt.Errorf("the program git is not installed, without which `%s` is %w", folder, ErrNoRepository)
	}
	if err != nil {
		return nil, fmt.Errorf("open the git repository of `%s`: %w", folder, err)
	}
	facts := append(strings.SplitN(output, "\n", 3), "", "")
	return &Repository{
		folder: folder, bare: facts[0] == "true", shallow: facts[1] == "true", prefix: facts[2],
		objects: &objects{folder: folder, blobs: map[string][]byte{}},
	}, nil
}

// Prefix leads from the top of the repository to the folder, ending with a slash; "" for the top itself.
func (r *Repository) Prefix() string { return r.prefix }

// Top is the folder of the working tree at the top of the repository; "" for a bare one.
func (r *Repository) Top() string {
	top, _, err := run(r.folder, "rev-parse", "--show-toplevel")
	if err != nil {
		return ""
	}
	return top
}

// IsBare reports whether the repository has no working tree.
func (r *Repository) IsBare() bool { return r.bare }

// Revision finds a revision by a name: a branch, a tag, a hash or its beginning, HEAD~2, origin/main. It is the commit
// that git finds, or an error: ErrName for a text that is no such name.
func (r *Repository) Revision(name string) (*Revision, error) {
	hash, err := r.commitNamed(name)
	switch {
	case errors.Is(err, ErrName):
		return nil, fmt.Errorf("`%s` %w", name, err)
	case err != nil:
		return nil, r.explainByClone(fmt.Errorf("find the revision `%s`: %w", name, err))
	}
	return r.newRevision(name, hash)
}

// MergeBase returns where two revisions parted, with which a pull request is compared. Of several it takes git's first.
func (r *Repository) MergeBase(a, b *Revision) (*Revision, error) {
	hash, _, err := run(r.folder, "merge-base", a.hash, b.hash)
	if failed := (*failedError)(nil); errors.As(err, &failed) && failed.stderr == "" {
		return nil, r.explainByClone(fmt.Errorf("`%s` and `%s` have no commit in common", a.Name, b.Name))
	}
	if err != nil {
		return nil, r.explainByClone(fmt.Errorf("find where `%s` and `%s` parted: %w", a.Name, b.Name, err))
	}
	return r.newRevision(hash[:12], hash)
}

// DefaultBranch returns the default branch: the one of the remote `origin`, or else `main` or `master`.
func (r *Repository) DefaultBranch() (*Revision, error) {
	for _, name := range []string{"remotes/origin/HEAD", "remotes/origin/main", "remotes/origin/master", "heads/main", "heads/master"} {
		hash, err := r.verify("refs/" + name)
		if err == nil {
			// A tag may have the same short name.
			_, short, _ := strings.Cut(name, "/")
			return r.newRevision(short, hash)
		}
	}
	return nil, errors.New("no default branch: neither origin/HEAD nor `main` nor `master` exist here; name the revision to compare with")
}

// explainByClone adds to an error what the kind of clone has to do with it.
func (r *Repository) explainByClone(err error) error {
	switch {
	case r.shallow:
		return fmt.Errorf("%w; this clone is shallow: fetch the whole history (`git fetch --unshallow`, "+
			"in GitHub Actions `fetch-depth: 0`, in GitLab `GIT_DEPTH: 0`)", err)
	case errors.Is(err, errMissing):
		return fmt.Errorf("%w; `git branch --all` and `git tag` list the names that exist. "+
			"If this clone is partial (`git clone --filter`), fetch without a filter", err)
	}
	return err
}
