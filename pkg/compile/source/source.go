// Package source holds bytes and positions, nothing else: the spec files of a repository, and spans inside them.
//
// The only door to files is an fs.FS, which may be a directory or the tree of a git revision. Read never fails: a file
// that cannot be read carries its error, so that a later stage reports it beside all other mistakes.
package source

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"sort"
	"strings"
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
	// Data is the content without byte order mark.
	Data []byte
	// Err is why the file could not be read; Data is then empty.
	Err error

	lines []string
}

// NewFile returns a file with content.
func NewFile(name string, data []byte) *File {
	return &File{Path: name, Data: bytes.TrimPrefix(data, []byte("\ufeff"))}
}

// Line returns the text of a line without its end, or "" where there is none. Lines count from 1.
func (f *File) Line(number int) string {
	if f.lines == nil {
		f.lines = strings.Split(strings.ReplaceAll(string(f.Data), "\r\n", "\n"), "\n")
	}
	if number < 1 || number > len(f.lines) {
		return ""
	}
	return f.lines[number-1]
}

// Span is a piece of one line of a file. The zero Span is nowhere.
type Span struct {
	File *File
	// Line and Column count from 1; Column counts characters. Line 0 means the file as a whole.
	Line, Column int
	// Length is in characters, at least 1 for a real token.
	Length int
}

// Whole returns the span that means a file as a whole.
func Whole(f *File) Span { return Span{File: f} }

// IsZero says whether the span is nowhere.
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

// Measurable says whether the tokens of a line may be searched for in its text.
func (f *File) Measurable(line int) bool { return len(f.Line(line)) <= maxMeasured }

// Token returns the span of n characters at a position, cut at the end of the line. In a line that is not measurable it is one
// character.
func (f *File) Token(line, column, n int) Span {
	span := Span{File: f, Line: line, Column: column, Length: 1}
	if f.Measurable(line) {
		rest := utf8.RuneCountInString(f.Line(line)) - column + 1
		span.Length = max(1, min(n, rest))
	}
	return span
}

// Read returns the spec files under a root, sorted by path: all files of catalog/ and tenants/ that end in .yaml or .yml, and
// overlays/*/cluster.yaml. Names that start with `.` or `_` are left out; names that are nearly right come with ErrIgnored.
func Read(root fs.FS) []*File {
	files := append(readTree(root, "catalog"), readTree(root, "tenants")...)
	files = append(files, readClusters(root)...)
	sort.Slice(files, func(i, j int) bool { return files[i].Path < files[j].Path })
	return files
}

func readTree(root fs.FS, folder string) []*File {
	var files []*File
	// The callback keeps every error in a File, so WalkDir itself has none to return.
	_ = fs.WalkDir(root, folder, func(name string, entry fs.DirEntry, err error) error {
		switch {
		case errors.Is(err, fs.ErrNotExist) && name == folder:
			return nil
		case err != nil:
			files = append(files, &File{Path: name, Err: err})
			return nil //nolint:nilerr // kept in the File
		case hidden(name) && entry.IsDir():
			return fs.SkipDir
		case entry.IsDir() || hidden(name):
			return nil
		case !isYAML(name):
			if isYAML(strings.ToLower(name)) {
				files = append(files, &File{Path: name, Err: ErrIgnored})
			}
			return nil
		}
		files = append(files, read(root, name))
		return nil
	})
	return files
}

func readClusters(root fs.FS) []*File {
	entries, err := fs.ReadDir(root, "overlays")
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return []*File{{Path: "overlays", Err: err}}
	}
	var files []*File
	for _, entry := range entries {
		if folder := path.Join("overlays", entry.Name()); !hidden(folder) {
			files = append(files, readCluster(root, folder)...)
		}
	}
	return files
}

// readCluster returns the cluster.yaml of a folder, and what somebody may have meant to be one.
func readCluster(root fs.FS, folder string) []*File {
	info, err := fs.Stat(root, folder)
	if err != nil {
		return []*File{unreadable(root, folder, err)}
	}
	if !info.IsDir() {
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
		case entry.Name() == "cluster.yaml":
			files = append(files, read(root, name))
		case strings.EqualFold(entry.Name(), "cluster.yaml") || strings.EqualFold(entry.Name(), "cluster.yml"):
			files = append(files, &File{Path: name, Err: ErrIgnored})
		}
	}
	return files
}

func hidden(name string) bool {
	base := path.Base(name)
	return strings.HasPrefix(base, ".") || strings.HasPrefix(base, "_")
}

func isYAML(name string) bool {
	return path.Ext(name) == ".yaml" || path.Ext(name) == ".yml"
}

func read(root fs.FS, name string) *File {
	data, err := ReadBounded(root, name, MaxFileSize)
	if err != nil {
		return unreadable(root, name, err)
	}
	return NewFile(name, data)
}

// unreadable says of a symbolic link that it is one: the reason why it cannot be read is often where it leads.
func unreadable(root fs.FS, name string, err error) *File {
	if info, failed := fs.Lstat(root, name); failed == nil && info.Mode()&fs.ModeSymlink != 0 {
		err = fmt.Errorf("the symbolic link leads nowhere that may be read: %w", err)
	}
	return &File{Path: name, Err: err}
}

// ReadBounded returns the content of a regular file of at most limit bytes. The error is ErrTooLarge or ErrNotRegular for others:
// a pipe would block for ever, a device never end.
func ReadBounded(root fs.FS, name string, limit int64) ([]byte, error) {
	info, err := fs.Stat(root, name)
	switch {
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular():
		return nil, fmt.Errorf("%s: %w", name, ErrNotRegular)
	case info.Size() > limit:
		return nil, fmt.Errorf("%s: %w", name, ErrTooLarge)
	}
	file, err := root.Open(name)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	// The size of some files, such as those of /proc, is known only to who reads them.
	data, err := io.ReadAll(io.LimitReader(file, limit+1))
	if err == nil && int64(len(data)) > limit {
		err = fmt.Errorf("%s: %w", name, ErrTooLarge)
	}
	return data, err
}
