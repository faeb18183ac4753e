package probe

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"time"
)

// The two sides of a connection between ranks. The caller asks, one byte at a time; the other side answers:
//
//	ping       the same byte
//	data       a block follows
//	end        how many bytes came and in which time
//	back TIME  blocks, for so long, and then end
const (
	ping = 'p'
	data = 'd'
	end  = 'e'
	back = 'b'
)

const (
	// block is the size of a piece of data.
	block = 64 << 10
	// maxPings bounds the round trips of a pair; warmUp of them do not count.
	maxPings = 1000
	warmUp   = 5
)

// measureConnection measures a pair, as the caller, in about the given time.
func measureConnection(conn net.Conn, limit time.Duration) (Pair, error) {
	reader := bufio.NewReaderSize(conn, block)
	trips, err := measureRoundTrips(conn, reader, limit/4)
	if err != nil {
		return Pair{}, fmt.Errorf("measure the round trip: %w", err)
	}
	there, err := measureSending(conn, reader, limit*3/8)
	if err != nil {
		return Pair{}, fmt.Errorf("measure the bandwidth: %w", err)
	}
	here, err := measureReceiving(conn, reader, limit*3/8)
	if err != nil {
		return Pair{}, fmt.Errorf("measure the bandwidth on the way back: %w", err)
	}
	return Pair{RoundTrip: &trips, BandwidthThere: there, BandwidthBack: here}, nil
}

func measureRoundTrips(conn net.Conn, reader io.Reader, limit time.Duration) (RoundTrip, error) {
	var trips []float64
	command := []byte{ping}
	for start := time.Now(); len(trips) < warmUp+2 || len(trips) < maxPings && time.Since(start) < limit; {
		began := time.Now()
		if _, err := conn.Write(command); err != nil {
			return RoundTrip{}, err
		}
		if _, err := io.ReadFull(reader, command); err != nil {
			return RoundTrip{}, err
		}
		if command[0] != ping {
			return RoundTrip{}, errProtocol
		}
		trips = append(trips, time.Since(began).Seconds()*1e6)
	}
	sorted := slices.Sorted(slices.Values(trips[warmUp:]))
	at := func(share float64) float64 { return roundToTenth(sorted[int(share*float64(len(sorted)-1))]) }
	return RoundTrip{Min: at(0), Median: at(0.5), P99: at(0.99), Count: len(sorted)}, nil
}

var errProtocol = errors.New("the other side is not a rank of this probe")

// measureSending streams to the other side and returns the bandwidth that it saw, in Mbit/s.
func measureSending(conn net.Conn, reader io.Reader, limit time.Duration) (float64, error) {
	if err := sendBlocks(conn, limit); err != nil {
		return 0, err
	}
	var seen struct{ Bytes, Nanoseconds uint64 }
	if err := binary.Read(reader, binary.BigEndian, &seen); err != nil {
		return 0, err
	}
	return megabitsPerSecond(seen.Bytes, time.Duration(seen.Nanoseconds)), nil
}

// sendBlocks sends blocks for some time, at least one.
func sendBlocks(conn net.Conn, limit time.Duration) error {
	piece := make([]byte, 1+block)
	piece[0] = data
	for start := time.Now(); ; {
		if _, err := conn.Write(piece); err != nil {
			return err
		}
		if time.Since(start) >= limit {
			_, err := conn.Write([]byte{end})
			return err
		}
	}
}

// measureReceiving lets the other side stream and returns the bandwidth in Mbit/s.
func measureReceiving(conn net.Conn, reader io.Reader, limit time.Duration) (float64, error) {
	request := binary.BigEndian.AppendUint64([]byte{back}, uint64(limit))
	if _, err := conn.Write(request); err != nil {
		return 0, err
	}
	command := make([]byte, 1)
	if _, err := io.ReadFull(reader, command); err != nil {
		return 0, err
	}
	if command[0] != data {
		return 0, errProtocol
	}
	bytes, took, err := discardAll(reader)
	return megabitsPerSecond(bytes, took), err
}

// discardAll reads blocks until the end; the letter of the first has been read.
func discardAll(reader io.Reader) (bytes uint64, took time.Duration, err error) {
	start, piece := time.Now(), make([]byte, block)
	for command := []byte{data}; command[0] == data; {
		if _, err := io.ReadFull(reader, piece); err != nil {
			return 0, 0, err
		}
		bytes += block
		if _, err := io.ReadFull(reader, command); err != nil {
			return 0, 0, err
		}
		if command[0] != data && command[0] != end {
			return 0, 0, errProtocol
		}
	}
	return bytes, time.Since(start), nil
}

// maxBack bounds how long a caller may let us stream.
const maxBack = time.Minute

// serveMeasurements is the other side of measureConnection. It returns when the caller disconnects.
func serveMeasurements(conn net.Conn) error {
	reader, command := bufio.NewReaderSize(conn, block), make([]byte, 1)
	for {
		if _, err := io.ReadFull(reader, command); err != nil {
			if errors.Is(err, io.EOF) {
				return nil
			}
			return err
		}
		if err := serveMeasurement(conn, reader, command); err != nil {
			return err
		}
	}
}

func serveMeasurement(conn net.Conn, reader io.Reader, command []byte) error {
	switch command[0] {
	case ping:
		_, err := conn.Write(command)
		return err
	case data:
		bytes, took, err := discardAll(reader)
		if err != nil {
			return err
		}
		return binary.Write(conn, binary.BigEndian, struct{ Bytes, Nanoseconds uint64 }{bytes, uint64(took)})
	case back:
		var limit uint64
		if err := binary.Read(reader, binary.BigEndian, &limit); err != nil {
			return err
		}
		return sendBlocks(conn, time.Duration(min(limit, uint64(maxBack))))
	}
	return errProtocol
}

func megabitsPerSecond(bytes uint64, took time.Duration) float64 {
	if took <= 0 {
		return 0
	}
	return roundToTenth(float64(bytes) * 8 / 1e6 / took.Seconds())
}
