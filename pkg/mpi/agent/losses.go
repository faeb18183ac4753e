package agent

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"time"
)

// loss is what an rsh noticed: a node that could not be reached or was lost. The processes of rsh leave losses in a file
// of the launcher's pod, in the order of time; Run reads it after the command, because MPI's own messages blame other
// things.
type loss struct {
	Host    string `json:"host"`
	Address string `json:"address,omitempty"`
	// Error is what happened in plain words.
	Error string `json:"error"`
	// At is when it was noticed, by the clock of the launcher's machine.
	At time.Time `json:"at,omitzero"`
	// Since is when a node stopped answering that was lost in silence, by the clock of the launcher's machine; zero for
	// one that ended its connection.
	Since time.Time `json:"since,omitzero"`
}

func (l loss) String() string { return describeNode(l.Host, l.Address) + ": " + l.Error }

// ofDaemon says that only a launch daemon ended: the connection to the node lasted.
func (l loss) ofDaemon() bool { return strings.HasPrefix(l.Error, daemonWords) }

// daemonWords are what the loss of a launch daemon begins with.
const daemonWords = "the launch daemon "

// appendLoss adds a loss to the file.
func appendLoss(path string, l loss) error {
	line, err := json.Marshal(l)
	if err != nil {
		return fmt.Errorf("encode a loss: %w", err)
	}
	return appendLine(path, string(line))
}

// appendLine adds a line to a file. One write of a short line is atomic between processes (O_APPEND).
func appendLine(path, line string) error {
	file, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	_, err = file.WriteString(line + "\n")
	return errors.Join(err, file.Close())
}

// readLosses returns the losses in the order of time. No file means none.
func readLosses(path string) ([]loss, error) {
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read what rsh noticed: %w", err)
	}
	var losses []loss
	for line := range strings.Lines(string(text)) {
		var l loss
		if err := json.Unmarshal([]byte(line), &l); err != nil {
			return losses, fmt.Errorf("read what rsh noticed: %w", err)
		}
		losses = append(losses, l)
	}
	return losses, nil
}
