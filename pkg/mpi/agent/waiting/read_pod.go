package waiting

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"path/filepath"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"lockstep.dev/lockstep/pkg/mpi"
	"lockstep.dev/lockstep/pkg/mpi/agent/tracefile"
)

const (
	// maxPID is the largest number that Linux gives a process.
	maxPID = 1 << 22
	// maxSeconds is longer than any machine has been up.
	maxSeconds = 1 << 32
)

// page is what the library shares of a rank (struct page of waiting.c): nanoseconds of the monotonic clock, and numbers.
type page struct {
	Magic  [8]byte
	PID    uint64
	Began  uint64
	Ended  uint64
	Last   uint64
	Since  uint64
	Inside uint64
	Kinds  [mpi.MPICallKinds]struct{ Calls, Time uint64 }
}

var magic = [8]byte([]byte("WAITING1"))

// Pod reads the ranks of a pod.
type Pod struct {
	StateDir string
	// EndOf is when a process of a rank was seen to end for the last time, false for never.
	EndOf func(rank int) (time.Time, bool)
}

// Answer is the subsystem.
func (p Pod) Answer(_ context.Context, request []byte) (any, error) {
	var asked mpi.WaitingRequest
	if err := json.Unmarshal(request, &asked); err != nil {
		return nil, fmt.Errorf("decode a question about waiting: %w", err)
	}
	return p.Read(asked.Ranks), nil
}

// Read reads what the ranks of this pod have counted, so many of them at most. A file that is none of the library's is passed over: its rank was
// not counted.
func (p Pod) Read(ranks int) mpi.NodeWaiting {
	var pod mpi.NodeWaiting
	files := tracefile.List(p.StateDir, filepath.Base(mpi.WaitingPath), "")
	for _, file := range files[:min(len(files), max(1, ranks))] {
		page, err := readPage(file.Path)
		if err != nil {
			continue
		}
		if rank, valid := page.rankAt(p.endOf(file.Rank, page), monotonicNow()); valid {
			rank.Rank = file.Rank
			pod.Ranks = append(pod.Ranks, rank)
		}
	}
	return pod
}

func readPage(path string) (page, error) {
	file, _, err := tracefile.Open(path)
	if err != nil {
		return page{}, err
	}
	defer file.Close()
	var read page
	if err := binary.Read(io.LimitReader(file, int64(binary.Size(read))), binary.LittleEndian, &read); err != nil {
		return page{}, err
	}
	if read.Magic != magic {
		return page{}, errors.New("it is not of the library")
	}
	return read, nil
}

// endOf is when the rank of a page ended by the monotonic clock, as far as that is known, and now for one that runs.
func (p Pod) endOf(rank int, read page) uint64 {
	known := max(read.Ended, read.Last, read.Since)
	if read.Ended > 0 {
		return known
	}
	if isAlive(read.PID) {
		return math.MaxUint64
	}
	if at, seen := p.EndOf(rank); seen {
		if ago := time.Since(at); ago > 0 && uint64(ago) < monotonicNow() {
			return max(known, monotonicNow()-uint64(ago))
		}
	}
	return known
}

func isAlive(pid uint64) bool {
	if pid == 0 || pid > maxPID {
		return false
	}
	err := syscall.Kill(int(pid), 0)
	return err == nil || errors.Is(err, syscall.EPERM)
}

// rankAt is what a page says of a rank that ended then, and false for what cannot be.
func (p page) rankAt(end, now uint64) (mpi.RankWaiting, bool) {
	end = min(end, now)
	if p.Began == 0 || p.Began > end {
		return mpi.RankWaiting{}, false
	}
	rank := mpi.RankWaiting{Age: seconds(now - p.Began), Seconds: seconds(end - p.Began), Finalized: p.Ended > 0}
	for kind, counted := range p.Kinds {
		rank.Kinds[kind] = mpi.CallKind{Calls: counted.Calls, Seconds: min(seconds(counted.Time), rank.Seconds)}
	}
	if inside := p.Inside; p.Since > 0 && p.Since <= end && inside < mpi.MPICallKinds {
		rank.Inside = mpi.CallKindNames[inside]
		kind := &rank.Kinds[inside]
		kind.Calls, kind.Seconds = kind.Calls+min(1, math.MaxUint64-kind.Calls), min(kind.Seconds+seconds(end-p.Since), rank.Seconds)
	}
	return rank, true
}

func seconds(nanoseconds uint64) float64 { return min(float64(nanoseconds)/1e9, maxSeconds) }

// monotonicNow is the clock that the library reads too.
func monotonicNow() uint64 {
	var now unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &now); err != nil {
		return 0
	}
	return uint64(now.Nano())
}
