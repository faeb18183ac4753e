// Package cli is the command line of the image tool: it finds the checkout and the cache, and prints results.
package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"

	"github.com/spf13/cobra"

	"lockstep.dev/lockstep/test/images/internal/build"
	"lockstep.dev/lockstep/test/images/internal/image"
)

// usageError is a command line that makes no sense, as opposed to a build that failed.
type usageError struct{ error }

// Run executes the command line args and returns the exit code: 0 fine, 1 failure, 2 usage.
func Run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	cmd := root()
	cmd.SetArgs(args)
	cmd.SetOut(stdout)
	cmd.SetErr(stderr)
	err := cmd.ExecuteContext(ctx)
	if err == nil {
		return 0
	}
	var usage usageError
	if errors.As(err, &usage) {
		cmd.PrintErrf("images: %v\nsee images --help\n", err)
		return 2
	}
	cmd.PrintErrln("images:", err)
	return 1
}

// options are the flags that all commands share.
type options struct{ repository, definitions, output string }

func root() *cobra.Command {
	o := &options{}
	cmd := &cobra.Command{
		Use:   "images",
		Short: "Make the container images that Lockstep's tests run, without a registry or a container engine",
		Example: `  images build                      make all images that are not there yet
  images build openmpi4 mpich       make two of them
  images build -o json | jq .       results as JSON
  images list                       what there is to build`,
		SilenceErrors: true,
		SilenceUsage:  true,
		Args:          noCommand,
		RunE:          func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return usageError{err} })
	cmd.CompletionOptions.DisableDefaultCmd = true
	cmd.PersistentFlags().StringVar(&o.repository, "repository", "", "folder of the checkout (default: the one around the current folder)")
	cmd.PersistentFlags().StringVar(&o.definitions, "definitions", "", "folder of the image definitions (default: test/images of the checkout)")
	cmd.PersistentFlags().StringVarP(&o.output, "output", "o", "text", "form of the results: text or json")
	cmd.AddCommand(buildCommand(o), listCommand(o), rootFilesCommand())
	return cmd
}

func noCommand(_ *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	return usageError{fmt.Errorf("unknown command %q: want build, list or root-files", args[0])}
}

func buildCommand(o *options) *cobra.Command {
	return &cobra.Command{
		Use:   "build [NAME…]",
		Short: "Make images that are not in the cache yet, and print NAME REFERENCE ARCHIVE DIGEST of each",
		Long: `Make images that are not in the cache yet, and print NAME REFERENCE ARCHIVE DIGEST of each.

Archives are docker-archive tar files below $XDG_CACHE_HOME/lockstep/images, for "ctr images import". An image is
made again when anything that goes into it changed. Images with a Debian root file system need root and a Debian
machine: packages come from the archive that the machine's own apt sources name.`,
		Example: `  images build
  images build openmpi4
  images build -o json`,
		RunE: func(cmd *cobra.Command, names []string) error { return runBuild(cmd, o, names) },
	}
}

func runBuild(cmd *cobra.Command, o *options, names []string) error {
	repository, images, err := o.images()
	if err != nil {
		return err
	}
	chosen, err := image.Choose(images, names, runtime.GOARCH)
	if err != nil {
		return usageError{err}
	}
	cacheHome, err := os.UserCacheDir() // XDG_CACHE_HOME or ~/.cache
	if err != nil {
		return err
	}
	report := progress(cmd.ErrOrStderr())
	cache, err := build.OpenCache(cmd.Context(), filepath.Join(cacheHome, "lockstep", "images"), func(s string) { report("cache", s) })
	if err != nil {
		return err
	}
	defer func() { _ = cache.Close() }() // only a lock
	builder := &build.Builder{Repository: repository, Definitions: o.definitionsDir(repository), Cache: cache, Report: report}
	results, err := builder.Build(cmd.Context(), chosen)
	return errors.Join(err, printResults(cmd.OutOrStdout(), o.output, results))
}

func listCommand(o *options) *cobra.Command {
	return &cobra.Command{
		Use:     "list",
		Short:   "Print NAME REFERENCE CONTENTS of every image there is a definition of",
		Example: "  images list\n  images list -o json",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 0 {
				return usageError{fmt.Errorf("list takes no arguments, got %q", args)}
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, _ []string) error {
			_, images, err := o.images()
			if err != nil {
				return err
			}
			return printList(cmd.OutOrStdout(), o.output, images)
		},
	}
}

// images checks the flags and reads the definitions of the checkout.
func (o *options) images() (repository string, images []image.Image, err error) {
	if o.output != "text" && o.output != "json" {
		return "", nil, usageError{fmt.Errorf("output %q: want text or json", o.output)}
	}
	repository, err = findRepository(o.repository)
	if err != nil {
		return "", nil, err
	}
	images, err = image.Load(os.DirFS(o.definitionsDir(repository)))
	return repository, images, err
}

func (o *options) definitionsDir(repository string) string {
	return cmp.Or(o.definitions, filepath.Join(repository, "test", "images"))
}
