package traffic

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"lockstep.dev/lockstep/pkg/mpi"
)

const (
	// maxFiles is how many ranks of a pod are read, maxFile how much of a file: that of a rank with 10,000 peers has 3 MB.
	maxFiles = 256
	maxFile  = 8 << 20
)

// AnswerTraffic is the subsystem of a node whose agent has this state folder.
func AnswerTraffic(stateDir string, request []byte) (mpi.NodeTraffic, error) {
	var asked mpi.TrafficRequest
	if err := json.Unmarshal(request, &asked); err != nil {
		return mpi.NodeTraffic{}, fmt.Errorf("decode a question about traffic: %w", err)
	}
	return ReadPod(stateDir, asked.Pairs, time.Now()), nil
}

// ReadPod reads what the ranks of this pod have left in the state folder, with so many pairs of ranks at most. A file that is none of Open MPI's
// is passed over: its rank left no count.
func ReadPod(stateDir string, pairs int, now time.Time) mpi.NodeTraffic {
	var pod mpi.NodeTraffic
	files := rankFiles(stateDir)
	for _, file := range files {
		if rank, err := readRank(file.path, max(1, min(pairs, mpi.MaxTrafficPairs)/len(files)), now); err == nil {
			rank.Rank = file.rank
			pod.Ranks = append(pod.Ranks, rank)
		}
	}
	return pod
}

type rankFile struct {
	rank int
	path string
}

// rankFiles are the files of the lowest ranks.
func rankFiles(stateDir string) []rankFile {
	entries, _ := os.ReadDir(stateDir) // what cannot be read has no ranks
	var files []rankFile
	for _, entry := range entries {
		number, is := strings.CutPrefix(entry.Name(), filepath.Base(mpi.TrafficPath)+".")
		number, ends := strings.CutSuffix(number, ".prof")
		rank, err := strconv.Atoi(number)
		if is && ends && err == nil && rank >= 0 && rank < maxRank && number == strconv.Itoa(rank) {
			files = append(files, rankFile{rank, filepath.Join(stateDir, entry.Name())})
		}
	}
	slices.SortFunc(files, func(a, b rankFile) int { return cmp.Compare(a.rank, b.rank) })
	return files[:min(len(files), maxFiles)]
}

// readRank does not follow a link and does not wait for a pipe, which a program may have put there.
func readRank(path string, peers int, now time.Time) (mpi.RankTraffic, error) {
	file, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if err != nil {
		return mpi.RankTraffic{}, err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil || !info.Mode().IsRegular() {
		return mpi.RankTraffic{}, errors.New("it is not a regular file")
	}
	rank, err := parseCounts(io.LimitReader(file, maxFile), peers)
	rank.Age = max(0, now.Sub(info.ModTime()).Seconds())
	return rank, err
}
