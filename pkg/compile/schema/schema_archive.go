package schema

import (
	"archive/zip"
	"embed"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// The archive is a file of its own beside a README, so that the package builds without it.
//
//go:embed embedded
var embedded embed.FS

// schemaArchive is the open archive: its directory has been read, no schema has.
type schemaArchive struct {
	files  map[string]*zip.File
	minors []int

	mu     sync.Mutex
	tables map[fileFingerprint]*kindTable
}

// fileFingerprint is a file by what is in it. Most schemas are the same in neighbouring versions; TestFingerprints sees that no two others look so.
type fileFingerprint struct {
	kind objectKind
	sum  uint32
	size uint64
}

// opened returns the archive, or nil if the build has none.
var opened = sync.OnceValue(func() *schemaArchive { return openArchive(embedded) })

func openArchive(files fs.FS) *schemaArchive {
	file, err := files.Open("embedded/schemas.zip")
	if err != nil {
		return nil
	}
	info, err := file.Stat()
	if err != nil {
		panic(fmt.Sprintf("an embedded file has no size: %v", err))
	}
	reader, err := zip.NewReader(file.(io.ReaderAt), info.Size())
	if err != nil {
		panic(fmt.Sprintf("the embedded schemas are damaged: %v: run `make schemas` and build again", err))
	}
	return readDirectory(reader)
}

// readDirectory reads the directory of an archive. The first folder of a name is `crd`, or the version of Kubernetes for native kinds.
func readDirectory(reader *zip.Reader) *schemaArchive {
	a := &schemaArchive{files: make(map[string]*zip.File, len(reader.File)), tables: map[fileFingerprint]*kindTable{}}
	for _, file := range reader.File {
		a.files[file.Name] = file
		folder, _, _ := strings.Cut(file.Name, "/")
		number, isVersion := strings.CutPrefix(folder, "1.")
		if minor, err := strconv.Atoi(number); isVersion && err == nil && !slices.Contains(a.minors, minor) {
			a.minors = append(a.minors, minor)
		}
	}
	slices.Sort(a.minors)
	return a
}

// table returns the schema of a kind; nil if the archive has none.
func (a *schemaArchive) table(minor int, k objectKind) *kindTable {
	name := k.apiVersion + "/" + k.kind
	file := a.files[fmt.Sprintf("1.%d/%s", minor, name)]
	if file == nil {
		file = a.files["crd/"+name]
	}
	if file == nil {
		return nil
	}
	key := fileFingerprint{kind: k, sum: file.CRC32, size: file.UncompressedSize64}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.tables[key] == nil {
		a.tables[key] = unpackTable(file, k)
	}
	t := *a.tables[key]
	t.validName = nameRule(k, minor)
	return &t
}

// unpackTable reads the schema of a kind. The archive is our own, so damage is a mistake of the build.
func unpackTable(file *zip.File, k objectKind) *kindTable {
	reader, err := file.Open()
	if err == nil {
		defer reader.Close()
		t := &kindTable{name: k}
		if err = json.NewDecoder(reader).Decode(t); err == nil {
			t.prepareChecks()
			return t
		}
	}
	panic(fmt.Sprintf("the embedded schema of %s is damaged: %v: run `make schemas` and build again", file.Name, err))
}
