package build

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"runtime"

	"lockstep.dev/lockstep/test/images/archive"
	"lockstep.dev/lockstep/test/images/internal/image"
)

// format is the version of how this tool makes images; raise it when equal definitions come to give other images.
const format = 1

// keyLength is the number of hexadecimal digits of a key.
const keyLength = 16

// inputs are all that an image depends on, besides what the Debian archive holds at the time.
type inputs struct {
	Format       int
	Architecture string
	// Definition is the decoded one, so that a comment in it costs no build. It has the suite and the packages.
	Definition image.Image
	// Sources are the contents of the C files, in the order of the definition.
	Sources []string
	// Scripts are the contents of the scripts, by their paths in the image.
	Scripts map[string]string `json:",omitempty"`
	// Program is the SHA-256 of the built Go program.
	Program string
}

// keyOf names an image by what goes into it; program is the built Go program, or "".
func keyOf(img image.Image, definitions fs.FS, programs ...archive.File) (string, error) {
	in := inputs{Format: format, Architecture: runtime.GOARCH, Definition: img}
	if img.Debian != nil {
		for _, p := range img.Debian.Programs {
			code, err := fs.ReadFile(definitions, p.Source)
			if err != nil {
				return "", err
			}
			in.Sources = append(in.Sources, string(code))
		}
	}
	for at, source := range img.Scripts {
		text, err := fs.ReadFile(definitions, source)
		if err != nil {
			return "", err
		}
		if in.Scripts == nil {
			in.Scripts = map[string]string{}
		}
		in.Scripts[at] = string(text)
	}
	for _, program := range programs {
		raw, err := os.ReadFile(program.Source)
		if err != nil {
			return "", err
		}
		in.Program += fmt.Sprintf("%s %x\n", program.Path, sha256.Sum256(raw))
	}
	return in.key()
}

func (in inputs) key() (string, error) {
	raw, err := json.Marshal(in)
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(raw)
	return hex.EncodeToString(sum[:])[:keyLength], nil
}
