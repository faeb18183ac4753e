package main

import (
	"fmt"
	"os"

	"github.com/spf13/cobra"
)

// inputFlags are common to the commands that compile.
type inputFlags struct {
	root, cluster, output, format string
}

func (f *inputFlags) register(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&f.root, "root", ".", "folder with catalog/, tenants/ and overlays/")
	flags.StringVar(&f.cluster, "cluster", "", "compile this cluster only")
	flags.StringVarP(&f.output, "output", "o", "text", "output format: text or json")
	flags.StringVar(&f.format, "format", "", "alias of --output")
	_ = flags.MarkHidden("format") // fails only for a flag that does not exist
}

// json says whether JSON is wanted.
func (f *inputFlags) json() (bool, error) {
	format := f.output
	if f.format != "" {
		format = f.format
	}
	switch format {
	case "text":
		return false, nil
	case "json":
		return true, nil
	}
	return false, fmt.Errorf("unknown output format `%s`: allowed are `text` and `json`", format)
}

// open opens the root. Nothing outside of it can be read, not even through symbolic links: the specs of a change that nobody has
// reviewed yet must not show files of the machine that compiles them. A path that is no folder is a mistake on the command line.
func (f *inputFlags) open() (*os.Root, error) {
	info, err := os.Stat(f.root)
	if err != nil {
		return nil, fmt.Errorf("open --root: %w", err)
	}
	if !info.IsDir() {
		return nil, fmt.Errorf("open --root: `%s` is not a folder", f.root)
	}
	root, err := os.OpenRoot(f.root)
	if err != nil {
		return nil, fmt.Errorf("open --root: %w", err)
	}
	return root, nil
}
