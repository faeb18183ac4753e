package mpi

import "slices"

// FilesDir is where the files are that travel with a job, in all its pods.
const FilesDir = "/workspace"

// inFilesDir is what runs a command there. A patch may not set a working folder, and ranks get that of the launcher's command.
var inFilesDir = []string{"sh", "-c", `cd ` + FilesDir + ` && exec "$@"`, "sh"}

// WrapInFilesDir returns the command that runs another one where its files are.
func WrapInFilesDir(command []string) []string { return slices.Concat(inFilesDir, command) }

// UnwrapFilesDir returns the command that somebody asked for, of one that may run where its files are.
func UnwrapFilesDir(command []string) []string {
	if n := len(inFilesDir); len(command) > n && slices.Equal(command[:n], inFilesDir) {
		return command[n:]
	}
	return command
}
