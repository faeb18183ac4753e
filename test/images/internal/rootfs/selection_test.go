package rootfs_test

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"lockstep.dev/lockstep/test/images/archive"
	"lockstep.dev/lockstep/test/images/internal/rootfs"
)

// node is one file of a made-up root file system: contents, or a link target, or neither for a directory.
type node struct {
	contents []byte
	link     string
	mode     fs.FileMode
}

// mpiRoot is what dpkg makes of an MPI library that depends on an ssh client: a program linked to a library of
// another package, that package's plug-in linked to a third, alternatives, and a merged /usr.
func mpiRoot() (files map[string]node, packages map[string]string) {
	files = map[string]node{
		"lib":                            {link: "usr/lib"},
		"tmp":                            {mode: 0o777 | fs.ModeSticky},
		"etc/passwd":                     {contents: []byte("root:x:0:0::/:\n")},
		"etc/ld.so.conf.d/x.conf":        {contents: []byte("# where Debian puts libraries\n/lib/arch\n")},
		"etc/alternatives/mpirun":        {link: "/usr/bin/mpirun.openmpi"},
		"etc/alternatives/rsh":           {link: "/usr/bin/ssh"},
		"usr/bin/mpirun":                 {link: "/etc/alternatives/mpirun"},
		"usr/bin/mpirun.openmpi":         {link: "orterun"},
		"usr/bin/orterun":                {contents: elfFile("$ORIGIN/../lib/private", "libopal.so.1"), mode: 0o755},
		"usr/bin/rsh":                    {link: "/etc/alternatives/rsh"},
		"usr/bin/ssh":                    {contents: elfFile("", "libcrypto.so.3"), mode: 0o755},
		"usr/lib/private/libopal.so.1":   {link: "libopal.so.1.2"},
		"usr/lib/private/libopal.so.1.2": {contents: elfFile("")},
		"usr/lib/private/libopal.so":     {link: "libopal.so.1.2"},
		"usr/lib/openmpi/mca_fast.so":    {contents: elfFile("", "libfast.so.1")},
		"usr/lib/openmpi/mca_gpu.so":     {contents: elfFile("", "libgpu.so.1")},
		"usr/lib/arch/libfast.so.1":      {contents: elfFile("")},
		"usr/lib/arch/libgpu.so.1":       {contents: elfFile("")},
		"usr/lib/arch/libcrypto.so.3":    {contents: elfFile("")},
		"usr/share/doc/openmpi/README":   {contents: []byte("read me")},
		"usr/local/bin/hello":            {contents: elfFile("", "libextra.so.1"), mode: 0o755},
		"usr/lib/arch/libextra.so.1":     {contents: elfFile("")},
	}
	packages = map[string]string{
		"base-files":     "/. /tmp /etc",
		"openmpi-bin":    "/. /usr /usr/bin /usr/bin/mpirun.openmpi /usr/bin/orterun /usr/share/doc/openmpi/README /usr/share/man/gone.1",
		"libopal1:amd64": "/. /lib/private/libopal.so.1 /lib/private/libopal.so.1.2 /usr/lib/openmpi/mca_fast.so /usr/lib/openmpi/mca_gpu.so",
		"libopal-dev":    "/. /usr/lib/private/libopal.so",
		"libfast1:amd64": "/. /lib/arch/libfast.so.1",
		"libgpu1:amd64":  "/. /usr/lib/arch/libgpu.so.1",
		"libextra1":      "/. /usr/lib/arch/libextra.so.1",
		"openssh-client": "/. /usr/bin/ssh",
		"libssl3":        "/. /usr/lib/arch/libcrypto.so.3",
	}
	return files, packages
}

func TestSelectTakesWhatIsLinkedAndNothingElse(t *testing.T) {
	root := makeRoot(t)
	got, err := root.Select([]string{"base-files", "openmpi-bin"}, []string{"/usr/local/bin/hello"}, []string{"/usr/lib/*/mca_gpu*"})
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{
		"/lib":                            "link usr/lib",
		"/tmp":                            "dir dtrwxrwxrwx",
		"/etc":                            "dir drwxr-xr-x",
		"/etc/passwd":                     "file -rw-r--r--",
		"/etc/alternatives/mpirun":        "link /usr/bin/mpirun.openmpi",
		"/usr":                            "dir drwxr-xr-x",
		"/usr/bin":                        "dir drwxr-xr-x",
		"/usr/bin/mpirun":                 "link /etc/alternatives/mpirun",
		"/usr/bin/mpirun.openmpi":         "link orterun",
		"/usr/bin/orterun":                "file -rwxr-xr-x",
		"/usr/lib/private/libopal.so.1":   "link libopal.so.1.2",
		"/usr/lib/private/libopal.so":     "link libopal.so.1.2",
		"/usr/lib/private/libopal.so.1.2": "file -rw-r--r--",
		"/usr/lib/openmpi/mca_fast.so":    "file -rw-r--r--",
		"/usr/lib/arch/libfast.so.1":      "file -rw-r--r--",
		"/usr/local/bin/hello":            "file -rwxr-xr-x",
		"/usr/lib/arch/libextra.so.1":     "file -rw-r--r--",
	}
	if diff := cmp.Diff(want, describe(got)); diff != "" {
		t.Errorf("selected files (-want +got):\n%s", diff)
	}
	if err := rootfs.NoRemoteShell(got); err != nil {
		t.Errorf("an ssh client that is only a dependency got in: %v", err)
	}
}

// Python would not look at a module that was compiled for another version, nor at one without its source.
func TestSelectTakesCompiledModulesWhereAsked(t *testing.T) {
	files, packages := mpiRoot()
	for _, file := range []string{"x.py", "__pycache__/x.cpython-313.pyc", "__pycache__/gone.cpython-313.pyc"} {
		files["usr/lib/python3/"+file] = node{contents: []byte("x")}
	}
	packages["python3-x"] = "/. /usr/lib/python3/x.py"
	root := writeRoot(t, files, packages)
	for bytecode, want := range map[bool]map[string]string{
		false: {"/usr/lib/python3/x.py": "file -rw-r--r--"},
		true:  {"/usr/lib/python3/x.py": "file -rw-r--r--", "/usr/lib/python3/__pycache__/x.cpython-313.pyc": "file -rw-r--r--"},
	} {
		root.Bytecode = bytecode
		got, err := root.Select([]string{"python3-x"}, nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		modules := describe(got)
		maps.DeleteFunc(modules, func(p, _ string) bool { return !strings.HasPrefix(p, "/usr/lib/python3/") })
		if diff := cmp.Diff(want, modules); diff != "" {
			t.Errorf("bytecode %v (-want +got):\n%s", bytecode, diff)
		}
	}
}

func TestLocalFilesAreThoseOfBuilds(t *testing.T) {
	dir := t.TempDir()
	node{contents: []byte("#!/bin/sh\n")}.write(t, filepath.Join(dir, "usr/local/bin/hello"))
	node{link: "liby.so.1"}.write(t, filepath.Join(dir, "usr/local/lib/liby.so"))
	node{contents: []byte("x")}.write(t, filepath.Join(dir, "usr/bin/x"))
	got, err := rootfs.LocalFiles(dir)
	if diff := cmp.Diff([]string{"/usr/local/bin/hello", "/usr/local/lib/liby.so"}, got); err != nil || diff != "" {
		t.Errorf("%v %s", err, diff)
	}
}

func TestSelectRefusesPackageThatIsNotThere(t *testing.T) {
	_, err := makeRoot(t).Select([]string{"mpich"}, nil, nil)
	if err == nil || !strings.Contains(err.Error(), "package mpich is not installed") {
		t.Errorf("error %v", err)
	}
}

func TestSelectRefusesMissingLibrary(t *testing.T) {
	files, packages := mpiRoot()
	delete(files, "usr/lib/arch/libgpu.so.1")
	root := writeRoot(t, files, packages)
	_, err := root.Select([]string{"openmpi-bin"}, nil, nil)
	if err == nil || !strings.Contains(err.Error(), "/usr/lib/openmpi/mca_gpu.so needs libgpu.so.1") {
		t.Errorf("a plug-in without its library: error %v", err)
	}
	if _, err := root.Select([]string{"openmpi-bin"}, nil, []string{"/usr/lib/openmpi/mca_gpu.so"}); err != nil {
		t.Errorf("what the error advises does not help: %v", err)
	}
}

func TestNoRemoteShell(t *testing.T) {
	files, err := makeRoot(t).Select([]string{"openssh-client"}, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := rootfs.NoRemoteShell(files); err == nil {
		t.Errorf("a root file system with an ssh client passed: %v", describe(files))
	}
}

func describe(files []archive.File) map[string]string {
	got := map[string]string{}
	for _, f := range files {
		switch {
		case f.Link != "":
			got[f.Path] = "link " + f.Link
		case f.Source != "":
			got[f.Path] = "file " + f.Mode.String()
		default:
			got[f.Path] = "dir " + (f.Mode | fs.ModeDir).String()
		}
	}
	return got
}

func makeRoot(t *testing.T) *rootfs.Root {
	t.Helper()
	files, packages := mpiRoot()
	return writeRoot(t, files, packages)
}

func writeRoot(t *testing.T, files map[string]node, packages map[string]string) *rootfs.Root {
	t.Helper()
	dir := t.TempDir()
	for name, list := range packages {
		lines := strings.ReplaceAll(list, " ", "\n") + "\n"
		files["var/lib/dpkg/info/"+name+".list"] = node{contents: []byte(lines)}
	}
	for path, n := range files {
		n.write(t, filepath.Join(dir, path))
	}
	root, err := rootfs.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	return root
}

func (n node) write(t *testing.T, path string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if n.mode == 0 {
		n.mode = 0o644
	}
	var err error
	switch {
	case n.link != "":
		err = os.Symlink(n.link, path)
	case n.contents == nil:
		err = os.MkdirAll(path, 0o755)
	default:
		err = os.WriteFile(path, n.contents, 0o600)
	}
	if err == nil && n.link == "" {
		err = os.Chmod(path, n.mode)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// elfFile is the least that counts as a dynamically linked ELF file: a header, a dynamic section that names a run
// path and libraries, and the strings for it.
func elfFile(runPath string, needed ...string) []byte {
	const headerSize, sectionSize = 64, 64
	strings := []byte{0}
	var dynamic []elf.Dyn64
	add := func(tag elf.DynTag, text string) {
		dynamic = append(dynamic, elf.Dyn64{Tag: int64(tag), Val: uint64(len(strings))})
		strings = append(append(strings, text...), 0)
	}
	for _, soname := range needed {
		add(elf.DT_NEEDED, soname)
	}
	if runPath != "" {
		add(elf.DT_RUNPATH, runPath)
	}
	dynamic = append(dynamic, elf.Dyn64{Tag: int64(elf.DT_NULL)})
	dynamicAt := uint64(headerSize)
	stringsAt := dynamicAt + 16*uint64(len(dynamic))
	header := elf.Header64{
		Ident: [elf.EI_NIDENT]byte{0x7f, 'E', 'L', 'F', byte(elf.ELFCLASS64), byte(elf.ELFDATA2LSB), byte(elf.EV_CURRENT)},
		Type:  uint16(elf.ET_DYN), Machine: uint16(elf.EM_X86_64), Version: uint32(elf.EV_CURRENT),
		Ehsize: headerSize, Shentsize: sectionSize, Shnum: 3, Shstrndx: 1, Shoff: stringsAt + uint64(len(strings)),
	}
	sections := []elf.Section64{
		{},
		{Type: uint32(elf.SHT_STRTAB), Off: stringsAt, Size: uint64(len(strings))},
		{Type: uint32(elf.SHT_DYNAMIC), Off: dynamicAt, Size: stringsAt - dynamicAt, Link: 1, Entsize: 16},
	}
	var file bytes.Buffer
	for _, part := range []any{header, dynamic, strings, sections} {
		if err := binary.Write(&file, binary.LittleEndian, part); err != nil {
			panic(err)
		}
	}
	return file.Bytes()
}
