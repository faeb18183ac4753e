package state

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"lockstep.dev/lockstep/pkg/mpi"
	"lockstep.dev/lockstep/pkg/mpi/agent/hosts"
)

// ReadHostTable reads the table of hosts. The error is fs.ErrNotExist where no gate has passed.
func ReadHostTable(path string) (mpi.HostTable, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return mpi.HostTable{}, fmt.Errorf("read the table of hosts: %w", err)
	}
	return hosts.DecodeTable(text)
}

// WriteHostTable leaves the table of hosts.
func WriteHostTable(path string, table mpi.HostTable) error {
	text, err := json.Marshal(table)
	if err != nil {
		return fmt.Errorf("encode the table of hosts: %w", err)
	}
	if err := ReplaceFile(path, text, 0o644); err != nil {
		return fmt.Errorf("write the table of hosts: %w", err)
	}
	return nil
}

// AppendRecord adds a value to a file that has one as JSON on each line. Processes of the pod may do so side by side: one
// write of a short line is atomic (O_APPEND).
func AppendRecord(path string, value any) error {
	line, err := json.Marshal(value)
	if err != nil {
		return fmt.Errorf("encode a record: %w", err)
	}
	return AppendLine(path, string(line))
}

// ReadRecords returns the values of such a file in the order of time. No file means none.
func ReadRecords[T any](path string) ([]T, error) {
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read records: %w", err)
	}
	var records []T
	for line := range strings.Lines(string(text)) {
		var record T
		if err := json.Unmarshal([]byte(line), &record); err != nil {
			return records, fmt.Errorf("read records of %s: %w", filepath.Base(path), err)
		}
		records = append(records, record)
	}
	return records, nil
}

// AppendLine adds a line to a file. One write of a short line is atomic between processes (O_APPEND).
func AppendLine(path, line string) error {
	file, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	_, err = file.WriteString(line + "\n")
	return errors.Join(err, file.Close())
}

// ReplaceFile writes a file so that a reader sees the old content or the new.
func ReplaceFile(path string, content []byte, mode fs.FileMode) error {
	temporary, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+"-")
	if err != nil {
		return err
	}
	_, err = temporary.Write(content)
	err = errors.Join(err, temporary.Chmod(mode), temporary.Close())
	if err == nil {
		err = os.Rename(temporary.Name(), path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(temporary.Name()))
	}
	return nil
}
