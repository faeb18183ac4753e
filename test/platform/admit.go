package platform

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Admit lets a tenant use more runtimes of the catalog, as the platform team would: by the tenant's spec, compiled and applied. It lasts as long as
// the cluster, or until UseCompanion.
func (p *Platform) Admit(ctx context.Context, tenant string, runtimes ...string) error {
	return p.admit(ctx, p.tools.Root, tenant, "runtimes", runtimes)
}

// AdmitBeside is Admit after UseCompanion, until that is undone.
func (p *Platform) AdmitBeside(ctx context.Context, tenant string, runtimes ...string) error {
	return p.admit(ctx, p.companionBundle(), tenant, "runtimes", runtimes)
}

// AdmitEditors lets more people and programs be editors of a tenant, in the form of its spec, for as long as Admit.
func (p *Platform) AdmitEditors(ctx context.Context, tenant string, editors ...string) error {
	return p.admit(ctx, p.tools.Root, tenant, "editors", editors)
}

func (p *Platform) admit(ctx context.Context, root, tenant, key string, more []string) error {
	list := key + ": ["
	return p.amend(ctx, root, tenant, list, list+strings.Join(more, ", ")+", ")
}

// Amend changes the spec of a tenant at texts, each followed by what comes in its place, for as long as Admit.
func (p *Platform) Amend(ctx context.Context, tenant string, changes ...string) error {
	return p.amend(ctx, p.tools.Root, tenant, changes...)
}

func (p *Platform) amend(ctx context.Context, root, tenant string, changes ...string) error {
	bundle, err := os.MkdirTemp("", "lockstep-admit-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(bundle) }()
	if err := copyBundle(root, bundle); err != nil {
		return err
	}
	spec := filepath.Join(bundle, "tenants", tenant+".yaml")
	text, err := os.ReadFile(spec)
	if err != nil {
		return err
	}
	for change := range slices.Chunk(changes, 2) { //nolint:mnd // pairs
		if !bytes.Contains(text, []byte(change[0])) {
			return fmt.Errorf("%s has no %s", spec, change[0])
		}
		text = bytes.Replace(text, []byte(change[0]), []byte(change[1]), 1)
	}
	if err := os.WriteFile(spec, text, 0o600); err != nil {
		return err
	}
	dist := filepath.Join(bundle, "dist")
	if _, err := p.compile(ctx, bundle, dist); err != nil {
		return err
	}
	_, err = p.apply(ctx, filepath.Join(dist, clusterSpec))
	return err
}

// copyBundle copies the specs of a bundle.
func copyBundle(from, to string) error {
	for _, folder := range []string{"catalog", "tenants", "overlays", "charts"} {
		if err := os.CopyFS(filepath.Join(to, folder), os.DirFS(filepath.Join(from, folder))); err != nil {
			return fmt.Errorf("copy the bundle: %w", err)
		}
	}
	return nil
}
