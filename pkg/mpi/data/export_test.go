package data

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	jobv1 "lockstep.dev/lockstep/api/job/v1"
	"lockstep.dev/lockstep/pkg/mpi/diagnose"
)

// folderOf has these files.
func folderOf(t *testing.T, files map[string]string) string {
	t.Helper()
	folder := t.TempDir()
	for name, text := range files {
		at := filepath.Join(folder, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(at), 0o755), os.WriteFile(at, []byte(text), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	return folder
}

func export(t *testing.T, s *served, folder string, more ...string) error {
	t.Helper()
	e := Export{Root: folder, To: "s3://bucket/runs/demo-1", Print: t.Logf, Patience: 2200 * time.Millisecond}
	_, err := e.Run(t.Context(), jobv1.Manifest{Job: "demo"}, variables(s, more...))
	return err
}

func TestExport(t *testing.T) {
	s := serve(t, map[string]string{})
	folder := folderOf(t, map[string]string{"model.pt": "weights", "deep/log.txt": "lines", "empty": ""})
	// Links could lead to the key in the environment of the pod.
	for name, to := range map[string]string{"key": "/proc/self/environ", "up": "../..", "again": "model.pt"} {
		if err := os.Symlink(to, filepath.Join(folder, name)); err != nil {
			t.Fatal(err)
		}
	}
	if err := export(t, s, folder); err != nil {
		t.Fatal(err)
	}
	var manifest jobv1.Manifest
	if err := json.Unmarshal([]byte(s.files["bucket/runs/demo-1/lockstep.json"]), &manifest); err != nil {
		t.Fatal(err)
	}
	got := ""
	for _, f := range manifest.Files {
		got += fmt.Sprintf("%s %d %.8s %q\n", f.Name, f.Size, f.SHA256, s.files["bucket/runs/demo-1/"+f.Name])
	}
	want := "deep/log.txt 5 5ea44c39 \"lines\"\nempty 0 e3b0c442 \"\"\nmodel.pt 7 9a129038 \"weights\"\n"
	if got != want || manifest.Job != "demo" || len(s.files) != 4 {
		t.Errorf("copied\n%swant\n%s of %d objects", got, want, len(s.files))
	}

	t.Run("sends again only what has changed", func(t *testing.T) {
		before := s.puts.Load()
		changed := filepath.Join(folder, "model.pt")
		if err := os.WriteFile(changed, []byte("WEIGHTS"), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(changed, time.Time{}, time.Now().Add(time.Second)); err != nil {
			t.Fatal(err)
		}
		if err := export(t, s, folder); err != nil {
			t.Fatal(err)
		}
		if n := s.puts.Load() - before; n != 2 || s.files["bucket/runs/demo-1/model.pt"] != "WEIGHTS" {
			t.Errorf("%d objects were sent, want the file and the manifest", n)
		}
	})
}

func TestExportFails(t *testing.T) {
	files := map[string]string{"model.pt": "weights"}
	for name, c := range map[string]struct {
		files    map[string]string
		trouble  func(w http.ResponseWriter, r *http.Request) bool
		variable []string
		reason   string
		final    bool
	}{
		"with another key": {files: files, variable: []string{"ACCESS_KEY_ID", "wrong"}, reason: "DataDenied", final: true},
		"of a busy store": {files: files, trouble: func(w http.ResponseWriter, _ *http.Request) bool {
			w.WriteHeader(http.StatusServiceUnavailable)
			return true
		}, reason: "DataUnavailable"},
		"with a file named as the manifest": {
			files: map[string]string{"lockstep.json": "{}"}, reason: "DataCorrupt", final: true,
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := serve(t, map[string]string{})
			s.trouble = c.trouble
			err := export(t, s, folderOf(t, c.files), c.variable...)
			failure := (*Failure)(nil)
			if !errors.As(err, &failure) || string(failure.Reason) != c.reason || failure.Final != c.final {
				t.Fatalf("got %v, want %s", err, c.reason)
			}
			for name := range s.files {
				if strings.HasSuffix(name, jobv1.ManifestName) {
					t.Error("a copy that is not whole has a manifest")
				}
			}
		})
	}
	t.Run("for two files, and copies the others", func(t *testing.T) {
		s := serve(t, map[string]string{})
		files := map[string]string{"a\xff": "1", "b\xfe.pt": "2", "model.pt": "weights", "z": "3"}
		err := export(t, s, folderOf(t, files))
		failure := (*Failure)(nil)
		if !errors.As(err, &failure) || !strings.HasPrefix(failure.Message, "2 files were not copied") || !failure.Final {
			t.Error(err)
		}
		const at = "bucket/runs/demo-1/"
		if len(s.files) != 2 || s.files[at+"model.pt"] != "weights" || s.files[at+"z"] != "3" {
			t.Errorf("copied %v, want the two files with names that a bucket takes, and no manifest", s.files)
		}
	})
	t.Run("into what is no bucket", func(t *testing.T) {
		e := Export{Root: t.TempDir(), To: "https://example.com", Print: t.Logf}
		_, err := e.Run(t.Context(), jobv1.Manifest{}, func(string) string { return "" })
		if failure := (*Failure)(nil); !errors.As(err, &failure) || failure.Reason != diagnose.DataNotFound {
			t.Error(err)
		}
	})
}
