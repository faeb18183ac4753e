package main

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/rogpeppe/go-internal/diff"
	"github.com/spf13/cobra"

	"lockstep.dev/lockstep/internal/cli"
	"lockstep.dev/lockstep/internal/cli/compiling"
	"lockstep.dev/lockstep/pkg/compile/decode/syntax"
	"lockstep.dev/lockstep/pkg/compile/diag"
	"lockstep.dev/lockstep/pkg/compile/format"
	"lockstep.dev/lockstep/pkg/compile/source"
)

// fmtOptions are those of fmt.
type fmtOptions struct {
	root        string
	check, diff bool
}

func newFmt() *cobra.Command {
	var flags fmtOptions
	cmd := &cobra.Command{
		Use:   "fmt [FILE…]",
		Short: "Format specs",
		Long: `fmt writes specs in one way: keys in the order of the documentation, two spaces, lists indented, quotes only where a value needs
them. Every comment stays with what it is about, and no value changes: the result is read again and compared before it replaces
the file, and a file with mistakes is reported and left alone.

Without arguments it formats all specs and all Jsonnet in catalog/, tenants/ and overlays/ of --root.`,
		Example: `  runtime-compiler fmt
  runtime-compiler fmt tenants/vision.yaml

  # In CI: list what is not formatted, and fail
  runtime-compiler fmt --check

  # Show what would change
  runtime-compiler fmt --diff`,
		RunE: func(cmd *cobra.Command, args []string) error { return formatFiles(cmd, args, flags) },
	}
	cmd.Flags().StringVar(&flags.root, "root", ".", "folder with catalog/, tenants/ and overlays/")
	cmd.Flags().BoolVar(&flags.check, "check", false, "list files that are not formatted, exit 1 if there are any, and write nothing")
	cmd.Flags().BoolVar(&flags.diff, "diff", false, "show what would change, and write nothing")
	return cmd
}

// specFile is a file to format: its name for people and its path on the disk.
type specFile struct{ name, path string }

func formatFiles(cmd *cobra.Command, args []string, flags fmtOptions) error {
	files, err := filesToFormat(args, flags.root)
	if err != nil {
		return err
	}
	list, changed := &diag.List{}, 0
	for _, f := range files {
		isChanged, err := formatFile(cmd, f, flags, list)
		if err != nil {
			return cli.Failure(err)
		}
		if isChanged {
			changed++
		}
	}
	if err := list.WriteText(cmd.ErrOrStderr(), cli.Palette(cmd.ErrOrStderr())); err != nil {
		return cli.Failure(fmt.Errorf("write diagnostics: %w", err))
	}
	if list.Errors() > 0 || flags.check && changed > 0 {
		return cli.ErrReported
	}
	return nil
}

// filesToFormat returns the files that were named, or all of the repository.
func filesToFormat(args []string, root string) ([]specFile, error) {
	opened, err := (&compiling.Input{Root: root}).OpenRoot()
	if err != nil {
		return nil, err
	}
	defer opened.Close()
	var files []specFile
	for _, name := range args {
		info, err := statNamed(opened, root, name)
		switch {
		case err != nil:
			return nil, fmt.Errorf("open FILE: %w", err)
		case !info.Mode().IsRegular():
			return nil, fmt.Errorf("`%s` is not a file: without arguments, fmt formats all specs of --root", name)
		case !isFormattable(name):
			return nil, fmt.Errorf("`%s` is not a spec: names end in .yaml, .yml, .jsonnet or .libsonnet", name)
		}
		files = append(files, specFile{name: filepath.ToSlash(name), path: name})
	}
	if len(args) > 0 {
		return files, nil
	}
	for _, folder := range []string{"catalog", "tenants", "overlays"} {
		found, err := specsBelow(opened.FS(), folder)
		if err != nil {
			return nil, cli.Failure(err)
		}
		for _, name := range found {
			files = append(files, specFile{name: name, path: filepath.Join(root, filepath.FromSlash(name))})
		}
	}
	return files, nil
}

// statNamed follows links of the repository as the compiler does: a pipeline may name the files of a change that is
// not reviewed yet.
func statNamed(opened *compiling.Root, root, name string) (fs.FileInfo, error) {
	if below := relativeTo(root, name); below != "" {
		return fs.Stat(opened.FS(), below)
	}
	return os.Stat(name)
}

// isJsonnet reports whether a file is a program: a spec, a library, or a function of an overlay.
func isJsonnet(name string) bool {
	return filepath.Ext(name) == ".jsonnet" || filepath.Ext(name) == ".libsonnet"
}

// specsBelow returns what the compiler reads as specs, and all Jsonnet.
func specsBelow(root fs.FS, folder string) ([]string, error) {
	isSpec := map[string]bool{}
	for _, file := range source.Find(root) {
		isSpec[file.Path] = file.Err == nil
	}
	var names []string
	err := fs.WalkDir(root, folder, func(name string, entry fs.DirEntry, err error) error {
		switch {
		case errors.Is(err, fs.ErrNotExist) && name == folder:
			return nil
		case err != nil:
			return err
		case entry.Type().IsRegular() && (isSpec[name] || isJsonnet(name)):
			names = append(names, name)
		}
		return nil
	})
	return names, err
}

func isFormattable(name string) bool {
	switch filepath.Ext(name) {
	case ".yaml", ".yml", ".jsonnet", ".libsonnet":
		return true
	}
	return false
}

// formatFile formats one file, as the flags say, and returns whether it changes. Mistakes in it go to the list.
func formatFile(cmd *cobra.Command, f specFile, flags fmtOptions, list *diag.List) (changed bool, err error) {
	data, err := os.ReadFile(f.path)
	if err != nil {
		return false, err
	}
	if len(data) > source.MaxFileSize {
		list.Errorf(diag.UnreadableFile, source.WholeFile(&source.File{Path: f.name}), "the file is larger than %d bytes", source.MaxFileSize)
		return false, nil
	}
	result, err := format.File(source.NewFile(f.name, data))
	if err != nil {
		reportUnformatted(source.NewFile(f.name, data), err, list)
		return false, nil
	}
	if bytes.Equal(result, data) {
		return false, nil
	}
	switch {
	case flags.diff:
		_, err = cmd.OutOrStdout().Write(diff.Diff(f.name, data, f.name+" (formatted)", result))
	case flags.check:
		_, err = fmt.Fprintln(cmd.OutOrStdout(), f.name)
	default:
		err = replaceFile(f.path, data, result)
	}
	return true, err
}

func reportUnformatted(file *source.File, err error, list *diag.List) {
	var wrong *syntax.Error
	var refusal *format.Refusal
	switch {
	case errors.As(err, &wrong):
		list.Errorf(diag.Syntax, wrong.At, "not valid YAML: %s", wrong.Message).Notef("the file was left alone")
	case errors.As(err, &refusal):
		list.Errorf(diag.UnsupportedYAML, refusal.At, "%s", refusal.Message).Notef("the file was left alone")
	default:
		list.Errorf(diag.Syntax, source.WholeFile(file), "%s", strings.TrimSpace(err.Error())).Notef("the file was left alone")
	}
}

// replaceFile puts a new content in the place of the old one at once, with the same mode. A file that somebody else has changed in the
// meantime is left alone; a link stays one.
func replaceFile(name string, old, content []byte) error {
	name, err := filepath.EvalSymlinks(name)
	if err != nil {
		return err
	}
	info, err := os.Stat(name)
	if err != nil {
		return err
	}
	temporary, err := os.CreateTemp(filepath.Dir(name), ".fmt-*")
	if err != nil {
		return fmt.Errorf("write the formatted file: %w", err)
	}
	defer os.Remove(temporary.Name())
	_, writeErr := temporary.Write(content)
	if err := errors.Join(writeErr, temporary.Chmod(info.Mode().Perm()), temporary.Sync(), temporary.Close()); err != nil {
		return fmt.Errorf("write the formatted file: %w", err)
	}
	if now, err := os.ReadFile(name); err != nil || !bytes.Equal(now, old) {
		return fmt.Errorf("`%s` was changed while it was formatted: run fmt again", name)
	}
	return os.Rename(temporary.Name(), name)
}
