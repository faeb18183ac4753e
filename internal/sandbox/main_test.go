package sandbox

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"lockstep.dev/lockstep/internal/chartworker"
)

// TestMain makes this program the other one, too, which it puts beside itself.
func TestMain(m *testing.M) {
	var err error
	switch {
	case filepath.Base(os.Args[0]) == ChartProgram:
		err = chartworker.RenderCharts(os.Args[1:], os.Stdin, os.Stdout, os.Stderr)
	case len(os.Args) == 4 && os.Args[1] == JsonnetWorker:
		err = evaluate(os.Args[3])
	default:
		if err = link(); err == nil {
			os.Exit(m.Run())
		}
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// evaluate is what the hidden command of every program does.
func evaluate(seconds string) error {
	limit, err := strconv.ParseUint(seconds, 10, 64)
	if err != nil {
		return err
	}
	return ServeJsonnet(limit, os.Stdin, os.Stdout)
}

func link() error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	beside, err := ChartProgramPath()
	if err != nil {
		return err
	}
	if err := os.Link(self, beside); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return nil
}
