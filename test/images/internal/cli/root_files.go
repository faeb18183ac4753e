package cli

import (
	"errors"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"lockstep.dev/lockstep/test/images/internal/rootfs"
)

func rootFilesCommand() *cobra.Command {
	var suite string
	cmd := &cobra.Command{
		Use:   "root-files DIR PACKAGE…",
		Short: "Install Debian packages, with all that they depend on, into a new folder",
		Long: `Install Debian packages, with all that they depend on, into a new folder.

This is for machines, not for images: all files of all packages are there, and nothing is cached. It needs root and a Debian
machine: packages come from the archive that the machine's own apt sources name, and the new root file system asks there too.`,
		Example: "  images root-files /var/tmp/root apt systemd-sysv linux-image-amd64",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) < 2 {
				return usageError{errors.New("want a folder and at least one package")}
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error { return installRootFiles(cmd, suite, args[0], args[1:]) },
	}
	cmd.Flags().StringVar(&suite, "suite", "bookworm", "release of Debian")
	return cmd
}

func installRootFiles(cmd *cobra.Command, suite, folder string, packages []string) (err error) {
	report := progress(cmd.ErrOrStderr())
	say := func(step string) { report(filepath.Base(folder), step) }
	if err := rootfs.RequireTools(cmd.Context(), say); err != nil {
		return err
	}
	sources, err := rootfs.ReadSources(os.DirFS("/etc/apt"))
	if err != nil {
		return err
	}
	source, err := rootfs.Archive(sources, suite)
	if err != nil {
		return err
	}
	temp, err := os.MkdirTemp(filepath.Dir(folder), ".tmp-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(temp)) }()
	return rootfs.Bootstrap(cmd.Context(), source, packages, folder, temp, say)
}
