package waiting

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"lockstep.dev/lockstep/pkg/mpi"
)

const asked = mpi.WaitingVariable + "=" + mpi.WaitingPath

func TestPreloadComesBehindWhatTheUserPreloads(t *testing.T) {
	dir := t.TempDir()
	got, err := Preload([]string{"LD_PRELOAD=libmine.so", asked, "A=1", "ASAN_OPTIONS=detect_leaks=0"}, dir)
	if err != nil {
		t.Skip(err) // without a C compiler there is no library
	}
	library := filepath.Join(dir, "libwaiting.so")
	if !slices.Contains(got, "LD_PRELOAD=libmine.so:"+library) || !slices.Contains(got, "LOCKSTEP_WAITING="+filepath.Join(dir, "waiting")) || len(got) != 4 ||
		!slices.Contains(got, "ASAN_OPTIONS=detect_leaks=0:verify_asan_link_order=0") {
		t.Error(got)
	}
	if info, err := os.Stat(library); err != nil || info.Mode().Perm() != 0o555 {
		t.Error(info, err)
	}
	if got, err = Preload([]string{asked}, dir); err != nil || !slices.Contains(got, "LD_PRELOAD="+library) {
		t.Error(got, err)
	}
}

// A job that does not ask gets nothing, not even a file.
func TestPreloadIsForThoseWhoAsk(t *testing.T) {
	dir := t.TempDir()
	for _, environment := range [][]string{nil, {"LD_PRELOAD=libmine.so"}, {mpi.WaitingVariable + "=/work/mine"}} {
		if got, err := Preload(environment, dir); err != nil || !slices.Equal(got, environment) {
			t.Error(got, err)
		}
	}
	if entries, _ := os.ReadDir(dir); len(entries) != 0 {
		t.Error(entries)
	}
}

// The loader complains to every program of a library that is not there.
func TestPreloadNamesNoLibraryThatItCannotLeave(t *testing.T) {
	for _, dir := range []string{filepath.Join(t.TempDir(), "none"), "/proc"} {
		got, err := Preload([]string{asked}, dir)
		if err == nil || !strings.HasPrefix(err.Error(), "waiting is not counted: ") || !slices.Equal(got, []string{asked}) {
			t.Errorf("%s: %v, %v", dir, got, err)
		}
	}
}
