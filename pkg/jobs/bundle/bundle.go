// Package bundle packs what a person needs who helps with a job into one archive: the TrainJob, what was made of it, its events and logs, and
// what could not be read. No Secret is ever in it, and what looks like a secret is taken out of all that is (diagnose.Redact). It is pure:
// objects and lines go in.
package bundle

import (
	"archive/tar"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"
	"time"

	"sigs.k8s.io/yaml"

	"lockstep.dev/lockstep/pkg/mpi/diagnose"
)

// Bundle is an archive that is being filled.
type Bundle struct {
	name    string
	files   map[string][]byte
	unseen  []string
	secrets []string
}

// New returns an empty bundle; name is that of the folder in the archive.
func New(name string) *Bundle { return &Bundle{name: name, files: map[string][]byte{}} }

// NoteUnseen notes what could not be read, and why.
func (b *Bundle) NoteUnseen(text string) { b.unseen = append(b.unseen, diagnose.Redact(text)) }

// AddText adds a text, less what looks like a secret.
func (b *Bundle) AddText(name, text string) {
	lines := strings.SplitAfter(privateKey.ReplaceAllString(text, hidden), "\n")
	for i, line := range lines {
		body := strings.TrimSuffix(line, "\n")
		lines[i] = b.cleanLine(body) + line[len(body):]
	}
	b.appendToFile(name, strings.Join(lines, ""))
}

// AddLine adds a line to a file, less what looks like a secret.
func (b *Bundle) AddLine(name, line string) { b.appendToFile(name, b.cleanLine(line)+"\n") }

func (b *Bundle) appendToFile(name, text string) { b.files[name] = append(b.files[name], text...) }

// AddObject adds an object of Kubernetes as YAML. Values of variables that look like secrets, or whose name says so, are taken out, and stay out
// of all that is added later: programs print what they were given.
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
	b.learnSecrets(tree)
	text, err = yaml.Marshal(b.withoutSecrets(tree))
	if err != nil {
		return fmt.Errorf("write %s: %w", name, err)
	}
	b.appendToFile(name, string(text))
	return nil
}

// leastSecret is the length of a value that is looked for elsewhere: a shorter one would be found in words that have nothing to do with it.
const leastSecret = 6

// learnSecrets notes the values of variables that look like secrets.
func (b *Bundle) learnSecrets(value any) {
	switch value := value.(type) {
	case map[string]any:
		name, named := value["name"].(string)
		text, is := value["value"].(string)
		if named && is && len(text) >= leastSecret && (isSecretName(name) || diagnose.Redact(text) != text) && !slices.Contains(b.secrets, text) {
			b.secrets = append(b.secrets, text)
			// A secret may be the beginning of another one.
			slices.SortFunc(b.secrets, func(x, y string) int { return len(y) - len(x) })
		}
		for _, part := range value {
			b.learnSecrets(part)
		}
	case []any:
		for _, part := range value {
			b.learnSecrets(part)
		}
	}
}

// isSecretName reports whether a value of this name is a secret, whatever it is.
func isSecretName(name string) bool {
	const some = "=aaaa"
	return diagnose.Redact(name+some) != name+some
}

const hidden = "***"

// privateKey is one in PEM, over all its lines: diagnose.Redact sees one at a time.
var privateKey = regexp.MustCompile(`(?s)-----BEGIN [A-Z0-9 ]*PRIVATE KEY.*?(?:-----END [A-Z0-9 ]*PRIVATE KEY-----|$)`)

// withoutSecrets returns a tree without secrets.
func (b *Bundle) withoutSecrets(value any) any {
	switch value := value.(type) {
	case map[string]any:
		name, _ := value["name"].(string)
		result := make(map[string]any, len(value))
		for key, part := range value {
			text, is := part.(string)
			if is && text != "" && (key == "value" && isSecretName(name) || isSecretName(key) && !isReferenceField(key)) {
				result[key] = hidden
			} else {
				result[key] = b.withoutSecrets(part)
			}
		}
		return result
	case []any:
		result := make([]any, len(value))
		for i, part := range value {
			result[i] = b.withoutSecrets(part)
		}
		return result
	case string:
		lines := strings.Split(privateKey.ReplaceAllString(value, hidden), "\n")
		for i, line := range lines {
			lines[i] = b.cleanLine(line)
		}
		return strings.Join(lines, "\n")
	}
	return value
}

// isReferenceField reports whether a field of Kubernetes has a word such as `key` or `secret` in its name and holds a name, not a secret.
func isReferenceField(field string) bool {
	return slices.Contains([]string{"key", "topologyKey", "secretName", "secretKey", "tokenExpirationSeconds"}, field)
}

// longestLine is how much of a line is kept, in bytes. Looking for secrets in a long one takes long.
const longestLine = 8 << 10

func (b *Bundle) cleanLine(line string) string {
	line = diagnose.ClipBytes(line, longestLine)
	for _, s := range b.secrets {
		line = strings.ReplaceAll(line, s, hidden)
	}
	return diagnose.Redact(line)
}

// FileNames are the names of the files, sorted.
func (b *Bundle) FileNames() []string { return slices.Sorted(maps.Keys(b.files)) }

// WriteArchive writes the archive. The order of what was added does not matter to its bytes, but the time does.
func (b *Bundle) WriteArchive(w io.Writer, now time.Time) error {
	zip := gzip.NewWriter(w)
	archive := tar.NewWriter(zip)
	files := maps.Clone(b.files)
	files["README.txt"] = []byte(b.readmeText(now))
	for _, name := range slices.Sorted(maps.Keys(files)) {
		// Objects that came after a text may have taught a secret that stands in it.
		text := []byte(b.replaceKnownSecrets(string(files[name])))
		header := &tar.Header{Name: path.Join(b.name, name), Mode: 0o600, Size: int64(len(text)), ModTime: now.Truncate(time.Second), Format: tar.FormatPAX}
		if err := archive.WriteHeader(header); err != nil {
			return fmt.Errorf("write %s: %w", name, err)
		}
		if _, err := archive.Write(text); err != nil {
			return fmt.Errorf("write %s: %w", name, err)
		}
	}
	if err := archive.Close(); err != nil {
		return err
	}
	return zip.Close()
}

func (b *Bundle) replaceKnownSecrets(text string) string {
	for _, s := range b.secrets {
		text = strings.ReplaceAll(text, s, hidden)
	}
	return text
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
