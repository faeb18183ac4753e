// Package images brings container images into the nodes: it reads archives,
// loads them into each node's containerd unless they are there, makes the
// archives of the cluster's own images, and looks after the image stores that
// outlive a cluster.
package images

import (
	"archive/tar"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"strings"
)

// Image is one image of an archive.
type Image struct {
	// Name is registry/repository:tag.
	Name string
	// ID is the digest of the image's configuration, which covers the layers
	// and is what a container runtime calls the image's ID.
	ID string
}

// Archive is a file in docker-archive or OCI layout form.
type Archive struct {
	Path   string
	Images []Image
}

// Open reads which images an archive holds. It reads the small files in it and
// skips over the layers.
func Open(file string) (Archive, error) {
	f, err := os.Open(file)
	if err != nil {
		return Archive{}, fmt.Errorf("open the image archive: %w", err)
	}
	defer func() { _ = f.Close() }()
	images, err := parse(f)
	if err != nil {
		return Archive{}, fmt.Errorf("read the image archive %s: %w", file, err)
	}
	return Archive{Path: file, Images: images}, nil
}

// small is the most that a manifest or configuration may have; anything bigger
// is a layer.
const small = 1 << 20

// parse collects the small files of a tar archive by name and reads the images
// from them. Archives that docker writes are both forms at once.
func parse(r io.Reader) ([]Image, error) {
	files := map[string][]byte{}
	archive := tar.NewReader(r)
	for {
		header, err := archive.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, fmt.Errorf("not a tar archive without compression: %w", err)
		}
		if header.Typeflag != tar.TypeReg || header.Size > small {
			continue
		}
		content, err := io.ReadAll(archive)
		if err != nil {
			return nil, err
		}
		files[path.Clean(header.Name)] = content
	}
	images, err := named(files)
	if err == nil && len(images) == 0 {
		err = errors.New("it names no image: it must be a docker-archive with RepoTags or an OCI layout with image names")
	}
	return images, err
}

func named(files map[string][]byte) ([]Image, error) {
	if manifest := files["manifest.json"]; manifest != nil {
		return dockerImages(manifest, files)
	}
	if index := files["index.json"]; index != nil {
		return ociImages(index, files)
	}
	return nil, errors.New("it holds neither manifest.json nor index.json")
}

func dockerImages(manifest []byte, files map[string][]byte) ([]Image, error) {
	var entries []struct {
		Config   string
		RepoTags []string
	}
	if err := json.Unmarshal(manifest, &entries); err != nil {
		return nil, fmt.Errorf("manifest.json: %w", err)
	}
	var images []Image
	for _, e := range entries {
		config := files[path.Clean(e.Config)]
		if config == nil {
			return nil, fmt.Errorf("the configuration %q is missing", e.Config)
		}
		for _, tag := range e.RepoTags {
			images = append(images, Image{Name: tag, ID: digest(config)})
		}
	}
	return images, nil
}

// ociImages follows an OCI image layout (image-spec 1.1) from the index to the
// configurations. Names are annotations: containerd's own, or a reference name
// that is a whole reference.
func ociImages(index []byte, files map[string][]byte) ([]Image, error) {
	var root struct {
		Manifests []struct {
			Digest      string
			Annotations map[string]string
		}
	}
	if err := json.Unmarshal(index, &root); err != nil {
		return nil, fmt.Errorf("index.json: %w", err)
	}
	var images []Image
	for _, m := range root.Manifests {
		name := m.Annotations["io.containerd.image.name"]
		if ref := m.Annotations["org.opencontainers.image.ref.name"]; name == "" && strings.ContainsAny(ref, "/:") {
			name = ref
		}
		if name == "" {
			continue
		}
		var manifest struct{ Config struct{ Digest string } }
		if err := json.Unmarshal(files[blob(m.Digest)], &manifest); err != nil {
			return nil, fmt.Errorf("manifest %s: %w", m.Digest, err)
		}
		images = append(images, Image{Name: name, ID: manifest.Config.Digest})
	}
	return images, nil
}

func blob(digest string) string {
	return "blobs/" + strings.Replace(digest, ":", "/", 1)
}

func digest(content []byte) string {
	sum := sha256.Sum256(content)
	return "sha256:" + hex.EncodeToString(sum[:])
}
