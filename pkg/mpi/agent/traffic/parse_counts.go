package traffic

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"lockstep.dev/lockstep/pkg/mpi"
	"lockstep.dev/lockstep/pkg/mpi/agent/tracefile"
)

const (
	// maxLine is the length of a line, which ends with a histogram of 66 numbers.
	maxLine = 8 << 10
	// maxPeers is how many peers a rank may have.
	maxPeers = 1 << 16
)

const (
	sectionMark  = "#"
	pointToPoint = "# POINT TO POINT"
)

// parseCounts reads what one rank has sent: the section of point-to-point messages, with which the file begins. Its lines are
//
//	E <rank> <peer> <n> bytes <n> msgs sent <histogram>
//
// with tabs between them, `E` for messages that the program sends itself and `I` for those inside of collectives (Open MPI
// ompi/mca/common/monitoring, mca_common_monitoring_output; the same in 4.1 and 5.0). Of the peers those with most bytes are kept.
func parseCounts(file io.Reader, peers int) (mpi.RankTraffic, error) {
	lines := bufio.NewScanner(file)
	lines.Buffer(nil, maxLine)
	if !lines.Scan() || lines.Text() != pointToPoint {
		return mpi.RankTraffic{}, fmt.Errorf("it does not begin with `%s`, as files of Open MPI's monitoring component do", pointToPoint)
	}
	var rank mpi.RankTraffic
	sent := map[int]mpi.SentTraffic{}
	for lines.Scan() && !strings.HasPrefix(lines.Text(), sectionMark) {
		line, err := parseLine(lines.Text())
		if err != nil {
			return mpi.RankTraffic{}, err
		}
		rank.Bytes, rank.Messages = sum(rank.Bytes, line.Bytes), sum(rank.Messages, line.Messages)
		if line.collective {
			rank.CollectiveBytes = sum(rank.CollectiveBytes, line.Bytes)
		}
		other := sent[line.To]
		sent[line.To] = mpi.SentTraffic{To: line.To, Bytes: sum(other.Bytes, line.Bytes), Messages: sum(other.Messages, line.Messages)}
		if len(sent) > maxPeers {
			return mpi.RankTraffic{}, fmt.Errorf("a rank with more than %d peers", maxPeers)
		}
	}
	if err := lines.Err(); err != nil {
		return mpi.RankTraffic{}, err
	}
	for _, peer := range sent {
		rank.Sent = append(rank.Sent, peer)
	}
	slices.SortFunc(rank.Sent, func(a, b mpi.SentTraffic) int {
		return cmp.Or(cmp.Compare(b.Bytes, a.Bytes), cmp.Compare(b.Messages, a.Messages), cmp.Compare(a.To, b.To))
	})
	rank.Sent = slices.Clone(rank.Sent[:min(len(rank.Sent), peers)]) // without the room of the others
	return rank, nil
}

type countedLine struct {
	mpi.SentTraffic
	collective bool
}

func parseLine(text string) (countedLine, error) {
	fields := strings.Split(text, "\t")
	if len(fields) < 5 || fields[0] != "E" && fields[0] != "I" {
		return countedLine{}, fmt.Errorf("the line `%.40q` is no count of messages", text)
	}
	to, toErr := strconv.Atoi(fields[2])
	bytes, bytesErr := strconv.ParseUint(strings.TrimSuffix(fields[3], " bytes"), 10, 64)
	messages, messagesErr := strconv.ParseUint(strings.TrimSuffix(fields[4], " msgs sent"), 10, 64)
	if toErr != nil || bytesErr != nil || messagesErr != nil || to < 0 || to >= tracefile.MaxRank {
		return countedLine{}, fmt.Errorf("the line `%.40q` is no count of messages", text)
	}
	return countedLine{mpi.SentTraffic{To: to, Bytes: bytes, Messages: messages}, fields[0] == "I"}, nil
}

// sum does not wrap around: the numbers come from programs of the user.
func sum(a, b uint64) uint64 {
	if a > math.MaxUint64-b {
		return math.MaxUint64
	}
	return a + b
}
