package data

import (
	"context"
	"io"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"

	"lockstep.dev/lockstep/pkg/mpi/diagnose"
)

// bucket is a prefix of a bucket of S3.
type bucket struct {
	client       minio.Core
	name, prefix string
	ignored      []string
}

// openBucket reads the variables of upstream's initializer (pkg/initializers/types), or AWS's.
func openBucket(at *url.URL, transport http.RoundTripper, variable func(string) string) (bucket, error) {
	if variable("ROLE_ARN") != "" {
		return bucket{}, final(diagnose.DataDenied, "ROLE_ARN is not supported: give ACCESS_KEY_ID and SECRET_ACCESS_KEY")
	}
	endpoint, secure := "s3.amazonaws.com", true
	if written := first(variable, "ENDPOINT", "AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL"); written != "" {
		parsed, err := url.Parse(written)
		if err != nil || parsed.Host == "" {
			return bucket{}, final(diagnose.DataNotFound, "ENDPOINT is `%s`: want a URL such as https://s3.example.com", written)
		}
		endpoint, secure = parsed.Host, parsed.Scheme != "http"
	}
	id := first(variable, "ACCESS_KEY_ID", "AWS_ACCESS_KEY_ID")
	key := first(variable, "SECRET_ACCESS_KEY", "AWS_SECRET_ACCESS_KEY")
	client, err := minio.NewCore(endpoint, &minio.Options{
		// Without a key nothing is signed, as public buckets want it.
		Creds:  credentials.NewStaticV4(id, key, first(variable, "SESSION_TOKEN", "AWS_SESSION_TOKEN")),
		Secure: secure, Transport: transport, Region: first(variable, "REGION", "AWS_REGION"),
		MaxRetries: 1, // patiently tries again, and looks at the answer first
	})
	if err != nil {
		return bucket{}, final(diagnose.DataNotFound, "ENDPOINT %s: %s", endpoint, err)
	}
	return bucket{*client, at.Host, strings.TrimPrefix(at.Path, "/"), patterns(variable("IGNORE_PATTERNS"))}, nil
}

// untagged begins the version of an object without an ETag.
const untagged = "modified "

// List has the object of the name, or all below it as a folder.
func (b bucket) List(ctx context.Context) ([]File, error) {
	var files []File
	folder := strings.TrimSuffix(b.prefix, "/") + "/"
	if b.prefix == "" {
		folder = ""
	}
	options := minio.ListObjectsOptions{Prefix: b.prefix, Recursive: true}
	for object := range b.client.Client.ListObjects(ctx, b.name, options) {
		if object.Err != nil {
			return nil, b.failure("s3://"+b.name+"/"+b.prefix, object.Err)
		}
		name, below := strings.CutPrefix(object.Key, folder)
		if object.Key == b.prefix {
			name, below = path.Base(object.Key), true
		}
		if !below || strings.HasSuffix(object.Key, "/") || !keep(name, nil, b.ignored) {
			continue
		}
		version := strings.Trim(object.ETag, `"`)
		if version == "" { // as of files that were put beside the store
			version = untagged + object.LastModified.UTC().Format(time.RFC3339Nano)
		}
		files = append(files, File{Name: name, Size: object.Size, Version: version, address: object.Key})
	}
	return files, nil
}

// Open checks by the ETag that the object is still the listed one.
func (b bucket) Open(ctx context.Context, file File, offset int64) (io.ReadCloser, error) {
	options := minio.GetObjectOptions{}
	if !strings.HasPrefix(file.Version, untagged) {
		if err := options.SetMatchETag(file.Version); err != nil {
			return nil, err
		}
	}
	if offset > 0 {
		if err := options.SetRange(offset, 0); err != nil {
			return nil, err
		}
	}
	body, _, _, err := b.client.GetObject(ctx, b.name, file.address, options)
	if err != nil {
		return nil, b.failure("s3://"+b.name+"/"+file.address, err)
	}
	return body, nil
}

func (b bucket) failure(what string, err error) error {
	answer := minio.ToErrorResponse(err)
	if answer.StatusCode == 0 || answer.Code == "" {
		return err // it did not come from the store
	}
	f := statusFailure(answer.StatusCode, what, strings.TrimSuffix(answer.Code+": "+answer.Message, ": "))
	// Some stores answer 404 to an unknown key.
	if slices.Contains([]string{"InvalidAccessKeyId", "SignatureDoesNotMatch", "XAdminUserNotFound"}, answer.Code) {
		f.Reason, f.Final = diagnose.DataDenied, true
	}
	return f
}
