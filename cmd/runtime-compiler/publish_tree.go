package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"lockstep.dev/lockstep/internal/cli"
	"lockstep.dev/lockstep/pkg/compile"
	"lockstep.dev/lockstep/pkg/compile/emit"
	"lockstep.dev/lockstep/pkg/compile/gitfs"
	"lockstep.dev/lockstep/pkg/publish"
	"lockstep.dev/lockstep/pkg/publish/artifact"
	"lockstep.dev/lockstep/pkg/publish/branch"
	"lockstep.dev/lockstep/pkg/publish/provenance"
)

// compiledTree is the tree of a commit, and what is known about how it was made.
type compiledTree struct {
	tree publish.Tree
	// repository knows what was read of it; prefix is the folder of the specs.
	repository *publish.OpenRecordingFS
	prefix     string
	// sources are where the engines of clusters look, by cluster.
	sources map[string]gitopsSource
	// artifact is the tree as an artifact of the registry; nil for none.
	artifact *artifact.Artifact
	registry *artifact.Repository
}

// compileCommit compiles a commit.
func (p *publishOptions) compileCommit(ctx context.Context, cmd *cobra.Command, opened *gitfs.Repository, to *branch.Branch) (*compiledTree, error) {
	name, err := p.revisionToCompile(ctx, to)
	if err != nil {
		return nil, cli.Failure(err)
	}
	found, err := opened.Revision(name)
	switch {
	case err != nil && name != cmp.Or(p.revision, "HEAD"):
		return nil, cli.Failure(fmt.Errorf("`%s` was made from a commit that is not in this clone, %s: fetch the branch that has it (git fetch), or ask whoever published it to push it: %w",
			p.branch, name, err))
	case err != nil:
		return nil, badRevisionError("--revision", err)
	}
	made := &compiledTree{repository: publish.NewRecordingFS(found.FS(nil)), prefix: opened.Prefix(), sources: map[string]gitopsSource{}}
	made.tree.Folder = p.folder
	if made.tree.Source, err = publish.ReadSource(p.input.Root, found.Hash()); err != nil {
		return nil, cli.Failure(err)
	}
	made.tree.Source.Repository = cmp.Or(p.source, made.tree.Source.Repository)
	options := p.input.Options()
	shown := cli.NewProgress(cmd.ErrOrStderr())
	options.Progress = shown.ShowUnits
	list, err := compile.Stream(made.repository, options, func(u compile.Unit) error {
		made.tree.Files = append(made.tree.Files, u.Files...)
		if f, found := gitopsSourceOf(u.Objects); found {
			made.sources[u.Cluster] = f
		}
		return ctx.Err()
	})
	shown.ClearLine()
	if err != nil {
		return nil, cli.Failure(err)
	}
	if list.Errors() > 0 {
		// What is not a mistake, check tells.
		w := cmd.ErrOrStderr()
		if err := list.WriteText(w, cli.Palette(w)); err != nil {
			return nil, cli.Failure(err)
		}
		fmt.Fprintf(w, "error: `%s` does not compile, so there is nothing to publish\n", name)
		return nil, cli.ErrReported
	}
	slices.SortFunc(made.tree.Files, func(a, b emit.File) int { return strings.Compare(a.Path, b.Path) })
	return made, nil
}

// packArtifact makes the artifact, where one is wanted.
func (c *compiledTree) packArtifact(wanted bool) (err error) {
	if wanted {
		c.artifact, err = artifact.New(&c.tree)
	}
	return err
}

// provenanceStatement says how the tree came to be.
func (c *compiledTree) provenanceStatement(p *publishOptions) ([]byte, error) {
	inputs, err := provenance.SHA256OfFiles(c.repository.FS, c.repository.Files(), c.prefix)
	if err != nil {
		return nil, err
	}
	facts := provenance.Facts{Tree: &c.tree, Inputs: inputs, Root: strings.TrimSuffix(c.prefix, "/"), Cluster: p.input.Cluster, Version: cli.Version()}
	if c.artifact != nil {
		name, _, _ := strings.Cut(c.registry.NameByDigest(c.artifact.Digest()), "@")
		facts.Artifact = provenance.Subject{Name: name, Digest: map[string]string{"sha256": strings.TrimPrefix(c.artifact.Digest(), "sha256:")}}
	}
	return provenance.NewStatement(facts).Encode()
}

// verified is the state of a place that has what it should.
const verified = "verified"

// compareDestinations reports whether all places have what the commit compiles to.
func (p *publishOptions) compareDestinations(ctx context.Context, to destinations, made *compiledTree) ([]publication, error) {
	var results []publication
	commit := made.tree.Source.Commit
	if to.branch != nil {
		differing, err := to.branch.Differences(ctx, &made.tree, p.input.Cluster)
		if err != nil {
			return nil, err
		}
		if len(differing) > 0 {
			return nil, fmt.Errorf("`%s` is not what %s compiles to: %s", p.branch, commit, cli.JoinFirst(differing))
		}
		results = append(results, publication{To: p.branch, State: verified, Revision: commit, Unchanged: len(made.tree.Files)})
	}
	if to.registry != nil {
		digest, err := to.registry.TagDigest(ctx)
		if err != nil {
			return nil, err
		}
		if want := made.artifact.Digest(); digest != want {
			return nil, fmt.Errorf("`%s` is not what %s compiles to: the registry has %s, and it should be %s", p.oci, commit, cmp.Or(digest, "nothing"), want)
		}
		results = append(results, publication{To: p.oci, State: verified, Revision: commit, Digest: digest, Unchanged: len(made.tree.Files)})
	}
	return results, p.checkProvenance(made)
}

// checkProvenance returns an error unless the statement is what would be written now.
func (p *publishOptions) checkProvenance(made *compiledTree) error {
	if p.provenance == "" {
		return nil
	}
	want, err := made.provenanceStatement(p)
	if err != nil {
		return err
	}
	got, err := os.ReadFile(p.provenance)
	if err != nil {
		return fmt.Errorf("read the statement: %w", err)
	}
	var statement provenance.Statement
	if err := json.Unmarshal(got, &statement); err != nil {
		return fmt.Errorf("`%s` is not a statement: %w. Without --verify, --provenance writes it anew", p.provenance, err)
	}
	if !bytes.Equal(got, want) {
		return fmt.Errorf("`%s` is not true: %s compiles to something else, or it was made by another version than %s", p.provenance, made.tree.Source.Commit, cli.Version())
	}
	return nil
}
