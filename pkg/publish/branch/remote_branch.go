package branch

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"

	"github.com/go-git/go-git/v5"
	"github.com/go-git/go-git/v5/config"
	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/transport"
	"github.com/go-git/go-git/v5/plumbing/transport/http"
)

// Credentials are those of a remote over https. Remotes over ssh use the agent.
type Credentials struct{ User, Token string }

// OpenRemote returns a branch of a remote of the repository that a folder is in. Local branches are not touched.
func OpenRemote(folder, remote, name string, credentials Credentials) (*Branch, error) {
	opened, reference, err := openBranch(folder, name)
	if err != nil {
		return nil, err
	}
	found, err := opened.Remote(remote)
	if err != nil {
		return nil, fmt.Errorf("find the remote `%s`: %w", remote, err)
	}
	auth, err := credentials.authFor(found.Config().URLs[0])
	if err != nil {
		return nil, err
	}
	return &Branch{name: name, git: opened, place: &remoteBranch{git: opened, remote: found, reference: reference, auth: auth}}, nil
}

// HasRemote reports whether the repository that a folder is in has a remote of that name.
func HasRemote(folder, remote string) bool {
	opened, _, err := openBranch(folder, "any")
	if err != nil {
		return false
	}
	_, err = opened.Remote(remote)
	return err == nil
}

// authFor are the credentials for an address; nil for one that needs none of ours.
func (c Credentials) authFor(address string) (transport.AuthMethod, error) {
	at, err := url.Parse(address)
	if c.Token == "" || err != nil || at.Scheme != "https" && at.Scheme != "http" {
		return nil, nil //nolint:nilerr // an address of ssh, such as git@host:path, is not a URL
	}
	if ip := net.ParseIP(at.Hostname()); at.Scheme == "http" && at.Hostname() != "localhost" && !ip.IsLoopback() {
		return nil, fmt.Errorf("the remote `%s` is not https: the token would be readable on its way", at.Redacted())
	}
	return &http.BasicAuth{Username: c.User, Password: c.Token}, nil
}

// remoteBranch is a branch of a remote.
type remoteBranch struct {
	git       *git.Repository
	remote    *git.Remote
	reference plumbing.ReferenceName
	auth      transport.AuthMethod
}

// trackingReference is where the repository keeps what it knows of the branch.
func (f *remoteBranch) trackingReference() plumbing.ReferenceName {
	return plumbing.NewRemoteReferenceName(f.remote.Config().Name, f.reference.Short())
}

func (f *remoteBranch) tip(ctx context.Context) (plumbing.Hash, error) {
	tip, err := f.askRemoteTip(ctx)
	if err != nil || tip.IsZero() {
		return tip, err
	}
	spec := config.RefSpec("+" + f.reference.String() + ":" + f.trackingReference().String())
	err = f.remote.FetchContext(ctx, &git.FetchOptions{RefSpecs: []config.RefSpec{spec}, Auth: f.auth, Tags: git.NoTags})
	if err != nil && !errors.Is(err, git.NoErrAlreadyUpToDate) {
		return plumbing.ZeroHash, fmt.Errorf("fetch it: %w", err)
	}
	now, err := f.git.Reference(f.trackingReference(), true)
	if err != nil {
		return plumbing.ZeroHash, fmt.Errorf("fetch it: %w", err)
	}
	return now.Hash(), nil
}

// askRemoteTip asks the remote where the branch is.
func (f *remoteBranch) askRemoteTip(ctx context.Context) (plumbing.Hash, error) {
	references, err := f.remote.ListContext(ctx, &git.ListOptions{Auth: f.auth})
	if errors.Is(err, transport.ErrEmptyRemoteRepository) {
		return plumbing.ZeroHash, nil
	}
	if err != nil {
		return plumbing.ZeroHash, fmt.Errorf("ask the remote `%s`: %w", f.remote.Config().Name, err)
	}
	for _, r := range references {
		if r.Name() == f.reference {
			return r.Hash(), nil
		}
	}
	return plumbing.ZeroHash, nil
}

// advance pushes without force: the remote moves the branch only from where it was when the push began, and only forward.
func (f *remoteBranch) advance(ctx context.Context, from, to plumbing.Hash) error {
	now, err := f.askRemoteTip(ctx)
	if err != nil {
		return err
	}
	if now != from {
		return errMoved
	}
	spec := config.RefSpec(to.String() + ":" + f.reference.String())
	err = f.remote.PushContext(ctx, &git.PushOptions{RemoteName: f.remote.Config().Name, RefSpecs: []config.RefSpec{spec}, Auth: f.auth})
	if err != nil {
		if now, lookErr := f.askRemoteTip(ctx); lookErr == nil && now != from {
			return errMoved
		}
		return fmt.Errorf("push to the remote `%s`: %w", f.remote.Config().Name, err)
	}
	if err := f.git.Storer.SetReference(plumbing.NewHashReference(f.trackingReference(), to)); err != nil {
		return fmt.Errorf("note what was pushed: %w", err)
	}
	return nil
}
