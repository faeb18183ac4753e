package gitfs

import (
	"encoding/hex"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/object"
	"github.com/go-git/go-git/v5/plumbing/storer"
)

// ErrName says that a text is not a name of a revision, whatever the repository has. Git knows more forms, such as main@{u}, HEAD@{1} and
// HEAD:folder: they are refused, because a wrong commit is worse than none.
var ErrName = errors.New("is not a name of a revision as it is read here: allowed are a branch, a tag, a branch of a remote such as origin/main, a hash or its first digits (4 or more), HEAD, and behind any of them ~n and ^n")

// form is a base and the steps behind it; `^{commit}` and `^{}` are the same as no step, since every base is a commit.
var (
	form  = regexp.MustCompile(`^([^~^]+)((?:\^\{(?:commit)?\}|[~^]\d*)*)$`)
	steps = regexp.MustCompile(`\^\{(?:commit)?\}|[~^]\d*`)
	// top is a name that git keeps beside refs/: HEAD, ORIG_HEAD, FETCH_HEAD.
	top    = regexp.MustCompile(`^[A-Z][A-Z_]*$`)
	digits = regexp.MustCompile(`^[0-9a-fA-F]{4,40}$`)
)

// commitNamed finds a commit by a name, with the rules of gitrevisions(7) for the forms that ErrName lists.
func (r *Repository) commitNamed(name string) (*object.Commit, error) {
	r.lock.Lock()
	defer r.lock.Unlock()
	parts := form.FindStringSubmatch(name)
	if parts == nil {
		return nil, ErrName
	}
	found, err := r.baseCommit(parts[1])
	for _, step := range steps.FindAllString(parts[2], -1) {
		if err == nil {
			found, err = r.stepFrom(found, step)
		}
	}
	return found, err
}

// baseCommit finds what steps begin at.
func (r *Repository) baseCommit(name string) (*object.Commit, error) {
	if name == "@" {
		name = "HEAD"
	}
	if plumbing.NewBranchReferenceName(name).Validate() != nil {
		return nil, ErrName
	}
	if len(name) == hex.EncodedLen(len(plumbing.ZeroHash)) && digits.MatchString(name) {
		return r.peelToCommit(plumbing.NewHash(name))
	}
	found, err := r.commitOfReference(name)
	if errors.Is(err, plumbing.ErrReferenceNotFound) && digits.MatchString(name) {
		return r.commitOfPrefix(strings.ToLower(name))
	}
	return found, err
}

// commitOfReference finds what a reference names. A full name is what it says; a short one that names several commits is refused, where git warns.
func (r *Repository) commitOfReference(name string) (*object.Commit, error) {
	if top.MatchString(name) || strings.HasPrefix(name, "refs/") {
		if found, err := r.commitOfFullReference(name); !errors.Is(err, plumbing.ErrReferenceNotFound) {
			return found, err
		}
	}
	var found *object.Commit
	var by string
	for _, rule := range plumbing.RefRevParseRules[1:] {
		full := fmt.Sprintf(rule, name)
		other, err := r.commitOfFullReference(full)
		switch {
		case errors.Is(err, plumbing.ErrReferenceNotFound):
		case err != nil:
			return nil, err
		case found == nil:
			found, by = other, full
		case found.Hash != other.Hash:
			return nil, fmt.Errorf("it is `%s` and `%s`, which are different commits: write one of these", by, full)
		}
	}
	if found == nil {
		return nil, plumbing.ErrReferenceNotFound
	}
	return found, nil
}

// commitOfFullReference is the commit of a full reference.
func (r *Repository) commitOfFullReference(full string) (*object.Commit, error) {
	found, err := storer.ResolveReference(r.git.Storer, plumbing.ReferenceName(full))
	if err != nil {
		return nil, err
	}
	return r.peelToCommit(found.Hash())
}

// peelToCommit goes through tags to a commit.
func (r *Repository) peelToCommit(hash plumbing.Hash) (*object.Commit, error) {
	for {
		found, err := r.git.Object(plumbing.AnyObject, hash)
		if err != nil {
			return nil, err
		}
		switch o := found.(type) {
		case *object.Commit:
			return o, nil
		case *object.Tag:
			hash = o.Target
		default:
			return nil, fmt.Errorf("it names a %s, not a commit", found.Type())
		}
	}
}

// commitOfPrefix finds the only commit, or tag of one, whose name begins with these digits.
func (r *Repository) commitOfPrefix(first string) (*object.Commit, error) {
	all, err := r.objectsWithPrefix(first)
	if err != nil {
		return nil, err
	}
	var found *object.Commit
	var names []string
	for _, hash := range all {
		if commit, err := r.peelToCommit(hash); err == nil {
			found = commit
			names = append(names, hash.String()[:12])
		}
	}
	switch len(names) {
	case 0:
		return nil, plumbing.ErrReferenceNotFound
	case 1:
		return found, nil
	}
	slices.Sort(names)
	return nil, fmt.Errorf("several begin with these digits: %s: write more of them", strings.Join(names, ", "))
}

// objectsWithPrefix returns the objects whose names begin with these digits, each once.
func (r *Repository) objectsWithPrefix(first string) ([]plumbing.Hash, error) {
	storage, canSearch := r.git.Storer.(interface {
		HashesWithPrefix(prefix []byte) ([]plumbing.Hash, error)
	})
	// Whole bytes are searched for.
	prefix, err := hex.DecodeString(first[:len(first)&^1])
	if err != nil || !canSearch {
		return nil, err
	}
	all, err := storage.HashesWithPrefix(prefix)
	all = slices.DeleteFunc(all, func(h plumbing.Hash) bool { return !strings.HasPrefix(h.String(), first) })
	slices.SortFunc(all, func(a, b plumbing.Hash) int { return strings.Compare(a.String(), b.String()) })
	return slices.Compact(all), err
}

// stepFrom goes from a commit to one before it: ~n to the n-th before it along first parents, ^n to its n-th parent.
func (r *Repository) stepFrom(from *object.Commit, step string) (*object.Commit, error) {
	n := 1
	if number := step[1:]; strings.HasPrefix(number, "{") {
		n = 0
	} else if number != "" {
		var err error
		if n, err = strconv.Atoi(number); err != nil {
			return nil, ErrName
		}
	}
	if n == 0 {
		return from, nil
	}
	if step[0] == '^' {
		return r.parentCommit(from, n)
	}
	at := from
	for gone := range n {
		if at.NumParents() == 0 {
			return nil, fmt.Errorf("`%s` goes back %d from %s, before which there are only %d: the history begins at %s", step, n, shortHash(from), gone, shortHash(at))
		}
		var err error
		if at, err = r.parentCommit(at, 1); err != nil {
			return nil, err
		}
	}
	return at, nil
}

func (r *Repository) parentCommit(of *object.Commit, n int) (*object.Commit, error) {
	if n > of.NumParents() {
		return nil, fmt.Errorf("`^%d` is parent number %d, and %s has %d: more than one is what a merge has", n, n, shortHash(of), of.NumParents())
	}
	return r.git.CommitObject(of.ParentHashes[n-1])
}

func shortHash(c *object.Commit) string { return c.Hash.String()[:12] }
