package data

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/s3utils"
	"golang.org/x/sync/errgroup"

	jobv1 "lockstep.dev/lockstep/api/job/v1"
	"lockstep.dev/lockstep/pkg/mpi"
	"lockstep.dev/lockstep/pkg/mpi/diagnose"
)

// modified is the metadata of an object with the time of its file in nanoseconds. An object of the same time and size
// is not sent again.
const modified = "Lockstep-Modified"

// largePart is the size above which minio-go sends a file in parts.
const largePart = 16 << 20

// Export copies the regular files of a folder below a prefix of S3, and then their manifest. It leaves out links, which
// could lead out of the folder, and objects of an earlier attempt.
type Export struct {
	// Root is the folder, To the prefix, s3://BUCKET/PREFIX.
	Root, To string
	// Print takes a line about progress, Patience is how long a bucket that takes nothing is tried.
	Print    func(format string, args ...any)
	Patience time.Duration
}

// Run copies everything. Credentials are in variables.
func (e Export) Run(
	ctx context.Context, manifest jobv1.Manifest, variable func(string) string,
) (mpi.FetchReport, error) {
	to, err := openDestination(e.To, variable)
	if err != nil {
		return mpi.FetchReport{}, err
	}
	root, err := os.OpenRoot(e.Root)
	if err != nil {
		return mpi.FetchReport{}, folderFailure(err)
	}
	defer func() { _ = root.Close() }()
	files, err := e.list(root)
	if err != nil {
		return mpi.FetchReport{}, err
	}
	s := Store{Print: e.Print, Patience: e.Patience}
	group, copying := errgroup.WithContext(ctx)
	group.SetLimit(parallel)
	var left leftBehind
	for i := range files {
		group.Go(func() error { return left.note(to.copyFile(copying, s, root, &files[i])) })
	}
	if err := cmp.Or(group.Wait(), left.failure()); err != nil {
		return mpi.FetchReport{}, err
	}
	manifest.Files = files
	report, err := to.finish(ctx, s, manifest)
	if err != nil {
		return report, err
	}
	if err := sendLineage(ctx, manifest, report, e.To, variable); err != nil {
		e.Print("the event of OpenLineage was not sent, and the copy is whole: %s", err)
	}
	return report, nil
}

// leftBehind are the failures of single files, which keep no other file from being copied.
type leftBehind struct {
	mu       sync.Mutex
	failures []*Failure
}

// note keeps the failure of one file, and returns any other.
func (l *leftBehind) note(err error) error {
	failure := (*Failure)(nil)
	if !errors.As(err, &failure) || !failure.ofFile {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.failures = append(l.failures, failure)
	return nil
}

// failure is the failure of the copy, nil if no file was left behind.
func (l *leftBehind) failure() error {
	switch n := len(l.failures); n {
	case 0:
		return nil
	case 1:
		return l.failures[0]
	default:
		return final(l.failures[0].Reason, "%d files were not copied; one of them: %s", n, l.failures[0].Message)
	}
}

// list names the regular files of a folder.
func (e Export) list(root *os.Root) ([]jobv1.File, error) {
	var files []jobv1.File
	err := fs.WalkDir(root.FS(), ".", func(name string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return folderFailure(err)
		case entry.IsDir():
			return nil
		case !entry.Type().IsRegular():
			e.Print("%s is no regular file, and left out", name)
			return nil
		case name == jobv1.ManifestName:
			return final(diagnose.DataCorrupt, "`%s` in the folder has the name of the manifest: give it another", name)
		}
		files = append(files, jobv1.File{Name: name})
		return nil
	})
	slices.SortFunc(files, func(a, b jobv1.File) int { return cmp.Compare(a.Name, b.Name) })
	return files, err
}

func openDestination(uri string, variable func(string) string) (bucket, error) {
	at, err := url.Parse(uri)
	if err != nil || at.Scheme != "s3" {
		return bucket{}, final(diagnose.DataNotFound, "`%s`: artifacts are copied to s3://BUCKET/PREFIX", uri)
	}
	client, err := httpClient(variable("CA_CERTIFICATE"))
	if err != nil {
		return bucket{}, err
	}
	return openBucket(at, client.Transport, variable)
}

// copyFile sends a file, unless it is there, and adds its size and checksum.
func (b bucket) copyFile(ctx context.Context, s Store, root *os.Root, f *jobv1.File) error {
	return s.patiently(ctx, func() (bool, error) {
		sending, summing := errgroup.Group{}, sha256.New()
		key := path.Join(b.prefix, f.Name)
		if err := s3utils.CheckValidObjectName(key); err != nil {
			return false, fileFailure(diagnose.DataCorrupt, f.Name, err)
		}
		file, err := root.Open(f.Name)
		if errors.Is(err, fs.ErrPermission) || errors.Is(err, fs.ErrNotExist) {
			return false, fileFailure(diagnose.DataVolumeFailed, f.Name, err)
		}
		if err != nil {
			return false, folderFailure(err)
		}
		defer func() { _ = file.Close() }()
		info, err := file.Stat()
		if err != nil || !info.Mode().IsRegular() {
			return false, folderFailure(cmp.Or(err, fs.ErrInvalid))
		}
		f.Size = info.Size()
		sending.Go(func() error { return b.send(ctx, f.Name, file, f.Size, info.ModTime()) })
		_, err = io.Copy(summing, io.NewSectionReader(file, 0, f.Size))
		if sent := sending.Wait(); sent != nil {
			return false, sent
		}
		f.SHA256 = hex.EncodeToString(summing.Sum(nil))
		return false, folderFailure(err)
	})
}

// send uploads a file, unless an object of its size and time is there.
func (b bucket) send(ctx context.Context, name string, file *os.File, size int64, at time.Time) error {
	key, stamp := path.Join(b.prefix, name), strconv.FormatInt(at.UnixNano(), 10)
	there, err := b.client.StatObject(ctx, b.name, key, minio.StatObjectOptions{})
	if err == nil && there.Size == size && there.UserMetadata[modified] == stamp {
		return nil
	}
	what := "s3://" + b.name + "/" + key
	missing := minio.ToErrorResponse(err).StatusCode == http.StatusNotFound
	if err != nil && !missing {
		return b.failure(what, err)
	}
	if size > largePart {
		// What a killed attempt has left costs money. Without the right to look, it stays.
		_ = b.client.RemoveIncompleteUpload(ctx, b.name, key)
	}
	_, err = b.client.Client.PutObject(ctx, b.name, key, io.NewSectionReader(file, 0, size), size,
		minio.PutObjectOptions{UserMetadata: map[string]string{modified: stamp}, ContentType: "application/octet-stream"})
	if err != nil {
		return b.failure(what, err)
	}
	return nil
}

// finish sends the manifest, with which the copy is whole.
func (b bucket) finish(ctx context.Context, s Store, manifest jobv1.Manifest) (mpi.FetchReport, error) {
	text, err := json.MarshalIndent(manifest, "", "  ")
	if err != nil {
		return mpi.FetchReport{}, err
	}
	key := path.Join(b.prefix, jobv1.ManifestName)
	err = s.patiently(ctx, func() (bool, error) {
		_, err := b.client.Client.PutObject(ctx, b.name, key, bytes.NewReader(text), int64(len(text)),
			minio.PutObjectOptions{ContentType: "application/json"})
		if err != nil {
			return false, b.failure("s3://"+b.name+"/"+key, err)
		}
		return false, nil
	})
	sum := sha256.Sum256(text)
	report := mpi.FetchReport{Files: len(manifest.Files), Digest: hex.EncodeToString(sum[:])}
	for _, f := range manifest.Files {
		report.Bytes += f.Size
	}
	return report, err
}

// fileFailure is an error of one file, which no other attempt mends.
func fileFailure(reason mpi.Reason, name string, err error) *Failure {
	return &Failure{Reason: reason, Message: fmt.Sprintf("file %q: %s", name, err), Final: true, ofFile: true}
}

// folderFailure is an error of the folder of artifacts.
func folderFailure(err error) error {
	if err == nil {
		return nil
	}
	return &Failure{Reason: diagnose.DataVolumeFailed, Message: fmt.Sprintf("a folder for artifacts: %s",
		strings.TrimSpace(err.Error()))}
}
