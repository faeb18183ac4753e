// Package decode turns spec files into typed values with positions, and every mistake in them into a diagnostic.
//
// It is strict: unknown, duplicate and missing keys, wrong types, values out of range, not allowed or of a wrong form are
// errors, all of a file in one run. A document with mistakes is still returned with Sound false, so that its name and its
// references, as far as they are readable, take part in what follows; a document of an unknown kind is not.
//
// It knows no field by name: what a spec may hold follows from the Go types of api/v1alpha1 and their `jsonschema` tags. Package
// syntax reads the languages; it says how YAML is understood. Numbers are decimal: 010, 0x1f and 1_000 mean different values to
// different readers of YAML and are errors.
//
// The input is hostile until proved otherwise: file size (source.MaxFileSize), documents per file (syntax.MaxDocuments), values per file
// (syntax.MaxSeparators), depth (MaxDepth) and aliases (MaxAliased) are bounded before anything is decoded, characters that show a
// reviewer another text are refused, and no input makes the package panic.
package decode

import (
	"errors"
	"io/fs"
	"sync"
	"sync/atomic"
	"unicode/utf8"

	"lockstep.dev/lockstep/pkg/compile/decode/syntax"
	"lockstep.dev/lockstep/pkg/compile/diag"
	"lockstep.dev/lockstep/pkg/compile/jsonnet"
	"lockstep.dev/lockstep/pkg/compile/source"
)

// Files decodes all documents of all files, in their order. They are loaded. Jsonnet is an error: it takes a Loader.
func Files(files []*source.File, list *diag.List) []*Document {
	return Loader{}.load(files, func(*source.File) {}, list)
}

// Loader reads and decodes the specs of a repository.
type Loader struct {
	// Root is the repository.
	Root fs.FS
	// Jsonnet evaluates the Jsonnet among them; without it Jsonnet is an error.
	Jsonnet jsonnet.Evaluator
	// Workers is how many files are read at a time, and there are never more than files; less than 1 means 1. It does not change the result.
	Workers int
}

// Load reads and decodes files that source.Find returned. The documents have the order of the files.
func (l Loader) Load(files []*source.File, list *diag.List) []*Document {
	return l.load(files, func(f *source.File) { f.Load(l.Root) }, list)
}

// fileResult is what one file gave.
type fileResult struct {
	documents []*Document
	list      diag.List
}

// load works on the next file that nobody has taken, with as many workers as there shall be, and joins in the order of the files.
func (l Loader) load(files []*source.File, read func(*source.File), list *diag.List) []*Document {
	batches := make([]fileResult, len(files))
	var next atomic.Int64
	work := func() {
		var w decodeWorker
		for i := next.Add(1) - 1; i < int64(len(files)); i = next.Add(1) - 1 {
			read(files[i])
			if files[i].Language() == source.YAML {
				w.decodeYAML(files[i], &batches[i])
			} else if !IsReadable(files[i], &batches[i].list) {
				specsOfUnreadable(files[i], &batches[i])
			}
		}
	}
	var others sync.WaitGroup
	for range min(l.Workers, len(files)) - 1 {
		others.Go(work)
	}
	work()
	others.Wait()
	l.evaluateJsonnet(files, batches)
	var documents []*Document
	for i := range batches {
		documents = append(documents, batches[i].documents...)
		list.AddCopies(batches[i].list.Sorted())
	}
	return documents
}

// decodeWorker is what files read one after the other share.
type decodeWorker struct {
	reader  syntax.Reader
	decoder decoder
	// told are the mistakes of programs, by place and words: that of a library is one for all programs that import it.
	told map[string]*diag.Diagnostic
}

func (w *decodeWorker) decodeYAML(file *source.File, b *fileResult) {
	if !IsReadable(file, &b.list) {
		specsOfUnreadable(file, b)
		return
	}
	nodes, err := w.reader.YAML(file)
	var wrong *syntax.Error
	switch {
	case errors.Is(err, syntax.ErrTooMany):
		reportTooManyDocuments(file, &b.list)
	case errors.Is(err, syntax.ErrTooManyValues):
		b.list.Errorf(diag.TooComplex, source.WholeFile(file), "the file has more than %d lines, commas and open brackets", syntax.MaxSeparators).
			Helpf("split the file")
	case errors.As(err, &wrong):
		reportSyntax(file, wrong, &b.list)
	case len(nodes) == 0:
		warnEmptyFile(file, &b.list)
	}
	w.decodeDocuments(file, nodes, b)
	if err != nil {
		specsOfUnreadable(file, b)
	}
}

func (w *decodeWorker) decodeDocuments(file *source.File, nodes []*syntax.Node, b *fileResult) {
	w.decoder.file, w.decoder.list, w.decoder.paths = file, &b.list, w.reader.Paths
	for _, node := range nodes {
		if document := w.decoder.decodeDocument(node); document != nil {
			b.documents = append(b.documents, document)
		}
		if second := w.decoder.followingDocument(); second != nil {
			b.documents = append(b.documents, second)
		}
	}
}

func warnEmptyFile(file *source.File, list *diag.List) {
	list.Warnf(diag.NothingRead, source.WholeFile(file), "the file holds no spec").
		Helpf("remove the file if that is meant: what it held before is no longer compiled")
}

func reportTooManyDocuments(file *source.File, list *diag.List) {
	list.Errorf(diag.TooComplex, source.WholeFile(file), "the file has more than %d documents", syntax.MaxDocuments).
		Helpf("split the file")
}

// evaluateJsonnet evaluates all Jsonnet that could be read.
func (l Loader) evaluateJsonnet(files []*source.File, batches []fileResult) {
	var programs []*source.File
	var of []*fileResult
	for i, file := range files {
		if file.Language() == source.Jsonnet && batches[i].list.Len() == 0 {
			programs, of = append(programs, file), append(of, &batches[i])
		}
	}
	if len(programs) == 0 {
		return
	}
	if l.Jsonnet == nil {
		for i, program := range programs {
			of[i].list.Errorf(diag.UnreadableFile, source.WholeFile(program), "Jsonnet is not evaluated here")
			of[i].documents = append(of[i].documents, namelessSpecs(program))
		}
		return
	}
	w := decodeWorker{told: map[string]*diag.Diagnostic{}}
	for i, result := range l.Jsonnet.Evaluate(l.Root, programs) {
		w.decodeProgram(programs[i], result, of[i])
	}
}

func (w *decodeWorker) decodeProgram(file *source.File, result jsonnet.Result, b *fileResult) {
	if result.Err != nil {
		w.reportProgramError(file, result.Err, &b.list)
		b.documents = append(b.documents, namelessSpecs(file))
		return
	}
	nodes, err := w.reader.Values(file, result)
	if err != nil {
		b.list.Errorf(diag.TooComplex, source.WholeFile(file), "the value of the program cannot be read: %v", err)
		b.documents = append(b.documents, namelessSpecs(file))
		return
	}
	switch {
	case len(nodes) == 0:
		warnEmptyFile(file, &b.list)
	case len(nodes) > syntax.MaxDocuments:
		reportTooManyDocuments(file, &b.list)
		nodes = nodes[:syntax.MaxDocuments]
	}
	w.decodeDocuments(file, nodes, b)
}

// IsReadable reports what keeps a file from being read, and whether nothing does.
func IsReadable(file *source.File, list *diag.List) bool {
	switch {
	case errors.Is(file.Err, source.ErrTooLarge):
		list.Errorf(diag.UnreadableFile, source.WholeFile(file), "the file is larger than %d bytes", source.MaxFileSize).
			Helpf("split the file: it may hold several documents, so may the folder")
		return false
	case errors.Is(file.Err, source.ErrNotRegular):
		list.Errorf(diag.UnreadableFile, source.WholeFile(file), "the file is not a regular file").
			Helpf("put a file in its place, or remove it")
		return false
	case errors.Is(file.Err, source.ErrIgnored):
		list.Warnf(diag.NothingRead, source.WholeFile(file), "the file is not read: its name is not that of a spec file").
			Helpf("spec files end in `.yaml`, `.yml` or `.jsonnet`, and a cluster is in `cluster.yaml` or `cluster.jsonnet`, all in small letters")
		return false
	case file.Err != nil:
		list.Errorf(diag.UnreadableFile, source.WholeFile(file), "cannot read the file: %v", source.Reason(file.Err))
		return false
	case !utf8.Valid(file.Data):
		list.Errorf(diag.UnreadableFile, firstInvalidUTF8(file), "the file is not UTF-8").
			Helpf("save the file as UTF-8")
		return false
	}
	if at, what, does := firstHiddenCharacter(file); !at.IsZero() {
		list.Errorf(diag.UnreadableFile, at, "the file holds %s", what).Notef("%s", does).Helpf("remove the character")
		return false
	}
	return true
}

func firstInvalidUTF8(file *source.File) source.Span {
	line, column := 1, 1
	for rest := file.Data; len(rest) > 0; {
		r, size := utf8.DecodeRune(rest)
		if r == utf8.RuneError && size == 1 {
			break
		}
		column++
		if r == '\n' {
			line, column = line+1, 1
		}
		rest = rest[size:]
	}
	return source.Span{File: file, Line: line, Column: column, Length: 1}
}

// maxTold is how many programs a mistake in a library names.
const maxTold = 10

// reportProgramError reports why Jsonnet gave no value, where it says so, with the calls that led there from each program.
func (w *decodeWorker) reportProgramError(file *source.File, wrong *jsonnet.Error, list *diag.List) {
	code := diag.Syntax
	if wrong.Limit {
		code = diag.TooComplex
	}
	at := wrong.Span(file)
	report := w.told[at.String()+wrong.Message]
	if report == nil {
		report = list.Errorf(code, at, "%s", wrong.Message)
		w.told[at.String()+wrong.Message] = report
		if wrong.Help != "" {
			report.Helpf("%s", wrong.Help)
		}
	} else if len(report.Notes) >= maxTold {
		return
	}
	for _, frame := range wrong.Trace {
		report.Notef("%s", frame)
	}
	if len(wrong.Trace) == 0 && at.Path() != file.Path {
		report.Notef("imported by %s", file.Path)
	}
}
