package branch

import (
	"fmt"
	"regexp"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/object"

	"lockstep.dev/lockstep/pkg/publish"
)

// The trailers of our commits: what they were made from, and the tree that they were made with.
const (
	sourceTrailer = "Lockstep-Source"
	treeTrailer   = "Lockstep-Tree"
)

var (
	sourceLine = regexp.MustCompile(`(?m)^` + sourceTrailer + `: ([0-9a-f]{40})$`)
	treeLine   = regexp.MustCompile(`(?m)^` + treeTrailer + `: ([0-9a-f]{40})$`)
)

// isOurs reports whether publish made a commit, and nobody changed its files since.
func isOurs(c *object.Commit) bool {
	made := treeOf(c)
	return made != "" && made == c.TreeHash.String() && sourceOf(c) != ""
}

// isAmended reports whether publish made a commit, and somebody changed its files since.
func isAmended(c *object.Commit) bool {
	made := treeOf(c)
	return made != "" && made != c.TreeHash.String() && sourceOf(c) != ""
}

// treeOf is the tree that one of ours was made with.
func treeOf(c *object.Commit) string {
	if found := treeLine.FindStringSubmatch(c.Message); found != nil {
		return found[1]
	}
	return ""
}

// sourceOf is the commit that one of ours was made from.
func sourceOf(c *object.Commit) string {
	if found := sourceLine.FindStringSubmatch(c.Message); found != nil {
		return found[1]
	}
	return ""
}

// newCommit is the commit of a tree on top of the last one.
func newCommit(last *object.Commit, root plumbing.Hash, source publish.Source, author Author) *object.Commit {
	by := object.Signature{Name: author.Name, Email: author.Email, When: source.Time.UTC()}
	c := &object.Commit{Author: by, Committer: by, TreeHash: root}
	c.Message = fmt.Sprintf("Publish %s\n\nCompiled from %s.\nWhat is changed here by hand is refused by the next publication: change the specs.\n\n%s: %s\n%s: %s\n",
		source.Subject, source.Commit, sourceTrailer, source.Commit, treeTrailer, root)
	if last != nil {
		c.ParentHashes = []plumbing.Hash{last.Hash}
	}
	return c
}

func (b *Branch) storeCommit(c *object.Commit) (plumbing.Hash, error) {
	encoded := b.git.Storer.NewEncodedObject()
	if err := c.Encode(encoded); err != nil {
		return plumbing.ZeroHash, fmt.Errorf("write the commit: %w", err)
	}
	hash, err := b.git.Storer.SetEncodedObject(encoded)
	if err != nil {
		return plumbing.ZeroHash, fmt.Errorf("write the commit: %w", err)
	}
	return hash, nil
}
