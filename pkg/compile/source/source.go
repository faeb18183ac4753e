// Package source holds bytes and positions, nothing else: the spec files of a repository, and spans inside them.
//
// The only door to files is an fs.FS, which may be a directory or the tree of a git revision. Visible opens what
// specs may name. Find and Load never fail: a file that cannot be read carries its error, so that a later stage
// reports it beside all other mistakes.
package source

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"regexp"
	"sort"
	"strings"
	"sync"
	"unicode/utf8"
)

// MaxFileSize is the largest spec file that is read, in bytes. A real one has some kilobytes.
const MaxFileSize = 1 << 20

// Why a file is not read.
var (
	// ErrTooLarge says that a file is larger than its limit.
	ErrTooLarge = errors.New("file is too large")
	// ErrNotRegular says that a file is a folder, a pipe, a device or another special file.
	ErrNotRegular = errors.New("not a regular file")
	// ErrIgnored says that a file is not read because of its name, which is nearly that of a spec file.
	ErrIgnored = errors.New("file is ignored")
)

// File is one spec file.
type File struct {
	// Path is relative to the root, with slashes.
	Path string
	// Data is the content without byte order mark. Nobody changes it.
	Data []byte
	// Err is why the file could not be read; Data is then empty.
	Err error

	// regular says that the folder lists it as a regular file, so that opening it cannot block.
	regular bool
	split   sync.Once
	ends    []int32
}

// NewFile returns a file with content.
func NewFile(name string, data []byte) *File {
	return &File{Path: name, Data: trimByteOrderMark(data)}
}

// GobEncode writes the path: who reads it has the content.
func (f *File) GobEncode() ([]byte, error) { return []byte(f.Path), nil }

// GobDecode reads the path.
func (f *File) GobDecode(data []byte) error {
	f.Path = string(data)
	return nil
}

func trimByteOrderMark(data []byte) []byte { return bytes.TrimPrefix(data, []byte("\ufeff")) }

// Text returns the content.
func (f *File) Text() string { return string(f.Data) }

// Language is what a spec file is written in.
type Language int

// The languages.
const (
	YAML Language = iota
	Jsonnet
)

// Language follows from the name.
func (f *File) Language() Language {
	if path.Ext(f.Path) == ".jsonnet" {
		return Jsonnet
	}
	return YAML
}

// Line returns the text of a line without its end, or "" where there is none. Lines count from 1 and end with LF, CRLF or CR.
func (f *File) Line(number int) string { return string(f.lineBytes(number)) }

func (f *File) lineBytes(number int) []byte {
	f.split.Do(f.findEnds)
	if number < 1 || number > len(f.ends) {
		return nil
	}
	start := 0
	if number > 1 {
		start = int(f.ends[number-2])
	}
	return bytes.TrimRight(f.Data[start:f.ends[number-1]], "\r\n")
}

// findEnds notes where each line ends, its end included.
func (f *File) findEnds() {
	for i, c := range f.Data {
		if c == '\n' || c == '\r' && (i+1 == len(f.Data) || f.Data[i+1] != '\n') {
			f.ends = append(f.ends, int32(i+1))
		}
	}
	f.ends = append(f.ends, int32(len(f.Data)))
}

// Span is a piece of one line of a file. The zero Span is nowhere.
type Span struct {
	File *File
	// Line and Column count from 1; Column counts characters. Line 0 means the file as a whole.
	Line, Column int
	// Length is in characters, at least 1 for a real token.
	Length int
}

// WholeFile returns the span that means a file as a whole.
func WholeFile(f *File) Span { return Span{File: f} }

// IsZero reports whether the span is nowhere.
func (s Span) IsZero() bool { return s.File == nil }

// Path returns the path of the file, or "" for nowhere.
func (s Span) Path() string {
	if s.File == nil {
		return ""
	}
	return s.File.Path
}

// String returns path:line:column, or the path alone for a whole file.
func (s Span) String() string {
	if s.Line == 0 {
		return s.Path()
	}
	return fmt.Sprintf("%s:%d:%d", s.Path(), s.Line, s.Column)
}

// Before orders spans by path, line and column.
func (s Span) Before(other Span) bool {
	if s.Path() != other.Path() {
		return s.Path() < other.Path()
	}
	if s.Line != other.Line {
		return s.Line < other.Line
	}
	return s.Column < other.Column
}

// maxMeasured is the length in bytes up to which a line is searched for the end of a token. Longer lines are not written by
// people, and searching one for each of its tokens would take minutes.
const maxMeasured = 1000

// Measurable reports whether the tokens of a line may be searched for in its text.
func (f *File) Measurable(line int) bool { return len(f.lineBytes(line)) <= maxMeasured }

// Token returns the span of n characters at a position, cut at the end of the line. In a line that is not measurable it is one
// character.
func (f *File) Token(line, column, n int) Span {
	span := Span{File: f, Line: line, Column: column, Length: 1}
	if text := f.lineBytes(line); len(text) <= maxMeasured {
		span.Length = max(1, min(n, utf8.RuneCount(text)-column+1))
	}
	return span
}

// Find returns the spec files under a root, sorted by path and not yet loaded: all files of catalog/ and tenants/ that end in .yaml,
// .yml or .jsonnet, and overlays/*/cluster.yaml or cluster.jsonnet. Names that start with `.` or `_` are left out; names that are
// nearly right, and specs under other names, come with ErrIgnored. Jsonnet libraries (.libsonnet) are not specs: others import them.
func Find(root fs.FS) []*File {
	files := append(findTree(root, "catalog"), findTree(root, "tenants")...)
	files = append(files, findClusters(root)...)
	sort.Slice(files, func(i, j int) bool { return files[i].Path < files[j].Path })
	return files
}

// Load reads the content of a file that Find returned. It is safe for several files at a time.
func (f *File) Load(root fs.FS) {
	if f.Err != nil {
		return
	}
	var data []byte
	var err error
	if f.regular {
		data, err = readRegular(root, f.Path, MaxFileSize)
	} else {
		data, err = ReadBounded(root, f.Path, MaxFileSize)
	}
	if err != nil {
		f.Err = err
		return
	}
	f.Data = trimByteOrderMark(data)
}

// TemplateFolder holds templates: a TrainJob a file.
const TemplateFolder = "templates"

// FindTemplates returns the files of templates, sorted by path and not yet loaded. Folders, and files that look like
// templates under other names, come with ErrIgnored.
func FindTemplates(root fs.FS) []*File {
	entries, err := fs.ReadDir(root, TemplateFolder)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return []*File{{Path: TemplateFolder, Err: err}}
	}
	var files []*File
	for _, entry := range entries {
		name := path.Join(TemplateFolder, entry.Name())
		switch {
		case IsHidden(name):
		case path.Ext(name) == ".yaml":
			files = append(files, &File{Path: name, regular: entry.Type().IsRegular()})
		case entry.IsDir(), isSpec(name), looksLikeSpec(name):
			files = append(files, &File{Path: name, Err: ErrIgnored})
		}
	}
	return files
}

func findTree(root fs.FS, folder string) []*File {
	var files []*File
	// The callback keeps every error in a File, so WalkDir itself has none to return.
	_ = fs.WalkDir(root, folder, func(name string, entry fs.DirEntry, err error) error {
		switch {
		case errors.Is(err, fs.ErrNotExist) && name == folder:
			return nil
		case err != nil:
			files = append(files, &File{Path: name, Err: err})
			return nil //nolint:nilerr // kept in the File
		case IsHidden(name) && entry.IsDir():
			return fs.SkipDir
		case entry.IsDir() || IsHidden(name):
			return nil
		case isSpec(name):
			files = append(files, &File{Path: name, regular: entry.Type().IsRegular()})
		case looksLikeSpec(name), entry.Type().IsRegular() && path.Ext(name) != ".libsonnet" && HoldsSpec(root, name):
			files = append(files, &File{Path: name, Err: ErrIgnored})
		case entry.Type()&fs.ModeSymlink != 0:
			files = append(files, reportLinkedFolder(root, name)...)
		}
		return nil
	})
	return files
}

func findClusters(root fs.FS) []*File {
	entries, err := fs.ReadDir(root, "overlays")
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return []*File{{Path: "overlays", Err: err}}
	}
	var files []*File
	for _, entry := range entries {
		if folder := path.Join("overlays", entry.Name()); !IsHidden(folder) {
			files = append(files, findCluster(root, folder)...)
		}
	}
	return files
}

// findCluster returns the cluster.yaml of a folder, and what somebody may have meant to be one.
func findCluster(root fs.FS, folder string) []*File {
	info, err := fs.Stat(root, folder)
	if err != nil {
		return []*File{{Path: folder, Err: err}}
	}
	if !info.IsDir() {
		if isSpec(strings.ToLower(folder)) || looksLikeSpec(folder) {
			return []*File{{Path: folder, Err: ErrIgnored}}
		}
		return nil
	}
	entries, err := fs.ReadDir(root, folder)
	if err != nil {
		return []*File{{Path: folder, Err: err}}
	}
	var files []*File
	for _, entry := range entries {
		name := path.Join(folder, entry.Name())
		switch {
		case entry.Name() == "cluster.yaml" || entry.Name() == "cluster.jsonnet":
			files = append(files, &File{Path: name, regular: entry.Type().IsRegular()})
		case LooksLikeCluster(entry.Name()):
			files = append(files, &File{Path: name, Err: ErrIgnored})
		}
	}
	return files
}

// LooksLikeCluster reports whether somebody may have meant a file of an overlay to be the spec of its cluster, whose name it has not.
func LooksLikeCluster(name string) bool {
	switch base := path.Base(name); strings.ToLower(base) {
	case "cluster.yaml", "cluster.yml", "cluster.jsonnet", "cluster.json":
		return base != "cluster.yaml" && base != "cluster.jsonnet"
	}
	return false
}

// IsHidden reports whether a file or folder is left out on purpose, because its name begins with `.` or `_`.
func IsHidden(name string) bool {
	base := path.Base(name)
	return strings.HasPrefix(base, ".") || strings.HasPrefix(base, "_")
}

func isSpec(name string) bool {
	switch path.Ext(name) {
	case ".yaml", ".yml", ".jsonnet":
		return true
	}
	return false
}

// looksLikeSpec reports whether somebody may have meant a file to be a spec: JSON is YAML, and some systems do not tell A from a.
func looksLikeSpec(name string) bool {
	lower := strings.ToLower(name)
	return !isSpec(name) && (isSpec(lower) || path.Ext(lower) == ".json")
}

// specText is how a spec begins, in YAML, JSON and Jsonnet.
var specText = regexp.MustCompile(`["']?apiVersion["']?\s*:\s*["']?` + regexp.QuoteMeta(group) + `/`)

// group is the API group of specs.
const group = "lockstep.dev"

// HoldsSpec reports whether the text of a file is that of a spec, whatever its name is. Prose may show one.
func HoldsSpec(root fs.FS, name string) bool {
	switch strings.ToLower(path.Ext(name)) {
	case ".md", ".markdown", ".adoc", ".rst", ".html", ".go", ".py", ".sh":
		return false
	}
	info, err := fs.Stat(root, name)
	if err != nil || info.Size() > MaxFileSize {
		return false
	}
	data, err := ReadBounded(root, name, MaxFileSize)
	return err == nil && specText.Match(data)
}

// reportLinkedFolder reports a symbolic link to a folder, or out of the repository: the specs behind it are not read.
func reportLinkedFolder(root fs.FS, name string) []*File {
	info, err := fs.Stat(root, name)
	if err == nil && info.IsDir() {
		err = ErrNotRegular
	}
	if err != nil {
		return []*File{{Path: name, Err: err}}
	}
	return nil
}

// Reason is an error without the call and the path that a file system puts before it: the place of a finding says the path.
func Reason(err error) error {
	if at, is := err.(*fs.PathError); is { //nolint:errorlint // what wraps it says more
		return at.Err
	}
	return err
}

// ReadBounded returns the content of a regular file of at most limit bytes. The error is ErrTooLarge or ErrNotRegular for others:
// a pipe would block forever, a device never end.
func ReadBounded(root fs.FS, name string, limit int64) ([]byte, error) {
	info, err := fs.Stat(root, name)
	switch {
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular():
		return nil, fmt.Errorf("%s: %w", name, ErrNotRegular)
	}
	return readRegular(root, name, limit)
}

// readRegular is ReadBounded for what its folder lists as a regular file: one look-up less.
func readRegular(root fs.FS, name string, limit int64) ([]byte, error) {
	file, err := root.Open(name)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	info, err := file.Stat()
	switch {
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular():
		return nil, fmt.Errorf("%s: %w", name, ErrNotRegular)
	case info.Size() > limit:
		return nil, fmt.Errorf("%s: %w", name, ErrTooLarge)
	}
	return readAll(file, info.Size(), name, limit)
}

// readAll reads to the end. The size is what the file says of itself: some, such as those of /proc, say 0.
func readAll(file io.Reader, size int64, name string, limit int64) ([]byte, error) {
	data := bytes.NewBuffer(make([]byte, 0, size+bytes.MinRead))
	if _, err := data.ReadFrom(io.LimitReader(file, limit+1)); err != nil {
		return nil, err
	}
	if int64(data.Len()) > limit {
		return nil, fmt.Errorf("%s: %w", name, ErrTooLarge)
	}
	return data.Bytes(), nil
}
