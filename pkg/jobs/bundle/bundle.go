// Package bundle packs what a person needs who helps with a job into one archive: the TrainJob, what was made of it, its events and logs, and
// what could not be read. No Secret is ever in it, and what looks like a secret is taken out of all that is. It is pure: objects and lines go in.
package bundle

import (
	"archive/tar"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"path"
	"slices"
	"strings"
	"time"

	"sigs.k8s.io/yaml"

	"lockstep.dev/lockstep/pkg/mpi/diagnose"
)

// Bundle is an archive that is being filled.
type Bundle struct {
	name    string
	texts   map[string][]byte
	objects map[string]any
	unseen  []string
}

// New returns an empty bundle; name is that of the folder in the archive.
func New(name string) *Bundle {
	return &Bundle{name: name, texts: map[string][]byte{}, objects: map[string]any{}}
}

// NoteUnseen notes what could not be read, and why.
func (b *Bundle) NoteUnseen(text string) { b.unseen = append(b.unseen, text) }

// AddText adds a text.
func (b *Bundle) AddText(name, text string) {
	b.texts[name] = append(b.texts[name], privateKey.ReplaceAllString(text, hidden)...)
}

// AddLine adds a line to a file.
func (b *Bundle) AddLine(name, line string) {
	b.texts[name] = append(b.texts[name], diagnose.ClipBytes(line, longestLine)+"\n"...)
}

// AddObject adds an object of Kubernetes, to be written as YAML.
func (b *Bundle) AddObject(name string, object any) error {
	text, err := json.Marshal(object)
	if err != nil {
		return fmt.Errorf("write %s: %w", name, err)
	}
	var tree map[string]any
	if err := json.Unmarshal(text, &tree); err != nil {
		return fmt.Errorf("write %s: %w", name, err)
	}
	if tree["kind"] == "Secret" {
		return fmt.Errorf("%s is a Secret: none is put into a bundle", name)
	}
	if metadata, is := tree["metadata"].(map[string]any); is {
		delete(metadata, "managedFields")
		if annotations, is := metadata["annotations"].(map[string]any); is {
			delete(annotations, "kubectl.kubernetes.io/last-applied-configuration")
		}
	}
	b.objects[name] = tree
	return nil
}

// FileNames are the names of the files, sorted.
func (b *Bundle) FileNames() []string {
	names := slices.AppendSeq(slices.Collect(maps.Keys(b.texts)), maps.Keys(b.objects))
	slices.Sort(names)
	return names
}

// WriteArchive writes the archive. The order of what was added does not matter to its bytes, but the time does.
func (b *Bundle) WriteArchive(w io.Writer, now time.Time) error {
	zip := gzip.NewWriter(w)
	archive := tar.NewWriter(zip)
	files, err := b.cleanFiles(now)
	if err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		text := files[name]
		header := &tar.Header{Name: path.Join(b.name, name), Mode: 0o600, Size: int64(len(text)), ModTime: now.Truncate(time.Second), Format: tar.FormatPAX}
		if err := archive.WriteHeader(header); err != nil {
			return fmt.Errorf("write %s: %w", name, err)
		}
		if _, err := archive.Write([]byte(text)); err != nil {
			return fmt.Errorf("write %s: %w", name, err)
		}
	}
	if err := archive.Close(); err != nil {
		return err
	}
	return zip.Close()
}

// cleanFiles returns all files without secrets: what one of them shows to be secret is taken out of all, since programs
// print what they were given.
func (b *Bundle) cleanFiles(now time.Time) (map[string]string, error) {
	known := secrets{}
	for _, tree := range b.objects {
		known.learnTree(tree)
	}
	for _, text := range b.texts {
		known.learnText(string(text), place{})
	}
	replacer := known.replacer()
	files := map[string]string{"README.txt": cleanText(b.readmeText(now), replacer)}
	for name, text := range b.texts {
		files[name] = cleanText(string(text), replacer)
	}
	for name, tree := range b.objects {
		text, err := yaml.Marshal(cleanTree(tree, replacer))
		if err != nil {
			return nil, fmt.Errorf("write %s: %w", name, err)
		}
		files[name] = string(text)
	}
	return files, nil
}

func (b *Bundle) readmeText(now time.Time) string {
	var text strings.Builder
	fmt.Fprintf(&text, "What is known of the job %s, read at %s.\n\n", b.name, now.UTC().Format(time.RFC3339))
	text.WriteString("No Secret was read. What looks like a secret was replaced by ***: look through it all the same before it is passed on.\n")
	if len(b.unseen) > 0 {
		text.WriteString("\nCould not be read:\n")
		for _, what := range b.unseen {
			text.WriteString("- " + what + "\n")
		}
	}
	return text.String()
}
