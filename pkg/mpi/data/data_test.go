package data

import (
	"bytes"
	"context"
	"crypto/sha1" //nolint:gosec // git names blobs by it
	"crypto/sha256"
	"encoding/hex"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"lockstep.dev/lockstep/pkg/mpi"
	"lockstep.dev/lockstep/pkg/mpi/diagnose"
)

// served is a store of S3 with one key, a hub and a web server with the same files.
type served struct {
	*httptest.Server
	files map[string]string
	// gets counts reads of files; trouble may answer instead of them.
	gets    atomic.Int32
	puts    atomic.Int32
	mu      sync.Mutex
	headers map[string]http.Header
	trouble func(w http.ResponseWriter, r *http.Request) bool
}

func serve(t *testing.T, files map[string]string) *served {
	t.Helper()
	s := &served{files: files, headers: map[string]http.Header{}}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		name := strings.TrimPrefix(r.URL.Path, "/")
		text, found := s.files[name]
		switch {
		case r.Method == http.MethodGet && found && s.trouble != nil && s.trouble(w, r):
			return
		case isSignedByAnother(r):
			w.WriteHeader(http.StatusForbidden)
			fmt.Fprint(w, `<Error><Code>InvalidAccessKeyId</Code><Message>no such key</Message></Error>`)
		case r.Method == http.MethodPut:
			s.put(w, r, name)
		case r.URL.Query().Has("location"):
			fmt.Fprint(w, `<LocationConstraint></LocationConstraint>`)
		case r.URL.Query().Has("list-type") && !strings.HasPrefix(name, "bucket"):
			w.WriteHeader(http.StatusNotFound)
			fmt.Fprint(w, `<Error><Code>NoSuchBucket</Code><Message>no such bucket</Message></Error>`)
		case r.URL.Query().Has("list-type"):
			s.list(w, r.URL.Query().Get("prefix"))
		case strings.HasPrefix(name, "api/"):
			s.describe(w)
		case !found:
			http.NotFound(w, r)
		default:
			if r.Method == http.MethodGet {
				s.gets.Add(1)
			}
			if tag(text) != "" {
				w.Header().Set("ETag", tag(text))
			}
			for key, value := range s.headers[name] {
				w.Header()[key] = value
			}
			http.ServeContent(w, r, "", time.Unix(1e9, 0), strings.NewReader(text))
		}
	}))
	t.Cleanup(s.Close)
	return s
}

// put keeps an object with its metadata.
func (s *served) put(w http.ResponseWriter, r *http.Request, name string) {
	if s.trouble != nil && s.trouble(w, r) {
		return
	}
	text, err := io.ReadAll(r.Body)
	if r.Header.Get("X-Amz-Decoded-Content-Length") != "" {
		text = unsigned(text)
	}
	if err != nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	s.puts.Add(1)
	s.mu.Lock()
	defer s.mu.Unlock()
	kept := http.Header{}
	for key, value := range r.Header {
		if strings.HasPrefix(key, "X-Amz-Meta-") {
			kept[key] = value
		}
	}
	s.files[name], s.headers[name] = string(text), kept
}

// unsigned takes the chunks out of a body that is signed in chunks: SIZE;chunk-signature=…, in hexadecimal, then bytes.
func unsigned(body []byte) (text []byte) {
	for {
		head, rest, found := bytes.Cut(body, []byte("\r\n"))
		digits, _, _ := bytes.Cut(head, []byte(";"))
		n, err := strconv.ParseInt(string(digits), 16, 32)
		if !found || err != nil || n == 0 || int(n)+2 > len(rest) {
			return text
		}
		text, body = append(text, rest[:n]...), rest[n+2:]
	}
}

func isSignedByAnother(r *http.Request) bool {
	signature := r.Header.Get("Authorization")
	return strings.HasPrefix(signature, "AWS4") && !strings.Contains(signature, "Credential=right/")
}

func tag(text string) string {
	if text == "untagged" {
		return ""
	}
	sum := sha256.Sum256([]byte(text))
	return `"` + hex.EncodeToString(sum[:8]) + `"`
}

func (s *served) list(w io.Writer, prefix string) {
	type object struct {
		Key, ETag, LastModified string
		Size                    int
	}
	var answer struct {
		XMLName  xml.Name `xml:"ListBucketResult"`
		Contents []object
	}
	for _, name := range slices.Sorted(maps.Keys(s.files)) {
		if key, inBucket := strings.CutPrefix(name, "bucket/"); inBucket && strings.HasPrefix(key, prefix) {
			text := s.files[name]
			answer.Contents = append(answer.Contents, object{key, tag(text), "2026-01-01T00:00:00Z", len(text)})
		}
	}
	_ = xml.NewEncoder(w).Encode(answer)
}

func (s *served) describe(w io.Writer) {
	text := s.files["datasets/team/set/resolve/c0ffee/train/a.txt"]
	blob := sha1.Sum(fmt.Appendf(nil, "blob %d\x00%s", len(text), text)) //nolint:gosec // see above
	large := s.files["datasets/team/set/resolve/c0ffee/large.bin"]
	fmt.Fprintf(w, `{"sha":"c0ffee","siblings":[{"rfilename":"train/a.txt","size":%d,"blobId":"%x"},
		{"rfilename":"large.bin","size":%d,"blobId":"x","lfs":{"sha256":"%x"}}]}`,
		len(text), blob, len(large), sha256.Sum256([]byte(large)))
}

// variables has the environment of a pod with the right key.
func variables(s *served, more ...string) func(string) string {
	all := map[string]string{
		"ENDPOINT": s.URL, "HF_ENDPOINT": s.URL, "ACCESS_KEY_ID": "right", "SECRET_ACCESS_KEY": "key", "REGION": "us-east-1",
	}
	for i := 0; i < len(more); i += 2 {
		all[more[i]] = more[i+1]
	}
	return func(name string) string { return all[name] }
}

// get fetches for a job and returns what it finds.
func get(t *testing.T, root, uri, job string, variable func(string) string) (map[string]string, mpi.FetchReport, error) {
	t.Helper()
	source, err := Open(uri, mpi.DatasetInitializer, variable)
	if err != nil {
		return nil, mpi.FetchReport{}, err
	}
	link := mpi.DataPath(job, mpi.DatasetInitializer)
	store := Store{Root: root, Print: t.Logf, Patience: 6 * time.Second}
	report, err := store.Fetch(t.Context(), source, uri, variable("ENDPOINT"), link)
	if err != nil {
		return nil, report, err
	}
	return read(t, filepath.Join(root, link)), report, nil
}

func read(t *testing.T, folder string) map[string]string {
	t.Helper()
	real, err := filepath.EvalSymlinks(folder)
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]string{}
	err = filepath.WalkDir(real, func(path string, entry os.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		text, err := os.ReadFile(path) //nolint:gosec // a test's
		name, _ := filepath.Rel(real, path)
		found[filepath.ToSlash(name)] = string(text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

var bucketFiles = map[string]string{
	"bucket/set/a.txt": "first", "bucket/set/deep/b.txt": "second",
	"bucket/settings": "not below it", "bucket/set/c.tmp": "left out",
}

func TestDataOfABucketIsFetchedOnceForAllJobs(t *testing.T) {
	s, root := serve(t, maps.Clone(bucketFiles)), t.TempDir()
	variable := variables(s, "IGNORE_PATTERNS", "*.tmp")
	want := map[string]string{"a.txt": "first", "deep/b.txt": "second"}
	got, report, err := get(t, root, "s3://bucket/set", "one", variable)
	if err != nil || !maps.Equal(got, want) || report.Cached || report.Files != 2 || report.Bytes != 11 {
		t.Fatalf("got %v, %+v, %v", got, report, err)
	}
	got, again, err := get(t, root, "s3://bucket/set", "two", variable)
	if err != nil || !maps.Equal(got, want) || !again.Cached || again.Digest != report.Digest || s.gets.Load() != 2 {
		t.Errorf("the second job has %v, %+v, %v after %d reads", got, again, err, s.gets.Load())
	}
	s.files["bucket/set/a.txt"] = "fresh"
	got, _, err = get(t, root, "s3://bucket/set", "three", variable)
	if err != nil || got["a.txt"] != "fresh" {
		t.Errorf("another version is other data: %v, %v", got, err)
	}
	if old := read(t, filepath.Join(root, mpi.DataPath("one", mpi.DatasetInitializer))); old["a.txt"] != "first" {
		t.Errorf("the data of a job has changed under it: %v", old)
	}
}

func TestOtherSources(t *testing.T) {
	s := serve(t, map[string]string{
		"datasets/team/set/resolve/c0ffee/train/a.txt": "text", "datasets/team/set/resolve/c0ffee/large.bin": "weights",
		"files/data.csv": "1,2", "bucket/one": "object", "bucket/two": "untagged",
	})
	sum := sha256.Sum256([]byte("1,2"))
	for uri, want := range map[string]map[string]string{
		"hf://team/set":           {"train/a.txt": "text", "large.bin": "weights"},
		s.URL + "/files/data.csv": {"data.csv": "1,2"},
		s.URL + "/files/data.csv#sha256=" + hex.EncodeToString(sum[:]): {"data.csv": "1,2"},
		"s3://bucket/one": {"one": "object"},
		"s3://bucket/two": {"two": "untagged"},
	} {
		got, _, err := get(t, t.TempDir(), uri, "job", variables(s))
		if err != nil || !maps.Equal(got, want) {
			t.Errorf("%s: got %v, %v", uri, got, err)
		}
	}
}

func TestWhyDataDoesNotCome(t *testing.T) {
	s := serve(t, maps.Clone(bucketFiles))
	s.files["files/data.csv"], s.files["bucket/bad/../../x"] = "1,2", "escapes"
	status := func(code int) func(http.ResponseWriter, *http.Request) bool {
		return func(w http.ResponseWriter, _ *http.Request) bool {
			w.WriteHeader(code)
			return true
		}
	}
	for name, tc := range map[string]struct {
		uri      string
		variable func(string) string
		trouble  func(http.ResponseWriter, *http.Request) bool
		want     mpi.Reason
		final    bool
	}{
		"a wrong key": {
			"s3://bucket/set", variables(s, "ACCESS_KEY_ID", "wrong"), nil, diagnose.DataDenied, true,
		},
		"no such bucket":        {"s3://other/set", variables(s), nil, diagnose.DataNotFound, true},
		"nothing below":         {"s3://bucket/nothing", variables(s), nil, diagnose.DataNotFound, true},
		"a name that leads out": {"s3://bucket/bad", variables(s), nil, diagnose.DataCorrupt, true},
		"no such page":          {s.URL + "/files/none", variables(s), nil, diagnose.DataNotFound, true},
		"another checksum": {
			s.URL + "/files/data.csv#sha256=00", variables(s), nil, diagnose.DataCorrupt, true,
		},
		"gone since": {
			"s3://bucket/set", variables(s), status(http.StatusNotFound), diagnose.DataNotFound, true,
		},
		"busy": {
			"s3://bucket/set", variables(s), status(http.StatusServiceUnavailable), diagnose.DataUnavailable,
			false,
		},
		"a role": {
			"s3://bucket/set", variables(s, "ROLE_ARN", "arn"), nil, diagnose.DataDenied, true,
		},
		"an unknown scheme": {"gs://bucket/set", variables(s), nil, diagnose.InitializerUnsupported, true},
		"a bad certificate": {
			"s3://bucket/set", variables(s, "CA_CERTIFICATE", "none"), nil, diagnose.DataDenied, true,
		},
		"no server": {
			"s3://bucket/set", variables(s, "ENDPOINT", "http://127.0.0.1:1"), nil, diagnose.DataUnavailable,
			false,
		},
	} {
		t.Run(name, func(t *testing.T) {
			s.trouble = tc.trouble
			root := t.TempDir()
			_, _, err := get(t, root, tc.uri, "job", tc.variable)
			var failure *Failure
			if !errors.As(err, &failure) || failure.Reason != tc.want || failure.Final != tc.final || failure.Message == "" {
				t.Errorf("want %s (final: %v), got %+v", tc.want, tc.final, err)
			}
			if _, err := os.Stat(filepath.Join(root, mpi.DataPath("job", mpi.DatasetInitializer))); err == nil {
				t.Error("a job would find data")
			}
		})
	}
}

// A server that breaks connections and is busy at times costs time, and no byte is lost or doubled.
func TestInterruptions(t *testing.T) {
	large := strings.Repeat("0123456789abcdef", 1<<16)
	s, root := serve(t, map[string]string{"bucket/set/large": large, "bucket/set/small": "s"}), t.TempDir()
	var asked atomic.Int32
	s.trouble = func(w http.ResponseWriter, r *http.Request) bool {
		if !strings.HasSuffix(r.URL.Path, "large") {
			return false
		}
		switch asked.Add(1) {
		case 1:
			w.Header().Set("ETag", tag(large))
			w.Header().Set("Last-Modified", "Mon, 05 Jan 2026 00:00:00 GMT")
			w.Header().Set("Content-Length", fmt.Sprint(len(large)))
			_, _ = io.WriteString(w, large[:len(large)/2])
			panic(http.ErrAbortHandler)
		case 2:
			w.WriteHeader(http.StatusServiceUnavailable)
			return true
		}
		if r.Header.Get("Range") == "" {
			t.Error("the first half is fetched again")
		}
		return false
	}
	got, _, err := get(t, root, "s3://bucket/set", "job", variables(s))
	if err != nil || got["large"] != large || got["small"] != "s" {
		t.Fatalf("%d bytes, %v", len(got["large"]), err)
	}
}

// A fetcher that is killed leaves what its successor goes on with, and nothing that a job could take for whole.
func TestAKilledFetcher(t *testing.T) {
	s, root := serve(t, map[string]string{"bucket/set/a": "whole", "bucket/set/b": "never comes"}), t.TempDir()
	ctx, kill := context.WithCancel(t.Context())
	s.trouble = func(_ http.ResponseWriter, r *http.Request) bool {
		if strings.HasSuffix(r.URL.Path, "/b") {
			for s.gets.Load() == 0 || !journalHas(root, `"a"`) {
				time.Sleep(time.Millisecond)
			}
			kill()
			return true
		}
		return false
	}
	source, err := Open("s3://bucket/set", mpi.DatasetInitializer, variables(s))
	if err != nil {
		t.Fatal(err)
	}
	store := Store{Root: root, Print: t.Logf, Patience: time.Second}
	if _, err := store.Fetch(ctx, source, "s3://bucket/set", s.URL, "jobs/x/d"); err == nil {
		t.Fatal("it was killed")
	}
	if sets, _ := filepath.Glob(filepath.Join(root, "sets", "*")); len(sets) > 0 {
		t.Errorf("half a set is there: %v", sets)
	}
	s.trouble = nil
	got, report, err := get(t, root, "s3://bucket/set", "next", variables(s))
	if err != nil || got["a"] != "whole" || got["b"] != "never comes" || report.Cached {
		t.Errorf("got %v, %+v, %v", got, report, err)
	}
	if s.gets.Load() != 2 {
		t.Errorf("%d reads: what was whole is fetched again", s.gets.Load())
	}
}

func journalHas(root, text string) bool {
	found, _ := filepath.Glob(filepath.Join(root, "staging", "*", journalFile))
	for _, path := range found {
		lines, err := os.ReadFile(path) //nolint:gosec // a test's
		if err == nil && strings.Contains(string(lines), text) {
			return true
		}
	}
	return false
}

// Two jobs that begin at once fetch once.
func TestTogether(t *testing.T) {
	s, root := serve(t, maps.Clone(bucketFiles)), t.TempDir()
	done := make(chan error)
	for i := range 2 {
		go func() {
			_, _, err := get(t, root, "s3://bucket/set", fmt.Sprint(i), variables(s))
			done <- err
		}()
	}
	for range 2 {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
	if s.gets.Load() != 3 {
		t.Errorf("%d reads of 3 files", s.gets.Load())
	}
}

func TestPatternsAreThoseOfUpstream(t *testing.T) {
	for name, want := range map[string]bool{"config.json": true, "deep/x.safetensors": true, "a.bin": false, "notes.md": false} {
		if keep(name, []string{"*.json", "*.safetensors"}, []string{"*.bin"}) != want {
			t.Errorf("%s: want %v", name, want)
		}
	}
}
