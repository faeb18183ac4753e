package gitfs

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
)

// ErrName is the error about a text that is not a name of a revision, whatever the repository has. Git knows more forms,
// such as main@{u}, HEAD@{1} and HEAD:folder: they are refused, because a wrong commit is worse than none.
var ErrName = errors.New("is not a name of a revision as it is read here: allowed are a branch, a tag, " +
	"a branch of a remote such as origin/main, a hash or its first digits (4 or more), HEAD, and behind any of them ~n and ^n")

// form is a base and the steps behind it. ^{commit} and ^{} are the same as no step, since every base is a commit.
var form = regexp.MustCompile(`^([^-~^:?*\[\\\s[:cntrl:]][^~^:?*\[\\\s[:cntrl:]]*)((?:\^\{(?:commit)?\}|[~^]\d{0,9})*)$`)

// commitNamed finds the hash of a commit by a name.
func (r *Repository) commitNamed(name string) (string, error) {
	parts := form.FindStringSubmatch(name)
	if parts == nil || strings.Contains(parts[1], "@{") || strings.Contains(parts[1], "..") {
		return "", ErrName
	}
	hash, err := r.verify(name)
	if errors.Is(err, errMissing) && parts[2] != "" {
		if base, wrong := r.verify(parts[1]); wrong == nil {
			return "", fmt.Errorf("`%s` leads from %s to no commit: `git log %s` shows the history", parts[2], base[:12], parts[1])
		}
	}
	return hash, err
}

// verify returns the hash of the commit that git finds for a name, or errMissing. A name of several commits is refused,
// of which git only warns.
func (r *Repository) verify(name string) (string, error) {
	hash, warnings, err := run(r.folder, "rev-parse", "--verify", "--end-of-options", name+"^{commit}")
	failed := (*failedError)(nil)
	switch {
	case strings.Contains(warnings, " is ambiguous"):
		return "", errors.New("several have this name: write `refs/heads/` or `refs/tags/` before it, or more digits of a hash")
	case errors.As(err, &failed) && strings.Contains(failed.stderr, "expected commit type"):
		return "", errors.New("it names something else than a commit")
	case failed != nil && strings.Contains(failed.stderr, "Needed a single revision"):
		return "", errMissing
	}
	return hash, err
}
