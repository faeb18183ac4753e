// Package branch keeps compiled trees on a branch of git: one commit for each state that differs, without a checkout.
//
// The flow is Publish: look at the tip, check that it is ours, put the tree in place of the files that the compiler owns, and move the branch
// from that very tip to the new commit. Where somebody was faster it begins again.
//
//   - Nothing is lost. A tip that publish did not make is refused, unless the caller names this very commit. Files on the branch that the
//     compiler does not own stay, and one in the way of a compiled file is refused, as in the folder of a build.
//   - Commits carry where they came from, and the tree that they were made with: an amended commit is none of ours any more.
//   - The branch never goes back: where it was published from a descendant of the source, nothing happens.
//   - The same source on the same tip is the same commit, with the time of the source.
package branch

import (
	"context"
	"errors"
	"fmt"
	"path"
	"strings"

	"github.com/go-git/go-git/v5"
	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/object"

	"lockstep.dev/lockstep/pkg/compile/emit"
	"lockstep.dev/lockstep/pkg/publish"
)

// Options say how to publish.
type Options struct {
	// Only is the cluster that the tree has; the files of others stay. Empty means that it has all.
	Only string
	// Adopt is the name of a tip, or its first digits, that is taken although publish did not make it.
	Adopt string
	// Author is whom commits are by.
	Author Author
}

// Author is a person or a program.
type Author struct{ Name, Email string }

// PublishState is what came of publishing.
type PublishState string

// The states.
const (
	// Published is a new commit.
	Published PublishState = "published"
	// Unchanged says that the branch had this content already.
	Unchanged PublishState = "unchanged"
	// Newer says that the branch has the content of a later source, so that nothing was done.
	Newer PublishState = "newer"
)

// Result is what Publish did.
type Result struct {
	State PublishState
	// Commit is the tip afterwards. Source is the commit that it was made from.
	Commit, Source string
	// Files are those of the tree, by what happened to them.
	Files emit.Result
	// Elsewhere are the folders of the branch in which other publications keep a tree: these stay as they are.
	Elsewhere []string
}

// The errors that callers tell apart.
var (
	// ErrForeign says that the branch has something that publish would lose.
	ErrForeign = errors.New("it is not from publish")
	// errMoved says that the branch is not where it was.
	errMoved = errors.New("somebody else moved the branch at the same time")
)

// branchStorage is where a branch lives.
type branchStorage interface {
	// tip returns the commit that the branch is at, whose objects are then in the repository; zero where there is no branch.
	tip(ctx context.Context) (plumbing.Hash, error)
	// advance moves the branch; the error is errMoved where it is not at from any more.
	advance(ctx context.Context, from, to plumbing.Hash) error
}

// Branch is a branch.
type Branch struct {
	name  string
	git   *git.Repository
	place branchStorage
}

// attempts is how often publishing begins again because somebody else was faster.
const attempts = 5

// Publish brings a tree to the branch, unless that is checked out: the files there would look as if somebody had changed them back.
func (b *Branch) Publish(ctx context.Context, tree *publish.Tree, options Options) (Result, error) {
	if l, here := b.place.(*localBranch); here && l.isCheckedOut() {
		return Result{}, fmt.Errorf("the branch `%s` is checked out, and publish does not touch checkouts: choose another branch", b.name)
	}
	for range attempts {
		tip, err := b.place.tip(ctx)
		if err != nil {
			return Result{}, fmt.Errorf("find the branch `%s`: %w", b.name, err)
		}
		next, err := b.prepareCommit(tip, tree, options)
		if err != nil || next.State != Published {
			return next, err
		}
		err = b.place.advance(ctx, tip, plumbing.NewHash(next.Commit))
		if !errors.Is(err, errMoved) {
			return next, err
		}
	}
	return Result{}, fmt.Errorf("publish to `%s`: %w, %d times: let only one pipeline publish at a time", b.name, errMoved, attempts)
}

// prepareCommit makes the commit that the branch shall move to, on top of a tip.
func (b *Branch) prepareCommit(tip plumbing.Hash, tree *publish.Tree, options Options) (Result, error) {
	last, err := b.readCommit(tip)
	if err != nil {
		return Result{}, err
	}
	if last != nil {
		if done, err := b.checkTip(last, tree, options); done != nil || err != nil {
			return *resultOrEmpty(done), err
		}
	}
	f, err := b.openFolder(last, tree.Folder)
	if err != nil {
		return Result{}, err
	}
	elsewhere := f.otherRecordFolders()
	files, err := f.writeTree(tree, options.Only)
	if err != nil {
		return Result{}, err
	}
	if len(files.Foreign) > 0 {
		return Result{}, fmt.Errorf("`%s` has files in the way of compiled ones, and %w: %s. Move them away on the branch", b.name, ErrForeign, joinFirst(files.Foreign))
	}
	root, err := f.storeRootTree()
	if err != nil {
		return Result{}, fmt.Errorf("write the files of `%s`: %w", b.name, err)
	}
	if last != nil && root == last.TreeHash && isOurs(last) {
		return Result{State: Unchanged, Commit: tip.String(), Source: sourceOf(last), Files: files, Elsewhere: elsewhere}, nil
	}
	made, err := b.storeCommit(newCommit(last, root, tree.Source, options.Author))
	return Result{State: Published, Commit: made.String(), Source: tree.Source.Commit, Files: files, Elsewhere: elsewhere}, err
}

func resultOrEmpty(r *Result) *Result {
	if r == nil {
		return &Result{}
	}
	return r
}

// checkTip refuses a tip that is not ours, and knows one that is newer than the source.
func (b *Branch) checkTip(last *object.Commit, tree *publish.Tree, options Options) (*Result, error) {
	if !isOurs(last) {
		if isAdopted(last, options.Adopt) {
			return nil, nil
		}
		return nil, b.foreignError(last)
	}
	newer, err := b.isNewerThan(last, tree.Source)
	if err != nil || !newer {
		return nil, err
	}
	return &Result{State: Newer, Commit: last.Hash.String(), Source: sourceOf(last)}, nil
}

// minAdopt is how many digits of a commit somebody must name.
const minAdopt = 7

func isAdopted(tip *object.Commit, name string) bool {
	return len(name) >= minAdopt && strings.HasPrefix(tip.Hash.String(), strings.ToLower(name))
}

// foreignError says what would be lost.
func (b *Branch) foreignError(tip *object.Commit) error {
	subject, _, _ := strings.Cut(tip.Message, "\n")
	return fmt.Errorf("the tip of `%s` is commit %s by %s, `%s`, and %w.%s Move the change into the specs and take the commit off the branch; or go on from it with `--adopt %s`: files that it adds stay, its changes of compiled files are replaced",
		b.name, tip.Hash.String()[:12], tip.Author.Name, subject, ErrForeign, b.describeChanges(tip), tip.Hash)
}

// describeChanges says which files a tip changes that is not ours.
func (b *Branch) describeChanges(tip *object.Commit) string {
	changed := b.changedByHand(tip)
	switch {
	case len(changed) > 0:
		return " It changes " + joinFirst(changed) + "."
	case isAmended(tip):
		return fmt.Sprintf(" Somebody changed it after it was made: `publish --verify --branch %s` says in which files it is not what %s compiles to.", b.name, shortHash(sourceOf(tip)))
	}
	return ""
}

// changedByHand are the files in which a tip differs from what it was made with, where it is one of ours that somebody amended, or else from
// the last commit of ours before it; nil where neither is known here.
func (b *Branch) changedByHand(tip *object.Commit) []string {
	if isAmended(tip) {
		made, err := b.git.TreeObject(plumbing.NewHash(treeOf(tip)))
		if err != nil {
			return nil
		}
		return filesBetween(made, tip)
	}
	for at := tip; at.NumParents() > 0; {
		parent, err := at.Parent(0)
		if err != nil {
			return nil
		}
		if at = parent; !isOurs(at) {
			continue
		}
		if made, err := at.Tree(); err == nil {
			return filesBetween(made, tip)
		}
		return nil
	}
	return nil
}

func filesBetween(before *object.Tree, to *object.Commit) []string {
	after, err := to.Tree()
	if err != nil {
		return nil
	}
	changes, err := object.DiffTree(before, after)
	if err != nil {
		return nil
	}
	var names []string
	for _, c := range changes {
		name := c.To.Name
		if name == "" {
			name = c.From.Name
		}
		names = append(names, name)
	}
	return names
}

// isNewerThan reports whether a tip was made from a descendant of a source.
func (b *Branch) isNewerThan(tip *object.Commit, source publish.Source) (bool, error) {
	made := sourceOf(tip)
	if made == source.Commit {
		return false, nil
	}
	theirs, unknown := b.git.CommitObject(plumbing.NewHash(made))
	if unknown != nil {
		if tip.Committer.When.After(source.Time) {
			return false, fmt.Errorf("`%s` was published from %s, which this clone does not know and which is younger than %s: fetch it, or publish from there", b.name, shortHash(made), shortHash(source.Commit))
		}
		return false, nil
	}
	ours, err := b.git.CommitObject(plumbing.NewHash(source.Commit))
	if err != nil {
		return false, fmt.Errorf("read the commit %s: %w", source.Commit, err)
	}
	return ours.IsAncestor(theirs)
}

// Differences compares the branch with a tree, and says which files of the compiler are not as they should be. The error is ErrForeign where all
// are, and the tip is one of ours to which somebody added other files.
func (b *Branch) Differences(ctx context.Context, tree *publish.Tree, only string) ([]string, error) {
	tip, err := b.place.tip(ctx)
	if err != nil {
		return nil, err
	}
	last, err := b.readCommit(tip)
	if err != nil {
		return nil, err
	}
	f, err := b.openFolder(last, tree.Folder)
	if err != nil {
		return nil, err
	}
	files, err := f.writeTree(tree, only)
	var names []string
	for _, list := range [][]string{files.Written, files.Foreign, files.Removed} {
		for _, name := range list {
			names = append(names, path.Join(tree.Folder, name))
		}
	}
	if err == nil && len(names) == 0 && last != nil && isAmended(last) {
		err = b.foreignError(last)
	}
	return names, err
}

// Exists reports whether there is such a branch.
func (b *Branch) Exists(ctx context.Context) (bool, error) {
	tip, err := b.place.tip(ctx)
	return err == nil && !tip.IsZero(), err
}

// Source returns the commit that the tip was made from, or says so itself where somebody amended it: Differences tells. The error is ErrForeign
// where publish did not make it.
func (b *Branch) Source(ctx context.Context) (string, error) {
	tip, err := b.place.tip(ctx)
	if err != nil {
		return "", err
	}
	last, err := b.readCommit(tip)
	switch {
	case err != nil:
		return "", err
	case last == nil:
		return "", fmt.Errorf("there is no branch `%s`", b.name)
	case !isOurs(last) && !isAmended(last):
		return "", b.foreignError(last)
	}
	return sourceOf(last), nil
}

// readCommit reads a commit; nil is none.
func (b *Branch) readCommit(hash plumbing.Hash) (*object.Commit, error) {
	if hash.IsZero() {
		return nil, nil
	}
	found, err := b.git.CommitObject(hash)
	if err != nil {
		return nil, fmt.Errorf("read the tip of `%s`: %w", b.name, err)
	}
	return found, nil
}

func shortHash(hash string) string { return hash[:min(12, len(hash))] }

// named is how many files a message names.
const named = 5

func joinFirst(names []string) string {
	if len(names) <= named {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:named], ", "), len(names)-named)
}
