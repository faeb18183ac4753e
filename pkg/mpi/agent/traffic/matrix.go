package traffic

import (
	"cmp"
	"maps"
	"slices"

	"lockstep.dev/lockstep/pkg/mpi"
	"lockstep.dev/lockstep/pkg/mpi/agent/tracefile"
)

// Pod is what the ranks of one pod have sent.
type Pod struct {
	// Host is how the pod is named.
	Host string
	mpi.NodeTraffic
}

// Matrix is what the ranks of a launch have sent to each other.
type Matrix struct {
	// hosts is where each rank ran, as far as it left a count.
	hosts map[int]string
	// pairs are the messages from one rank to another.
	pairs map[pair]load
	// sent and received are those of each rank. What a rank sent in pairs that its pod had no room for is in sent only.
	sent, received          map[int]load
	total                   load
	collective, betweenPods uint64
}

type pair struct{ from, to int }

// load is a number of messages.
type load struct{ bytes, messages uint64 }

func (l load) plus(bytes, messages uint64) load {
	return load{sum(l.bytes, bytes), sum(l.messages, messages)}
}

// MatrixOf adds up what pods tell of the newest launch, which began so many seconds ago. A launch that left nothing, as one that is no MPI
// program, hides no earlier one.
func MatrixOf(pods []Pod, began float64) Matrix {
	m := Matrix{hosts: map[int]string{}, pairs: map[pair]load{}, sent: map[int]load{}, received: map[int]load{}}
	newest := newestRanks(pods, began)
	for _, number := range slices.Sorted(maps.Keys(newest)) {
		m.hosts[number] = newest[number].host
	}
	for number, rank := range newest {
		m.sent[number] = load{rank.Bytes, rank.Messages}
		m.total = m.total.plus(rank.Bytes, rank.Messages)
		m.collective = sum(m.collective, rank.CollectiveBytes)
		for _, s := range rank.Sent {
			m.pairs[pair{number, s.To}] = load{s.Bytes, s.Messages}
			m.received[s.To] = m.received[s.To].plus(s.Bytes, s.Messages)
			if other, known := m.hosts[s.To]; known && other != rank.host {
				m.betweenPods = sum(m.betweenPods, s.Bytes)
			}
		}
	}
	return m
}

type placedRank struct {
	mpi.RankTraffic
	host string
}

func newestRanks(pods []Pod, began float64) map[int]placedRank {
	var ranks []placedRank
	for _, pod := range pods {
		for _, rank := range pod.Ranks {
			ranks = append(ranks, placedRank{rank, pod.Host})
		}
	}
	return tracefile.Newest(ranks, began, func(r placedRank) (int, float64) { return r.Rank, r.Age })
}

// worldSize is the number of ranks that are known, whether they left a count or others sent to them.
func (m Matrix) worldSize() int {
	size := 0
	for rank := range m.hosts {
		size = max(size, rank+1)
	}
	for rank := range m.received {
		size = max(size, rank+1)
	}
	return size
}

// largestPairs are the pairs with most bytes.
func (m Matrix) largestPairs(most int) []pair {
	pairs := slices.SortedFunc(maps.Keys(m.pairs), func(a, b pair) int {
		return cmp.Or(cmp.Compare(m.pairs[b].bytes, m.pairs[a].bytes), cmp.Compare(a.from, b.from), cmp.Compare(a.to, b.to))
	})
	return pairs[:min(len(pairs), most)]
}

// between adds up the bytes of pairs by the names of their ranks.
func (m Matrix) between(name func(rank int) string) map[[2]string]uint64 {
	sums := map[[2]string]uint64{}
	for p, l := range m.pairs {
		key := [2]string{name(p.from), name(p.to)}
		sums[key] = sum(sums[key], l.bytes)
	}
	return sums
}
