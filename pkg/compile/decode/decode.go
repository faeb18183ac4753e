// Package decode turns spec files into typed values with positions, and every mistake in them into a diagnostic.
//
// It is strict: unknown, duplicate and missing keys, wrong types, values out of range, not allowed or of a wrong form are
// errors, all of a file in one run. A document with mistakes is still returned with Sound false, so that its name and its
// references, as far as they are readable, take part in what follows; a document of an unknown kind is not.
//
// The input is hostile until proved otherwise: depth, number of documents and aliases are bounded before anything is
// decoded, and no input makes the package panic.
package decode

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v4"

	"lockstep.dev/lockstep/pkg/compile/diag"
	"lockstep.dev/lockstep/pkg/compile/source"
)

// Files decodes all documents of all files, in their order.
func Files(files []*source.File, list *diag.List) []*Document {
	var documents []*Document
	for _, file := range files {
		before := list.Len()
		nodes := parse(file, list)
		if len(nodes) == 0 && list.Len() == before {
			list.Warnf(diag.NothingRead, source.Whole(file), "the file holds no spec").
				Helpf("remove the file if that is meant: what it held before is no longer compiled")
		}
		for _, node := range nodes {
			if document := decodeDocument(file, node, list); document != nil {
				documents = append(documents, document)
			}
		}
	}
	return documents
}

// parse returns the documents of a file up to the first syntax error. Empty documents are left out.
func parse(file *source.File, list *diag.List) []*yaml.Node {
	if !readable(file, list) {
		return nil
	}
	var nodes []*yaml.Node
	decoder := yaml.NewDecoder(bytes.NewReader(file.Data))
	for {
		var node yaml.Node
		err := decoder.Decode(&node)
		if errors.Is(err, io.EOF) {
			return nodes
		}
		if err != nil {
			reportSyntax(file, err, list)
			return nodes
		}
		if len(nodes) == maxDocuments {
			list.Errorf(diag.TooComplex, source.Whole(file), "the file has more than %d documents", maxDocuments).
				Helpf("split the file")
			return nodes
		}
		if root := node.Content[0]; root.ShortTag() != "!!null" {
			nodes = append(nodes, root)
		}
	}
}

func readable(file *source.File, list *diag.List) bool {
	switch {
	case errors.Is(file.Err, source.ErrTooLarge):
		list.Errorf(diag.UnreadableFile, source.Whole(file), "the file is larger than %d bytes", source.MaxFileSize).
			Helpf("split the file: it may hold several documents, so may the folder")
		return false
	case errors.Is(file.Err, source.ErrNotRegular):
		list.Errorf(diag.UnreadableFile, source.Whole(file), "the file is not a regular file").
			Helpf("put a file in its place, or remove it")
		return false
	case errors.Is(file.Err, source.ErrIgnored):
		list.Warnf(diag.NothingRead, source.Whole(file), "the file is not read: its name is not that of a spec file").
			Helpf("spec files end in `.yaml` or `.yml`, and a cluster is in `cluster.yaml`, all in small letters")
		return false
	case file.Err != nil:
		list.Errorf(diag.UnreadableFile, source.Whole(file), "cannot read the file: %v", file.Err)
		return false
	case !utf8.Valid(file.Data):
		list.Errorf(diag.UnreadableFile, firstBadByte(file), "the file is not UTF-8").
			Helpf("save the file as UTF-8")
		return false
	}
	return true
}

func firstBadByte(file *source.File) source.Span {
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

// reportSyntax reports the parser's error where the parser stopped.
func reportSyntax(file *source.File, err error, list *diag.List) {
	span, message := source.Span{File: file, Line: 1, Column: 1, Length: 1}, err.Error()
	var load *yaml.LoadError
	if errors.As(err, &load) {
		message = load.Message
		if load.Mark.Line > 0 {
			span = file.Token(load.Mark.Line, max(1, load.Mark.Column), 1)
		}
	}
	report := list.Errorf(diag.Syntax, span, "not valid YAML: %s", message).
		Notef("the rest of this file was not read")
	line := file.Line(span.Line)
	if strings.Contains(line[:len(line)-len(strings.TrimLeft(line, " \t"))], "\t") {
		report.Helpf("indent with spaces: YAML does not allow tabs there")
	}
}
