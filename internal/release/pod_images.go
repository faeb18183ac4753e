package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// registry is where the chart looks for images. Whoever has another one copies them there.
const registry = "lockstep.dev"

// writeImages writes an OCI layout per image, with all architectures, and a list of the images with their digests.
func (r release) writeImages(builds []programBuild, legal []archiveFile, work string) error {
	var list strings.Builder
	for _, image := range podImages {
		index := mutate.IndexMediaType(empty.Index, types.OCIImageIndex)
		for _, b := range builds {
			if b.program != image.program {
				continue
			}
			inside := append([]programBuild{b}, slices.DeleteFunc(slices.Clone(builds), func(o programBuild) bool {
				return o.arch != b.arch || !slices.Contains(image.with, o.program)
			})...)
			made, err := r.buildImage(image, inside, legal)
			if err != nil {
				return err
			}
			platform := &v1.Platform{OS: "linux", Architecture: b.arch}
			index = mutate.AppendManifests(index, mutate.IndexAddendum{Add: made, Descriptor: v1.Descriptor{Platform: platform}})
		}
		digest, err := index.Digest()
		if err != nil {
			return err
		}
		fmt.Fprintf(&list, "%s@%s\n", r.imageReference(image), digest)
		if err := r.writeLayout(image, index, filepath.Join(work, image.program)); err != nil {
			return err
		}
	}
	return r.writeFile("images.txt", []byte(list.String()))
}

func (r release) imageReference(image podImage) string {
	return registry + "/" + image.program + ":" + r.version
}

// writeLayout writes an index as a tar file of an OCI layout, which containerd, skopeo, oras and crane read.
func (r release) writeLayout(image podImage, index v1.ImageIndex, folder string) error {
	written, err := layout.Write(folder, empty.Index)
	if err != nil {
		return err
	}
	// Of OCI, and of containerd, which would put its own prefix in front of the first.
	names := map[string]string{"org.opencontainers.image.ref.name": r.imageReference(image), "io.containerd.image.name": r.imageReference(image)}
	if err := written.AppendIndex(index, layout.WithAnnotations(names)); err != nil {
		return err
	}
	files, err := readFolder(folder)
	if err != nil {
		return err
	}
	for i := range files {
		files[i].name = strings.TrimPrefix(files[i].name, filepath.Base(folder)+"/")
	}
	var out bytes.Buffer
	if err := writeTar(&out, files, r.source.time); err != nil {
		return err
	}
	return r.writeFile(fmt.Sprintf("%s-%s.oci.tar", image.program, r.version), out.Bytes())
}

// nonroot is the user of images, who is in their passwd.
const nonroot = "65532"

// buildImage returns the image of programs for an architecture: one layer, with the least that a program expects
// around it. It runs the first one.
func (r release) buildImage(image podImage, programs []programBuild, legal []archiveFile) (v1.Image, error) {
	b := programs[0]
	files := []archiveFile{
		{name: "bin/", mode: 0o755}, {name: "etc/", mode: 0o755}, {name: "licenses/", mode: 0o755}, {name: "tmp/", mode: 0o1777},
		{name: "etc/passwd", mode: 0o644, data: []byte("root:x:0:0:root:/:/sbin/nologin\nnonroot:x:" + nonroot + ":" + nonroot + ":nonroot:/:/sbin/nologin\n")},
		{name: "etc/group", mode: 0o644, data: []byte("root:x:0:\nnonroot:x:" + nonroot + ":\n")},
	}
	for _, p := range programs {
		program, err := os.ReadFile(p.file)
		if err != nil {
			return nil, err
		}
		files = append(files, archiveFile{name: "bin/" + p.program, mode: 0o755, data: program})
	}
	for _, link := range image.links {
		files = append(files, archiveFile{name: "bin/" + link, mode: 0o777, link: b.program})
	}
	for _, f := range legal {
		files = append(files, archiveFile{name: "licenses/" + f.name, mode: f.mode, data: f.data})
	}
	var content bytes.Buffer
	if err := writeTar(&content, files, r.source.time); err != nil {
		return nil, err
	}
	open := func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(content.Bytes())), nil }
	layer, err := tarball.LayerFromOpener(open, tarball.WithMediaType(types.OCILayer))
	if err != nil {
		return nil, err
	}
	base := mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), types.OCIConfigJSON)
	made, err := mutate.AppendLayers(base, layer)
	if err != nil {
		return nil, err
	}
	return r.configureImage(made, b)
}

func (r release) configureImage(image v1.Image, b programBuild) (v1.Image, error) {
	config, err := image.ConfigFile()
	if err != nil {
		return nil, err
	}
	config = config.DeepCopy()
	config.OS, config.Architecture, config.Created = "linux", b.arch, v1.Time{Time: r.source.time}
	config.Config = v1.Config{
		Entrypoint: []string{"/bin/" + b.program}, Env: []string{"PATH=/bin"}, User: nonroot,
		Labels: map[string]string{
			"org.opencontainers.image.title": b.program, "org.opencontainers.image.version": r.version,
			"org.opencontainers.image.revision": r.source.commit, "org.opencontainers.image.licenses": ownLicence,
		},
	}
	return mutate.ConfigFile(image, config)
}
