package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/mail"
	"os"
	"os/signal"
	"path"
	"syscall"

	"github.com/spf13/cobra"

	"lockstep.dev/lockstep/internal/cli"
	"lockstep.dev/lockstep/internal/cli/compiling"
	"lockstep.dev/lockstep/pkg/compile/gitfs"
	"lockstep.dev/lockstep/pkg/publish/artifact"
	"lockstep.dev/lockstep/pkg/publish/branch"
)

// publishOptions is the command line of publish.
type publishOptions struct {
	input                          compiling.Input
	revision                       string
	branch, remote, author         string
	push                           bool
	adopt, oci, folder, provenance string
	source                         string
	verify                         bool
	format                         string
}

func newPublish() *cobra.Command {
	var p publishOptions
	cmd := &cobra.Command{
		Use:   "publish",
		Short: "Bring the compiled tree of a commit to a branch or a registry",
		Long: `publish compiles a commit, never a working tree, and brings the result to where a GitOps engine reads it: a branch of git, as one
commit for each state that differs, or an OCI artifact as Flux reads it. Nothing is checked out, and nothing local but the branch changes.

A branch is never overwritten. Where its tip was not made by publish, it stops and says what would be lost; --adopt takes over that very
commit. Files that are not compiled stay. It does not go back to an older commit than the one that is published: a pipeline that comes late
does nothing. --push moves the branch of the remote instead of the local one, and begins again where somebody else was faster.

The same commit gives the same bytes: the only time in them is that of the commit. --provenance writes which files were read and which were
made, with their digests, as an in-toto statement. --verify compiles again and compares; it writes nothing.

In the environment: LOCKSTEP_GIT_TOKEN (and LOCKSTEP_GIT_USER, where x-access-token is wrong) for a remote over https, GIT_AUTHOR_NAME and
GIT_AUTHOR_EMAIL for commits. Registries take what docker login has left.

Exit codes: 0 fine, 1 a mistake in the specs, a refusal or a failure, 2 a mistake on the command line.`,
		Example: `  # The branch that an engine follows, from the commit that is checked out
  runtime-compiler publish --branch rendered --push

  # An artifact for Flux, and what it was made of
  runtime-compiler publish --oci oci://registry.example.com/platform/mpi:main --provenance provenance.json

  # Is the branch what the specs of its commit compile to? Is the statement true?
  # Without a branch of that name here it is the one of the remote.
  runtime-compiler publish --verify --branch rendered
  runtime-compiler publish --verify --oci oci://registry.example.com/platform/mpi:main --provenance provenance.json`,
		Args:    cobra.NoArgs,
		PreRunE: rejectEmptyFlags,
		RunE:    func(cmd *cobra.Command, _ []string) error { return p.run(cmd) },
	}
	p.input.RegisterFlags(cmd)
	p.input.RegisterWorkers(cmd)
	flags := cmd.Flags()
	flags.StringVar(&p.revision, "revision", "", "branch, tag or hash that is published, with ~n or ^n; the default is HEAD, and with --verify what the branch was made from")
	flags.StringVar(&p.branch, "branch", "", "branch of the compiled tree")
	flags.BoolVar(&p.push, "push", false, "move the branch of the remote, instead of the local one; with --verify look at that of the remote even where there is a local one")
	flags.StringVar(&p.remote, "remote", "origin", "remote of --push")
	flags.StringVar(&p.adopt, "adopt", "", "tip of the branch that may be taken over although publish did not make it: 7 digits of the commit or more")
	flags.StringVar(&p.author, "author", "", "author of commits: Name <address>")
	flags.StringVar(&p.oci, "oci", "", "artifact of the compiled tree: oci://registry/repository:tag")
	flags.StringVar(&p.folder, "path", "dist", "folder of the tree in what is published, as spec.gitops.path of clusters names it")
	flags.StringVar(&p.provenance, "provenance", "", "file that the statement is written to")
	flags.StringVar(&p.source, "source", "", "address of the repository, which artifacts and statements name; the default is that of the remote origin")
	flags.BoolVar(&p.verify, "verify", false, "compile again and compare; write nothing")
	flags.StringVarP(&p.format, "format", "o", cli.FormatText, "how the result is written: text, json")
	cli.CompleteFlag(cmd, "format", cli.FormatText, cli.FormatJSON)
	return cmd
}

func (p *publishOptions) validate() error {
	switch {
	case p.branch == "" && p.oci == "":
		return errors.New("nowhere to publish to: --branch NAME, --oci REFERENCE or both")
	case p.adopt != "" && p.branch == "":
		return errors.New("--adopt is about a --branch")
	case p.push && p.branch == "":
		return errors.New("--push is about a --branch")
	case p.format != cli.FormatText && p.format != cli.FormatJSON:
		return fmt.Errorf("unknown format `%s`: allowed are text, json", p.format)
	case path.IsAbs(p.folder) || path.Clean(p.folder) != p.folder || p.folder == ".." || len(p.folder) > 2 && p.folder[:3] == "../":
		return fmt.Errorf("--path `%s` is not a folder below the top, such as dist, or . for the top itself", p.folder)
	}
	if p.branch != "" {
		if err := branch.CheckName(p.branch); err != nil {
			return fmt.Errorf("--branch: %w", err)
		}
	}
	return p.input.Validate()
}

func (p *publishOptions) run(cmd *cobra.Command) error {
	if err := p.validate(); err != nil {
		return err
	}
	author, err := p.commitAuthor()
	if err != nil {
		return err
	}
	p.input.LimitProcessors()
	ctx, stop := signal.NotifyContext(cmd.Context(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	opened, err := gitfs.Open(p.input.Root)
	if err != nil {
		return cli.Failure(err)
	}
	to, err := p.destinations(ctx)
	if err != nil {
		return err
	}
	made, err := p.compileCommit(ctx, cmd, opened, to.branch)
	if err != nil {
		return err
	}
	made.registry = to.registry
	if err := made.packArtifact(p.oci != ""); err != nil {
		return cli.Failure(err)
	}
	var results []publication
	if p.verify {
		results, err = p.compareDestinations(ctx, to, made)
	} else {
		results, err = p.publish(ctx, to, made, author)
	}
	if err != nil {
		return cli.Failure(err)
	}
	if p.branch != "" {
		warnUnfollowed(cmd.ErrOrStderr(), made.sources, p.branch, p.folder, foldersElsewhere(results))
	}
	return p.printPublication(cmd, results)
}

// destinations are where the tree goes; nil is none.
type destinations struct {
	branch   *branch.Branch
	registry *artifact.Repository
}

func (p *publishOptions) destinations(ctx context.Context) (to destinations, err error) {
	if p.branch != "" {
		if to.branch, err = p.openBranch(ctx); err != nil {
			return destinations{}, cli.Failure(err)
		}
	}
	if p.oci != "" {
		if to.registry, err = artifact.OpenRepository(p.oci); err != nil {
			return destinations{}, fmt.Errorf("read --oci: %w", err)
		}
	}
	return to, nil
}

// openBranch opens the branch. What --verify looks at is the branch of the remote where no other one is here: --push makes none here.
func (p *publishOptions) openBranch(ctx context.Context) (*branch.Branch, error) {
	if !p.push {
		here, err := branch.OpenLocal(p.input.Root, p.branch)
		if err != nil || !p.verify {
			return here, err
		}
		if there, err := here.Exists(ctx); err != nil || there || !branch.HasRemote(p.input.Root, p.remote) {
			return here, err
		}
	}
	user := cmp.Or(os.Getenv("LOCKSTEP_GIT_USER"), "x-access-token")
	return branch.OpenRemote(p.input.Root, p.remote, p.branch, branch.Credentials{User: user, Token: os.Getenv("LOCKSTEP_GIT_TOKEN")})
}

// commitAuthor is the author of commits: that of --author, or of the environment.
func (p *publishOptions) commitAuthor() (branch.Author, error) {
	if p.author == "" {
		return branch.Author{Name: cmp.Or(os.Getenv("GIT_AUTHOR_NAME"), "runtime-compiler"), Email: cmp.Or(os.Getenv("GIT_AUTHOR_EMAIL"), "runtime-compiler@localhost")}, nil
	}
	who, err := mail.ParseAddress(p.author)
	if err != nil {
		return branch.Author{}, fmt.Errorf("--author `%s` is not as in `Platform <platform@example.com>`", p.author)
	}
	return branch.Author{Name: cmp.Or(who.Name, who.Address), Email: who.Address}, nil
}

// publication is what happened in one place.
type publication struct {
	To       string `json:"to"`
	State    string `json:"state"`
	Revision string `json:"revision"`
	// Commit is the tip of a branch, Digest that of an artifact.
	Commit    string `json:"commit,omitempty"`
	Digest    string `json:"digest,omitempty"`
	Written   int    `json:"written"`
	Unchanged int    `json:"unchanged"`
	Removed   int    `json:"removed"`
	// Elsewhere are other folders of a branch in which there is a compiled tree, which stays as it is.
	Elsewhere []string `json:"elsewhere,omitempty"`
}

func foldersElsewhere(results []publication) []string {
	var folders []string
	for _, r := range results {
		folders = append(folders, r.Elsewhere...)
	}
	return folders
}

func (r publication) String() string {
	what := cmp.Or(r.Commit, r.Digest)
	switch branch.PublishState(r.State) {
	case branch.Newer:
		return fmt.Sprintf("%s: nothing to do, it was made from %s, which is newer", r.To, r.Revision)
	case branch.Unchanged:
		return fmt.Sprintf("%s: nothing to do, %s has this content", r.To, what)
	case branch.Published:
		if r.Commit == "" {
			return fmt.Sprintf("%s: published %s from %s, %d files", r.To, what, r.Revision, r.Written)
		}
		return fmt.Sprintf("%s: published %s from %s, files: %d written, %d unchanged, %d removed", r.To, what, r.Revision, r.Written, r.Unchanged, r.Removed)
	}
	return fmt.Sprintf("%s: %s, it is what %s compiles to", r.To, r.State, r.Revision)
}

// publish brings the tree to all places.
func (p *publishOptions) publish(ctx context.Context, to destinations, made *compiledTree, author branch.Author) ([]publication, error) {
	var results []publication
	if to.branch != nil {
		done, err := to.branch.Publish(ctx, &made.tree, branch.Options{Only: p.input.Cluster, Adopt: p.adopt, Author: author})
		if err != nil {
			return nil, err
		}
		results = append(results, publication{To: p.branch, State: string(done.State), Revision: done.Source, Commit: done.Commit,
			Written: len(done.Files.Written), Unchanged: len(done.Files.Unchanged), Removed: len(done.Files.Removed), Elsewhere: done.Elsewhere})
		if done.State == branch.Newer {
			return results, nil
		}
	}
	if to.registry != nil {
		pushed, err := to.registry.Push(ctx, made.artifact)
		if err != nil {
			return nil, err
		}
		r := publication{To: p.oci, State: string(branch.Unchanged), Revision: made.tree.Source.Commit, Digest: made.artifact.Digest(), Unchanged: len(made.tree.Files)}
		if pushed {
			r.State, r.Written, r.Unchanged = string(branch.Published), r.Unchanged, 0
		}
		results = append(results, r)
	}
	return results, p.writeProvenance(made)
}

// writeProvenance writes the statement.
func (p *publishOptions) writeProvenance(made *compiledTree) error {
	if p.provenance == "" {
		return nil
	}
	data, err := made.provenanceStatement(p)
	if err == nil {
		err = os.WriteFile(p.provenance, data, 0o644) //nolint:gosec // others read it
	}
	if err != nil {
		return fmt.Errorf("write the statement: %w", err)
	}
	return nil
}

func (p *publishOptions) printPublication(cmd *cobra.Command, results []publication) error {
	out := cmd.OutOrStdout()
	if p.format == cli.FormatJSON {
		encoder := json.NewEncoder(out)
		encoder.SetIndent("", "  ")
		return encoder.Encode(map[string]any{"published": results})
	}
	for _, r := range results {
		fmt.Fprintln(out, r)
	}
	return nil
}

// revisionToCompile names the commit that is compiled: what was asked for, or what the branch says that it was made from.
func (p *publishOptions) revisionToCompile(ctx context.Context, to *branch.Branch) (string, error) {
	if p.revision == "" && p.verify && to != nil {
		return to.Source(ctx)
	}
	return cmp.Or(p.revision, "HEAD"), nil
}
