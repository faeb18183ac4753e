package traffic

import (
	"encoding/json"
	"fmt"
	"io"
	"path/filepath"
	"time"

	"lockstep.dev/lockstep/pkg/mpi"
	"lockstep.dev/lockstep/pkg/mpi/agent/tracefile"
)

// maxFile is how much of a file is read: that of a rank with 10,000 peers has 3 MB.
const maxFile = 8 << 20

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
	files := tracefile.List(stateDir, filepath.Base(mpi.TrafficPath), ".prof")
	for _, file := range files {
		if rank, err := readRank(file.Path, max(1, min(pairs, mpi.MaxTrafficPairs)/len(files)), now); err == nil {
			rank.Rank = file.Rank
			pod.Ranks = append(pod.Ranks, rank)
		}
	}
	return pod
}

func readRank(path string, peers int, now time.Time) (mpi.RankTraffic, error) {
	file, info, err := tracefile.Open(path)
	if err != nil {
		return mpi.RankTraffic{}, err
	}
	defer file.Close()
	rank, err := parseCounts(io.LimitReader(file, maxFile), peers)
	rank.Age = max(0, now.Sub(info.ModTime()).Seconds())
	return rank, err
}
