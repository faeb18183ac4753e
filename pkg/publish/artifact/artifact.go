// Package artifact keeps compiled trees as artifacts of an OCI registry, in the form that Flux's OCIRepository reads: one layer, which is a
// compressed tar of the tree (https://fluxcd.io/flux/cheatsheets/oci-artifacts/).
//
// The artifact is made of the tree and its source alone, with the time of the source: the same tree has the same digest, whoever pushes it and
// however often, so that a registry and an engine see that nothing changed.
package artifact

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"path"
	"strings"
	"time"

	"github.com/opencontainers/go-digest"
	"github.com/opencontainers/image-spec/specs-go"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"oras.land/oras-go/v2/content"
	"oras.land/oras-go/v2/errdef"
	"oras.land/oras-go/v2/registry"
	"oras.land/oras-go/v2/registry/remote"
	"oras.land/oras-go/v2/registry/remote/auth"
	"oras.land/oras-go/v2/registry/remote/credentials"
	"oras.land/oras-go/v2/registry/remote/retry"

	"lockstep.dev/lockstep/pkg/publish"
)

// The media types of Flux.
const (
	configType  = "application/vnd.cncf.flux.config.v1+json"
	contentType = "application/vnd.cncf.flux.content.v1.tar+gzip"
)

// Artifact is an artifact that can be pushed.
type Artifact struct {
	manifest, config, layer []byte
	Manifest                ocispec.Descriptor
	parts                   [2]ocispec.Descriptor
}

// Digest names the artifact: sha256:….
func (a *Artifact) Digest() string { return a.Manifest.Digest.String() }

// New makes the artifact of a tree.
func New(tree *publish.Tree) (*Artifact, error) {
	layer, unpacked, err := packTree(tree)
	if err != nil {
		return nil, fmt.Errorf("pack the tree: %w", err)
	}
	created := tree.Source.Time.UTC().Format(time.RFC3339)
	config, err := json.Marshal(map[string]any{"created": created, "architecture": "", "os": "", "rootfs": map[string]any{"type": "layers", "diff_ids": []digest.Digest{unpacked}}})
	if err != nil {
		return nil, err
	}
	annotations := map[string]string{ocispec.AnnotationCreated: created, ocispec.AnnotationRevision: "sha1:" + tree.Source.Commit}
	if tree.Source.Repository != "" {
		annotations[ocispec.AnnotationSource] = tree.Source.Repository
	}
	a := &Artifact{config: config, layer: layer}
	a.parts = [2]ocispec.Descriptor{content.NewDescriptorFromBytes(configType, config), content.NewDescriptorFromBytes(contentType, layer)}
	a.manifest, err = json.Marshal(ocispec.Manifest{
		Versioned: specs.Versioned{SchemaVersion: 2}, MediaType: ocispec.MediaTypeImageManifest,
		Config: a.parts[0], Layers: []ocispec.Descriptor{a.parts[1]}, Annotations: annotations,
	})
	a.Manifest = content.NewDescriptorFromBytes(ocispec.MediaTypeImageManifest, a.manifest)
	return a, err
}

// packTree is a tar of the tree, with nothing in it of who packs it, and when; and the digest that it has without compression.
func packTree(tree *publish.Tree) ([]byte, digest.Digest, error) {
	var out bytes.Buffer
	compressed, err := gzip.NewWriterLevel(&out, gzip.BestCompression)
	if err != nil {
		return nil, "", err
	}
	sum := digest.Canonical.Digester()
	w := tar.NewWriter(io.MultiWriter(compressed, sum.Hash()))
	made := map[string]bool{}
	for _, file := range tree.Files {
		name := tree.PublishedPath(file)
		if err := writeFolders(w, path.Dir(name), made); err != nil {
			return nil, "", err
		}
		header := &tar.Header{Typeflag: tar.TypeReg, Name: name, Size: int64(len(file.Data)), Mode: 0o644, ModTime: tree.Source.Time.UTC().Truncate(time.Second), Format: tar.FormatPAX}
		if err := w.WriteHeader(header); err != nil {
			return nil, "", err
		}
		if _, err := w.Write(file.Data); err != nil {
			return nil, "", err
		}
	}
	if err := errors.Join(w.Close(), compressed.Close()); err != nil {
		return nil, "", err
	}
	return out.Bytes(), sum.Digest(), nil
}

// writeFolders writes the folders that a file is in, each once.
func writeFolders(w *tar.Writer, name string, made map[string]bool) error {
	if name == "." || made[name] {
		return nil
	}
	if err := writeFolders(w, path.Dir(name), made); err != nil {
		return err
	}
	made[name] = true
	return w.WriteHeader(&tar.Header{Typeflag: tar.TypeDir, Name: name + "/", Mode: 0o755, ModTime: time.Unix(0, 0).UTC(), Format: tar.FormatPAX})
}

// Repository is where artifacts are kept.
type Repository struct {
	remote *remote.Repository
	tag    string
}

// OpenRepository opens the place that a reference names: oci://registry/repository:tag, with or without the scheme. Credentials are those of
// `docker login`, helpers included. A registry on this machine may speak plain HTTP.
func OpenRepository(reference string) (*Repository, error) {
	parsed, err := registry.ParseReference(strings.TrimPrefix(reference, "oci://"))
	if err != nil {
		return nil, fmt.Errorf("`%s` is not a reference such as oci://registry.example.com/platform/mpi:main: %w", reference, err)
	}
	if parsed.Reference == "" || parsed.ValidateReferenceAsDigest() == nil {
		return nil, fmt.Errorf("`%s` has no tag: an engine follows a tag, such as oci://%s/%s:main", reference, parsed.Registry, parsed.Repository)
	}
	known, err := credentials.NewStoreFromDocker(credentials.StoreOptions{})
	if err != nil {
		return nil, fmt.Errorf("read the credentials of registries: %w", err)
	}
	opened, err := remote.NewRepository(parsed.Registry + "/" + parsed.Repository)
	if err != nil {
		return nil, err
	}
	opened.PlainHTTP = isLocalHost(parsed.Registry)
	opened.Client = &auth.Client{
		Client: retry.DefaultClient, Cache: auth.NewCache(), Credential: credentials.Credential(known),
		Header: http.Header{"User-Agent": {"runtime-compiler"}},
	}
	return &Repository{remote: opened, tag: parsed.Reference}, nil
}

func isLocalHost(host string) bool {
	name, _, err := net.SplitHostPort(host)
	if err != nil {
		name = host
	}
	return name == "localhost" || net.ParseIP(name).IsLoopback()
}

// TagDigest returns what the tag names; "" for nothing.
func (r *Repository) TagDigest(ctx context.Context) (string, error) {
	found, err := r.remote.Resolve(ctx, r.tag)
	if errors.Is(err, errdef.ErrNotFound) {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("ask the registry for `%s`: %w", r.tag, err)
	}
	return found.Digest.String(), nil
}

// Push pushes an artifact and moves the tag to it. It returns false where the tag names it already.
func (r *Repository) Push(ctx context.Context, a *Artifact) (bool, error) {
	now, err := r.TagDigest(ctx)
	if err != nil || now == a.Digest() {
		return false, err
	}
	for i, data := range [][]byte{a.config, a.layer} {
		if known, err := r.remote.Exists(ctx, a.parts[i]); err == nil && known {
			continue
		}
		if err := r.remote.Push(ctx, a.parts[i], bytes.NewReader(data)); err != nil && !errors.Is(err, errdef.ErrAlreadyExists) {
			return false, fmt.Errorf("push a part of the artifact: %w", err)
		}
	}
	if err := r.remote.PushReference(ctx, a.Manifest, bytes.NewReader(a.manifest), r.tag); err != nil {
		return false, fmt.Errorf("push the artifact: %w", err)
	}
	return true, nil
}

// NameByDigest is the artifact by its digest, as engines and signers name it.
func (r *Repository) NameByDigest(d string) string {
	return r.remote.Reference.Registry + "/" + r.remote.Reference.Repository + "@" + digest.Digest(d).String()
}
