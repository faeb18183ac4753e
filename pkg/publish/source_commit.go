package publish

import (
	"errors"
	"fmt"
	"net/url"
	"strings"

	"github.com/go-git/go-git/v5"
	"github.com/go-git/go-git/v5/plumbing"
)

// ReadSource returns what the repository that a folder is in knows of a commit, which is named by 40 hexadecimal digits. Its address is that of
// the remote `origin`.
func ReadSource(folder, commit string) (Source, error) {
	opened, err := git.PlainOpenWithOptions(folder, &git.PlainOpenOptions{DetectDotGit: true, EnableDotGitCommonDir: true})
	if errors.Is(err, git.ErrRepositoryNotExists) {
		opened, err = git.PlainOpen(folder)
	}
	if err != nil {
		return Source{}, fmt.Errorf("open the git repository of `%s`: %w", folder, err)
	}
	found, err := opened.CommitObject(plumbing.NewHash(commit))
	if err != nil {
		return Source{}, fmt.Errorf("read the commit %s: %w", commit, err)
	}
	subject, _, _ := strings.Cut(strings.TrimSpace(found.Message), "\n")
	s := Source{Commit: commit, Subject: subject, Time: found.Committer.When}
	if origin, err := opened.Remote("origin"); err == nil && len(origin.Config().URLs) > 0 {
		s.Repository = withoutCredentials(origin.Config().URLs[0])
	}
	return s, nil
}

// withoutCredentials takes a password out of an address.
func withoutCredentials(address string) string {
	parsed, err := url.Parse(address)
	if err != nil || parsed.User == nil || parsed.Scheme == "ssh" {
		return address
	}
	parsed.User = nil
	return parsed.String()
}
