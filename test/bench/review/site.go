package main

import (
	"context"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"lockstep.dev/lockstep/test/bench/workload"
)

// The ranges that the storage of a site is in, before and after somebody edits a line.
const (
	storage = "10.20.0.0/16"
	all     = "0.0.0.0/0"
)

// site is a generated workload in its states, each a folder of specs.
type site struct {
	*workload.Workload
	// objects are those of the base, narrowed those of the states with overlays.
	objects, narrowed int
	// base is the state as it was generated, same a copy of it. In oneTenant the quota of a tenant is another, in image the image of a
	// runtime. In narrow the overlay of each cluster lets all tenants reach the storage; open differs in one line of the first cluster.
	base, same, oneTenant, image, narrow, open string
	// overlay is the file of that line, below the root.
	overlay string
	line    int
}

// site generates a workload, lets the compiler compile it once, and makes its other states.
func (b *bench) site(ctx context.Context, tenants int) (*site, error) {
	o := b.o.Options.Options
	o.Tenants = tenants
	root := filepath.Join(b.Dir, "site-"+strconv.Itoa(tenants))
	s := &site{
		base: filepath.Join(root, "base"), same: filepath.Join(root, "same"), oneTenant: filepath.Join(root, "one-tenant"),
		image: filepath.Join(root, "image"), narrow: filepath.Join(root, "narrow"), open: filepath.Join(root, "open"),
	}
	if err := os.RemoveAll(root); err != nil { // both comparisons may be of one size
		return nil, err
	}
	var err error
	if s.Workload, err = workload.Generate(s.base, o); err != nil {
		return nil, err
	}
	for _, state := range []string{s.same, s.oneTenant, s.image, s.narrow} {
		if err := os.CopyFS(state, os.DirFS(s.base)); err != nil {
			return nil, err
		}
	}
	if err := s.change(); err != nil {
		return nil, err
	}
	for state, objects := range map[string]*int{s.base: &s.objects, s.narrow: &s.narrowed} {
		counted, err := workload.Compile(ctx, b.Compiler.Path, state, s.compiled(state))
		if err != nil {
			return nil, err
		}
		*objects = counted.Objects()
	}
	b.Say("%d tenants: %d spec files, %d objects", tenants, s.Files, s.objects)
	return s, nil
}

func (s *site) change() (err error) {
	if err := workload.ChangeTenant(s.oneTenant, s.TenantFiles[len(s.TenantFiles)/2], 1001); err != nil {
		return err
	}
	if err := workload.ChangeImage(s.image, "9.0.0@sha256:"+strings.Repeat("0123", 16)); err != nil {
		return err
	}
	for _, cluster := range s.Clusters {
		if _, _, err := workload.Storage(s.narrow, cluster, storage); err != nil {
			return err
		}
	}
	if err := os.CopyFS(s.open, os.DirFS(s.narrow)); err != nil {
		return err
	}
	s.overlay, s.line, err = workload.Storage(s.open, s.Clusters[0], all)
	return err
}

// compiled is the folder with the finished output of a state.
func (s *site) compiled(state string) string { return state + "-dist" }
