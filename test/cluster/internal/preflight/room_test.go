package preflight

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"
)

// TestEnough: a disk on which kubelet would soon evict every pod is refused before anything starts, in words that help.
func TestEnough(t *testing.T) {
	const gigabyte = 1 << 30
	for name, c := range map[string]struct {
		available, total uint64
		refused          bool
	}{
		"Half":         {available: 50 * gigabyte, total: 100 * gigabyte},
		"ThreePercent": {available: 3 * gigabyte, total: 100 * gigabyte},
		"OnePercent":   {available: 8 * gigabyte, total: 800 * gigabyte, refused: true},
		"SmallDisk":    {available: gigabyte, total: 20 * gigabyte, refused: true},
	} {
		err := enough("/var/x", c.available, c.total)
		var full RoomError
		if got := errors.As(err, &full); got != c.refused {
			t.Errorf("%s: got %v", name, err)
		}
		if c.refused && (!strings.Contains(err.Error(), "/var/x") || !strings.Contains(err.Error(), "free some")) {
			t.Errorf("%s: the message does not help: %v", name, err)
		}
	}
}

// TestRoomOfMissingFolder: the disk of a folder that will be made is that of the one above it.
func TestRoomOfMissingFolder(t *testing.T) {
	var full RoomError
	if err := Room(filepath.Join(t.TempDir(), "a", "b")); err != nil && !errors.As(err, &full) {
		t.Error(err)
	}
}
