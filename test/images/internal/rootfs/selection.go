package rootfs

import (
	"bufio"
	"debug/elf"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"lockstep.dev/lockstep/test/images/archive"
)

// Root is a root file system on disk that dpkg filled. All paths in it are absolute, seen from inside, with the
// merged-/usr links of the top level resolved (/lib/x becomes /usr/lib/x).
type Root struct {
	// Bytecode says that what CompileModules has made is taken along with the modules.
	Bytecode bool

	dir      string
	files    map[string][]string // package → what dpkg installed for it
	owner    map[string]string   // path → package
	aliases  map[string]string   // top-level links: "lib" → "usr/lib"
	libDirs  []string            // where the dynamic loader looks
	symlinks []string            // every symbolic link
}

// generated are the files that maintainer scripts write: no package lists them, every container wants them.
var generated = []string{"/etc/passwd", "/etc/group", "/etc/nsswitch.conf", "/etc/ld.so.cache"}

// useless are paths that nothing in a container reads.
var useless = []string{
	"/usr/share/doc", "/usr/share/man", "/usr/share/info", "/usr/share/locale", "/usr/share/lintian",
	"/usr/share/bug", "/usr/share/bash-completion", "/usr/share/menu", "/etc/skel", "/usr/lib/*/gconv",
}

// OpenRoot reads what dpkg knows about the root file system at dir.
func OpenRoot(dir string) (*Root, error) {
	r := &Root{dir: dir, files: map[string][]string{}, owner: map[string]string{}, aliases: map[string]string{}}
	for _, read := range []func() error{r.readAliases, r.readPackages, r.readLibDirs, r.readSymlinks} {
		if err := read(); err != nil {
			return nil, fmt.Errorf("read root file system %s: %w", dir, err)
		}
	}
	return r, nil
}

// Select returns the files of an image that holds packages and no more than they run on: every package is taken
// whole, and brings in the packages that own the shared libraries its programs and plug-ins are linked to (not its
// Depends: Debian's openmpi-bin depends on an ssh client, compilers depend on kernel headers). extra are further
// programs in the root that are taken with their libraries. Paths that match a pattern in exclude (path.Match,
// which also covers everything below a match) stay behind, and with them what only they need.
func (r *Root) Select(packages, extra, exclude []string) ([]archive.File, error) {
	s := &selection{root: r, exclude: append(slices.Clone(useless), exclude...), kept: map[string]bool{}, packages: map[string]bool{}}
	for _, p := range append(slices.Clone(generated), extra...) {
		if err := s.keep(p); err != nil {
			return nil, err
		}
	}
	for _, p := range packages {
		if err := s.addPackage(p); err != nil {
			return nil, err
		}
	}
	s.keepLinks()
	return s.archiveFiles()
}

func (r *Root) path(p string) string { return filepath.Join(r.dir, p) }

func (r *Root) readAliases() error {
	top, err := os.ReadDir(r.dir)
	for _, e := range top {
		if e.Type()&fs.ModeSymlink == 0 {
			continue
		}
		target, err := os.Readlink(r.path(e.Name()))
		if err != nil {
			return err
		}
		r.aliases[e.Name()] = strings.Trim(target, "/")
	}
	return err
}

// canonical resolves the top-level links, as dpkg's lists still speak of /lib and /bin.
func (r *Root) canonical(p string) string {
	first, rest, below := strings.Cut(strings.TrimPrefix(path.Clean("/"+p), "/"), "/")
	if target, found := r.aliases[first]; found && below {
		return "/" + path.Join(target, rest)
	}
	return path.Join("/", first, rest)
}

func (r *Root) readPackages() error {
	const info = "/var/lib/dpkg/info"
	lists, err := filepath.Glob(r.path(info + "/*.list"))
	if err != nil {
		return err
	}
	if len(lists) == 0 {
		return fmt.Errorf("no package lists in %s", info)
	}
	for _, list := range lists {
		name, _, _ := strings.Cut(strings.TrimSuffix(filepath.Base(list), ".list"), ":")
		raw, err := os.ReadFile(list)
		if err != nil {
			return err
		}
		for line := range strings.Lines(string(raw)) {
			p := r.canonical(strings.TrimSuffix(line, "\n"))
			r.files[name] = append(r.files[name], p)
			r.owner[p] = name
		}
	}
	return nil
}

// readLibDirs reads the loader's configuration; ldconfig reads the files in this order too.
func (r *Root) readLibDirs() error {
	confs, err := filepath.Glob(r.path("/etc/ld.so.conf.d/*.conf"))
	for _, conf := range confs {
		raw, err := os.ReadFile(conf)
		if err != nil {
			return err
		}
		for line := range strings.Lines(string(raw)) {
			if line = strings.TrimSpace(line); strings.HasPrefix(line, "/") {
				r.libDirs = append(r.libDirs, r.canonical(line))
			}
		}
	}
	r.libDirs = append(r.libDirs, "/usr/lib")
	return err
}

func (r *Root) readSymlinks() error {
	return filepath.WalkDir(r.dir, func(p string, d fs.DirEntry, err error) error {
		if err == nil && d.Type()&fs.ModeSymlink != 0 {
			r.symlinks = append(r.symlinks, strings.TrimPrefix(p, r.dir))
		}
		return err
	})
}

// resolve follows p through symbolic links to what it stands for; found is false for a dangling or circular link.
func (r *Root) resolve(p string) (target string, found bool) {
	p = r.canonical(p)
	for range 40 { // the kernel's own limit
		info, err := os.Lstat(r.path(p))
		if err != nil {
			return p, false
		}
		if info.Mode()&fs.ModeSymlink == 0 {
			return p, true
		}
		link, err := os.Readlink(r.path(p))
		if err != nil {
			return p, false
		}
		if !path.IsAbs(link) {
			link = path.Join(path.Dir(p), link)
		}
		p = r.canonical(link)
	}
	return p, false
}

// selection grows until everything in it finds what it is linked to.
type selection struct {
	root     *Root
	exclude  []string
	kept     map[string]bool
	packages map[string]bool
}

func (s *selection) addPackage(name string) error {
	if s.packages[name] {
		return nil
	}
	s.packages[name] = true
	files, found := s.root.files[name]
	if !found {
		return fmt.Errorf("package %s is not installed in %s", name, s.root.dir)
	}
	for _, p := range files {
		if err := s.keep(p); err != nil {
			return fmt.Errorf("package %s: %w", name, err)
		}
	}
	return nil
}

// keep takes one path and, if it is an ELF file, the packages of its libraries. Paths that dpkg lists but that are
// not there (excluded while unpacking, or removed by a script) are passed over.
func (s *selection) keep(p string) error {
	info, err := os.Lstat(s.root.path(p))
	if errors.Is(err, fs.ErrNotExist) || s.kept[p] || s.excluded(p) || p == "/" {
		return nil
	}
	if err != nil {
		return err
	}
	s.kept[p] = true
	if !info.Mode().IsRegular() {
		return nil
	}
	s.keepBytecode(p)
	libraries, err := neededBy(s.root.path(p))
	if err != nil {
		return fmt.Errorf("%s: %w", p, err)
	}
	for _, soname := range libraries.names {
		if err := s.keepLibrary(p, soname, libraries.runPath); err != nil {
			return err
		}
	}
	return nil
}

// keepBytecode takes what CompileModules has made of a module.
func (s *selection) keepBytecode(p string) {
	name, is := strings.CutSuffix(path.Base(p), ".py")
	if !s.root.Bytecode || !is {
		return
	}
	compiled, _ := filepath.Glob(s.root.path(path.Join(path.Dir(p), "__pycache__", name+".cpython-*.pyc"))) // the pattern is right
	for _, file := range compiled {
		s.kept[strings.TrimPrefix(file, s.root.dir)] = true
	}
}

func (s *selection) keepLibrary(user, soname string, runPath []string) error {
	for _, dir := range append(slices.Clone(runPath), s.root.libDirs...) {
		dir = strings.ReplaceAll(dir, "$ORIGIN", path.Dir(user))
		target, found := s.root.resolve(path.Join(dir, soname))
		if !found {
			continue
		}
		owner, owned := s.root.owner[target]
		if !owned {
			return s.keep(target)
		}
		return s.addPackage(owner)
	}
	return fmt.Errorf("%s needs %s, which no package in %s provides: exclude the one or install the other", user, soname, s.root.dir)
}

// keepLinks adds every symbolic link that leads to something kept: sonames, alternatives, merged /usr.
func (s *selection) keepLinks() {
	targets := map[string]bool{}
	for p := range s.kept {
		for ; p != "/"; p = path.Dir(p) {
			targets[p] = true
		}
	}
	for _, link := range s.root.symlinks {
		if target, found := s.root.resolve(link); found && targets[target] && !s.excluded(link) {
			s.kept[link] = true
		}
	}
	maps.DeleteFunc(s.kept, func(p string, _ bool) bool {
		_, found := s.root.resolve(p)
		return !found
	})
}

func (s *selection) excluded(p string) bool {
	for ; p != "/"; p = path.Dir(p) {
		for _, pattern := range s.exclude {
			if match, err := path.Match(pattern, p); match && err == nil {
				return true
			}
		}
	}
	return false
}

func (s *selection) archiveFiles() ([]archive.File, error) {
	var files []archive.File
	for _, p := range slices.Sorted(maps.Keys(s.kept)) {
		info, err := os.Lstat(s.root.path(p))
		if err != nil {
			return nil, err
		}
		f := archive.File{Path: p, Mode: info.Mode() & (fs.ModePerm | fs.ModeSetuid | fs.ModeSetgid | fs.ModeSticky)}
		switch {
		case info.Mode()&fs.ModeSymlink != 0:
			f.Link, err = os.Readlink(s.root.path(p))
		case info.Mode().IsRegular():
			f.Source = s.root.path(p)
		case !info.IsDir():
			continue // a device or socket: the container runtime makes its own
		}
		if err != nil {
			return nil, err
		}
		files = append(files, f)
	}
	return files, nil
}

// libraries are the shared libraries that an ELF file names, and where it wants them looked up first.
type libraries struct{ names, runPath []string }

// neededBy reads the dynamic section of an ELF file; any other file needs nothing.
func neededBy(file string) (libraries, error) {
	f, err := os.Open(file)
	if err != nil {
		return libraries{}, err
	}
	defer func() { _ = f.Close() }() // only read
	magic, err := bufio.NewReader(f).Peek(len(elf.ELFMAG))
	if err != nil || string(magic) != elf.ELFMAG {
		return libraries{}, nil // a script, data, or too short to be a program
	}
	e, err := elf.NewFile(f)
	if err != nil {
		return libraries{}, err
	}
	if e.Type != elf.ET_DYN && e.Type != elf.ET_EXEC {
		return libraries{}, nil
	}
	names, err := e.ImportedLibraries()
	if err != nil {
		return libraries{}, err
	}
	found := libraries{names: names}
	for _, tag := range []elf.DynTag{elf.DT_RUNPATH, elf.DT_RPATH} {
		values, err := e.DynString(tag)
		if err != nil {
			return libraries{}, err
		}
		for _, v := range values {
			found.runPath = append(found.runPath, strings.Split(v, ":")...)
		}
	}
	return found, nil
}
