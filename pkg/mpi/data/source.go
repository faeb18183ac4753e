package data

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"path"
	"strings"
	"time"

	"lockstep.dev/lockstep/pkg/mpi"
	"lockstep.dev/lockstep/pkg/mpi/diagnose"
)

// Failure is why data did not come.
type Failure struct {
	Reason  mpi.Reason
	Message string
	// Final failures stay as they are however often they are tried.
	Final bool
	// ofFile marks the failure of one file, which others do not share.
	ofFile bool
}

// Error returns the message for the user.
func (f *Failure) Error() string { return f.Message }

func final(reason mpi.Reason, format string, args ...any) *Failure {
	return &Failure{Reason: reason, Message: fmt.Sprintf(format, args...), Final: true}
}

// File is one file of a source.
type File struct {
	// Name is relative to the folder of the data, with slashes.
	Name string
	// Size is in bytes, -1 if unknown.
	Size int64
	// Version changes with the contents; empty if the source has none.
	Version string
	// Sum is a checksum in hexadecimal that the source gives, made by Hash; both may be empty.
	Sum, Hash string

	address string
}

// Source is where data comes from.
type Source interface {
	// List returns all files, in the order of the source.
	List(ctx context.Context) ([]File, error)
	// Open reads a file from an offset. It fails if the file is no longer of the version that was listed.
	Open(ctx context.Context, file File, offset int64) (io.ReadCloser, error)
}

// The checksums that sources give.
const (
	hashSHA256 = "sha256"
	hashGit    = "git"
)

// Open returns the source of a URI. Credentials and the like are in variables, as upstream's initializers read
// them.
func Open(uri, step string, variable func(string) string) (Source, error) {
	at, err := url.Parse(uri)
	if err != nil {
		return nil, final(diagnose.DataNotFound, "`%s` is not a URI: %s", uri, err)
	}
	client, err := httpClient(variable("CA_CERTIFICATE"))
	if err != nil {
		return nil, err
	}
	web := website{client: client, token: first(variable, "ACCESS_TOKEN", "HF_TOKEN")}
	switch at.Scheme {
	case "s3":
		return openBucket(at, client.Transport, variable)
	case "hf":
		return newHub(at, step, web, variable), nil
	case "https", "http":
		return page{web, *at}, nil
	}
	return nil, final(diagnose.InitializerUnsupported, "`%s`: data comes from s3://, hf://, https:// and pvc://", uri)
}

// stall is how long a source may send nothing.
const stall = time.Minute

func httpClient(authority string) (*http.Client, error) {
	transport := http.DefaultTransport.(*http.Transport).Clone() //nolint:forcetypeassert // it is one
	transport.ResponseHeaderTimeout = stall
	if authority != "" {
		roots, err := x509.SystemCertPool()
		if err != nil {
			roots = x509.NewCertPool()
		}
		if !roots.AppendCertsFromPEM([]byte(authority)) {
			return nil, final(diagnose.DataDenied, "the variable CA_CERTIFICATE has no certificate in PEM form")
		}
		transport.TLSClientConfig = &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}
	}
	return &http.Client{Transport: transport}, nil
}

func first(variable func(string) string, names ...string) string {
	for _, name := range names {
		if value := variable(name); value != "" {
			return value
		}
	}
	return ""
}

// keep reports whether a file is wanted: by upstream's IGNORE_PATTERNS, of which `*` matches slashes too.
func keep(name string, only, ignored []string) bool {
	matches := func(patterns []string) bool {
		for _, pattern := range patterns {
			flat := strings.NewReplacer("/", "\x00")
			if ok, err := path.Match(flat.Replace(strings.TrimSpace(pattern)), flat.Replace(name)); ok && err == nil {
				return true
			}
		}
		return false
	}
	return (len(only) == 0 || matches(only)) && !matches(ignored)
}

func patterns(list string, otherwise ...string) []string {
	if list == "" {
		return otherwise
	}
	return strings.Split(list, ",")
}

// statusFailure explains an answer of HTTP about a file.
func statusFailure(status int, what, words string) *Failure {
	f := &Failure{Message: fmt.Sprintf("%s: HTTP %d %s", what, status, http.StatusText(status)), Final: true}
	if words = strings.TrimSpace(words); words != "" {
		f.Message += " (" + words + ")"
	}
	switch {
	case status == http.StatusUnauthorized, status == http.StatusForbidden:
		f.Reason = diagnose.DataDenied
	case status == http.StatusNotFound, status == http.StatusGone:
		f.Reason = diagnose.DataNotFound
	case status == http.StatusPreconditionFailed:
		f.Reason, f.Final = diagnose.DataCorrupt, false
		f.Message = what + " was replaced while it was fetched"
	case status >= http.StatusInternalServerError,
		status == http.StatusTooManyRequests, status == http.StatusRequestTimeout:
		f.Reason, f.Final = diagnose.DataUnavailable, false
	default:
		f.Reason = diagnose.DataUnavailable
	}
	return f
}

// failureOf is an error as a failure; what the network does is tried again.
func failureOf(err error) *Failure {
	if f := (*Failure)(nil); errors.As(err, &f) {
		return f
	}
	var unknown x509.UnknownAuthorityError
	if errors.As(err, &unknown) {
		return final(diagnose.DataUnavailable,
			"%s: put the certificate of its authority into the Secret, as CA_CERTIFICATE", err)
	}
	return &Failure{Reason: diagnose.DataUnavailable, Message: err.Error()}
}
