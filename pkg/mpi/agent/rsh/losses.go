package rsh

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"lockstep.dev/lockstep/pkg/mpi/agent/state"
	"lockstep.dev/lockstep/pkg/mpi/agent/verdict"
)

// appendLoss adds a loss to the file.
func appendLoss(path string, l verdict.Loss) error {
	line, err := json.Marshal(l)
	if err != nil {
		return fmt.Errorf("encode a loss: %w", err)
	}
	return state.AppendLine(path, string(line))
}

// ReadLosses returns the losses in the order of time. No file means none.
func ReadLosses(path string) ([]verdict.Loss, error) {
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read what rsh noticed: %w", err)
	}
	var losses []verdict.Loss
	for line := range strings.Lines(string(text)) {
		var l verdict.Loss
		if err := json.Unmarshal([]byte(line), &l); err != nil {
			return losses, fmt.Errorf("read what rsh noticed: %w", err)
		}
		losses = append(losses, l)
	}
	return losses, nil
}
