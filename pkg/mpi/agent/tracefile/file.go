// Package tracefile finds what the ranks of a traced job have left in the state folders of their pods, and tells whose is of the newest launch.
// Programs of the user can write there.
package tracefile

import (
	"cmp"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
)

const (
	// MaxRank bounds the numbers of ranks: mpi.MaxNodes of many slots are below it.
	MaxRank = 1 << 20
	// MaxFiles is how many ranks of a pod are read.
	MaxFiles = 256
)

// File is that of a rank.
type File struct {
	Rank int
	Path string
}

// List returns the files `<prefix>.<rank><suffix>` of the lowest ranks of a pod, by their ranks.
func List(stateDir, prefix, suffix string) []File {
	entries, _ := os.ReadDir(stateDir) // what cannot be read has no ranks
	var files []File
	for _, entry := range entries {
		number, begins := strings.CutPrefix(entry.Name(), prefix+".")
		number, ends := strings.CutSuffix(number, suffix)
		rank, err := strconv.Atoi(number)
		if begins && ends && err == nil && rank >= 0 && rank < MaxRank && number == strconv.Itoa(rank) {
			files = append(files, File{rank, filepath.Join(stateDir, entry.Name())})
		}
	}
	slices.SortFunc(files, func(a, b File) int { return cmp.Compare(a.Rank, b.Rank) })
	return files[:min(len(files), MaxFiles)]
}

// Open opens a regular file. It does not follow a link and does not wait for a pipe, which a program may have put there.
func Open(path string) (*os.File, fs.FileInfo, error) {
	file, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, nil, err
	}
	info, err := file.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = errors.New("it is not a regular file")
	}
	if err != nil {
		_ = file.Close()
		return nil, nil, err
	}
	return file, info, nil
}
