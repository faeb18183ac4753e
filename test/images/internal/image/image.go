// Package image reads the definitions of test images.
//
// Duty: turn test/images/<name>/image.yaml into checked values. Definitions are data: what an image is made of is
// said there and nowhere else.
//
// Invariants: decoding is strict (unknown and duplicate keys, a second document and wrong types are errors), and an
// Image that Load returns is complete and consistent, so that building it needs no further checks of its shape.
package image

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/google/go-containerregistry/pkg/name"
	"go.yaml.in/yaml/v3"
)

// Image says what one image is called and made of: a Debian root file system or one Go program.
type Image struct {
	// Name is the folder of the definition.
	Name string `yaml:"-"`
	// Reference is registry/repository:tag; the registry need not exist.
	Reference string `yaml:"reference"`
	// OnDemand says that the image is large and made only where it is named.
	OnDemand bool    `yaml:"onDemand" json:",omitempty"`
	Debian   *Debian `yaml:"debian"`
	Go       *Go     `yaml:"go"`
	// Links are further symbolic links, path to target.
	Links map[string]string `yaml:"links"`
	// Files are further text files, path to contents; they replace those of packages.
	Files map[string]string `yaml:"files" json:",omitempty"`
	// Scripts are programs that need no compiler, path to source below the folder of all definitions.
	Scripts map[string]string `yaml:"scripts" json:",omitempty"`
	// Entrypoint, Cmd, Env, User and WorkingDir are those of the OCI image configuration.
	Entrypoint []string `yaml:"entrypoint"`
	Cmd        []string `yaml:"cmd"`
	Env        []string `yaml:"env"`
	User       string   `yaml:"user"`
	WorkingDir string   `yaml:"workingDir"`
}

// Debian is a root file system of Debian packages.
type Debian struct {
	// Suite is a release by its code name.
	Suite string `yaml:"suite"`
	// Packages are in the image, with the packages that own the libraries they are linked to.
	Packages []string `yaml:"packages"`
	// BuildPackages are there while Programs are compiled.
	BuildPackages []string `yaml:"buildPackages"`
	// Exclude are patterns of paths that stay out (path.Match; a match covers what lies below it).
	Exclude []string `yaml:"exclude"`
	// Wheels are files of Python's package index, beside Packages and BuildPackages.
	Wheels      []Wheel `yaml:"wheels" json:",omitempty"`
	BuildWheels []Wheel `yaml:"buildWheels" json:",omitempty"`
	// Sources are built one after the other.
	Sources []Source `yaml:"sources" json:",omitempty"`
	// Bytecode says that the image has Python's modules compiled, too: a file system that nobody can write keeps no cache, and large
	// frameworks would be compiled anew by every rank.
	Bytecode bool `yaml:"bytecode" json:",omitempty"`
	// Programs are compiled for this image.
	Programs []Program `yaml:"programs"`
	// RemoteShell says that the image is meant to hold ssh, as only those do that ours are measured against.
	RemoteShell bool `yaml:"remoteShell" json:",omitempty"`
}

// Wheel is one file of Python's package index.
type Wheel struct {
	// Name and Version are those of the index.
	Name    string `yaml:"name"`
	Version string `yaml:"version"`
	// SHA256 are the hashes of the files, by architecture as Go names it.
	SHA256 map[string]string `yaml:"sha256"`
	// Keep are patterns (path.Match) of paths in the image, when not all files are wanted.
	Keep []string `yaml:"keep" json:",omitempty"`
}

// Source is one source distribution of Python's package index, or what a package of Debian is made of.
type Source struct {
	// Name and Version are those of the index, and SHA256 is the hash of the file.
	Name    string `yaml:"name"`
	Version string `yaml:"version"`
	SHA256  string `yaml:"sha256"`
	// Debian says that the file is the one of Debian's source package of that name, without Debian's changes.
	Debian bool `yaml:"debian" json:",omitempty"`
	// Build are lines for bash, run in the unpacked folder inside the root file system. What they leave below /usr/local is in the image.
	Build string `yaml:"build"`
}

// Program is one C or C++ file to compile.
type Program struct {
	// Compiler is a command of the build packages, such as mpicc, and Flags are its last arguments.
	Compiler string   `yaml:"compiler"`
	Flags    []string `yaml:"flags" json:",omitempty"`
	// Source is a path below the folder of all definitions.
	Source string `yaml:"source"`
	// Path is where the program lies in the image.
	Path string `yaml:"path"`
}

// Go is a static program of this repository.
type Go struct {
	// Package is relative to the root module, such as ./cmd/mpi-agent.
	Package string `yaml:"package"`
	// Path is where the program lies in the image.
	Path string `yaml:"path"`
	// More are further programs: their packages by their paths.
	More map[string]string `yaml:"more"`
}

// Contents says in a few words what the image is made of.
func (i Image) Contents() string {
	if i.Go != nil {
		return "Go program " + i.Go.Package
	}
	return "Debian " + i.Debian.Suite + ": " + strings.Join(i.Debian.Packages, " ")
}

// Load reads every <name>/image.yaml in definitions, sorted by name, and reports all that is wrong with them.
func Load(definitions fs.FS) ([]Image, error) {
	files, err := fs.Glob(definitions, "*/image.yaml")
	if err != nil {
		return nil, err
	}
	if len(files) == 0 {
		return nil, errors.New("no image definitions: want <name>/image.yaml")
	}
	var images []Image
	var wrong []error
	for _, file := range files {
		img, err := load(definitions, file)
		if err != nil {
			wrong = append(wrong, fmt.Errorf("%s: %w", file, err))
		}
		images = append(images, img)
	}
	return images, errors.Join(wrong...)
}

// Choose returns the images with the given names, in the order of all; no names mean all that can be made for an architecture, as Go names
// it, and that are not large.
func Choose(all []Image, names []string, architecture string) ([]Image, error) {
	if len(names) == 0 {
		return slices.DeleteFunc(slices.Clone(all), func(i Image) bool { return i.OnDemand || !i.canBeMadeFor(architecture) }), nil
	}
	var known []string
	for _, img := range all {
		known = append(known, img.Name)
	}
	for _, n := range names {
		if !slices.Contains(known, n) {
			return nil, fmt.Errorf("no image is called %q: choose from %s", n, strings.Join(known, ", "))
		}
	}
	return slices.DeleteFunc(slices.Clone(all), func(i Image) bool { return !slices.Contains(names, i.Name) }), nil
}

// canBeMadeFor reports whether there are all wheels for an architecture: not everybody builds for every one.
func (i Image) canBeMadeFor(architecture string) bool {
	return i.Debian == nil || !slices.ContainsFunc(slices.Concat(i.Debian.Wheels, i.Debian.BuildWheels), func(w Wheel) bool {
		return w.SHA256[architecture] == ""
	})
}

func load(definitions fs.FS, file string) (Image, error) {
	f, err := definitions.Open(file)
	if err != nil {
		return Image{}, err
	}
	defer func() { _ = f.Close() }() // only read
	img, err := decode(f)
	if err != nil {
		return Image{}, err
	}
	img.Name = path.Dir(file)
	return img, img.check(definitions)
}

func decode(r io.Reader) (Image, error) {
	var img Image
	d := yaml.NewDecoder(r)
	d.KnownFields(true)
	if err := d.Decode(&img); errors.Is(err, io.EOF) {
		return Image{}, errors.New("is empty: want at least a reference and either debian or go")
	} else if err != nil {
		return Image{}, err
	}
	if err := d.Decode(new(any)); !errors.Is(err, io.EOF) {
		return Image{}, errors.New("holds more than one document: want one image per folder")
	}
	return img, nil
}

// check reports everything that is wrong with one definition.
func (i Image) check(definitions fs.FS) error {
	var wrong []error
	refuse := func(format string, args ...any) { wrong = append(wrong, fmt.Errorf(format, args...)) }
	if _, err := name.NewTag(i.Reference, name.StrictValidation); err != nil {
		refuse("reference %q: want registry/repository:tag: %w", i.Reference, err)
	}
	switch {
	case (i.Debian == nil) == (i.Go == nil):
		refuse("want exactly one of debian and go")
	case i.Debian != nil:
		wrong = append(wrong, i.Debian.check(definitions)...)
	default:
		wrong = append(wrong, i.Go.check()...)
	}
	for at, source := range i.Scripts {
		if _, err := fs.Stat(definitions, source); err != nil {
			refuse("scripts: source: %w", err)
		}
		if !path.IsAbs(at) {
			refuse("scripts: path %q: want an absolute path", at)
		}
	}
	for _, e := range i.Env {
		if name, _, found := strings.Cut(e, "="); !found || name == "" {
			refuse("env %q: want NAME=value", e)
		}
	}
	return errors.Join(wrong...)
}

func (d *Debian) check(definitions fs.FS) (wrong []error) {
	refuse := func(format string, args ...any) { wrong = append(wrong, fmt.Errorf("debian."+format, args...)) }
	if d.Suite == "" {
		refuse("suite is missing: want a code name such as bookworm")
	}
	if len(d.Packages) == 0 {
		refuse("packages are missing")
	}
	for _, p := range slices.Concat(d.Packages, d.BuildPackages) {
		if p == "" || strings.ContainsAny(p, ", \t\n") {
			refuse("packages: %q: want the name of one package", p)
		}
	}
	for _, pattern := range d.Exclude {
		if _, err := path.Match(pattern, ""); err != nil || !path.IsAbs(pattern) {
			refuse("exclude %q: want a pattern that begins with a slash", pattern)
		}
	}
	for _, w := range slices.Concat(d.Wheels, d.BuildWheels) {
		wrong = append(wrong, w.check()...)
	}
	for _, s := range d.Sources {
		wrong = append(wrong, s.check()...)
	}
	for _, p := range d.Programs {
		if p.Compiler == "" {
			refuse("programs: compiler of %q is missing", p.Path)
		}
		if _, err := fs.Stat(definitions, p.Source); err != nil {
			refuse("programs: source: %w", err)
		}
		if !path.IsAbs(p.Path) {
			refuse("programs: path %q: want an absolute path", p.Path)
		}
	}
	return wrong
}

func (w Wheel) check() (wrong []error) {
	refuse := func(format string, args ...any) {
		wrong = append(wrong, fmt.Errorf("debian.wheels: %q: "+format, append([]any{w.Name}, args...)...))
	}
	if !namesOneVersion(w.Name, w.Version) {
		refuse("want a name and one version, have %q", w.Version)
	}
	if len(w.SHA256) == 0 {
		refuse("sha256 is missing: want the hash of the file for each architecture")
	}
	for architecture, hash := range w.SHA256 {
		if !isHash(hash) {
			refuse("sha256 for %s: want 64 hexadecimal digits", architecture)
		}
	}
	for _, pattern := range w.Keep {
		if _, err := path.Match(pattern, ""); err != nil || !path.IsAbs(pattern) {
			refuse("keep %q: want a pattern that begins with a slash", pattern)
		}
	}
	return wrong
}

func (s Source) check() (wrong []error) {
	refuse := func(format string, args ...any) {
		wrong = append(wrong, fmt.Errorf("debian.sources: %q: "+format, append([]any{s.Name}, args...)...))
	}
	if !namesOneVersion(s.Name, s.Version) {
		refuse("want a name and one version, have %q", s.Version)
	}
	if !isHash(s.SHA256) {
		refuse("sha256: want 64 hexadecimal digits")
	}
	if s.Build == "" {
		refuse("build is missing: want the commands that install it below /usr/local")
	}
	return wrong
}

func namesOneVersion(name, version string) bool {
	return name != "" && version != "" && !strings.ContainsAny(name+version, " /=<>\n")
}

func isHash(text string) bool {
	raw, err := hex.DecodeString(text)
	return err == nil && len(raw) == sha256.Size
}

func (g *Go) check() (wrong []error) {
	if !strings.HasPrefix(g.Package, "./") {
		wrong = append(wrong, fmt.Errorf("go.package %q: want a path in the root module such as ./cmd/mpi-agent", g.Package))
	}
	if !path.IsAbs(g.Path) {
		wrong = append(wrong, fmt.Errorf("go.path %q: want an absolute path", g.Path))
	}
	return wrong
}
