package data

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"path"
	"strings"

	"lockstep.dev/lockstep/pkg/mpi"
	"lockstep.dev/lockstep/pkg/mpi/diagnose"
)

// website asks servers of HTTP.
type website struct {
	client *http.Client
	token  string
}

// ask returns an answer that is not an error. The body is the caller's to close.
func (w website) ask(ctx context.Context, method, address, version string, offset int64) (*http.Response, error) {
	request, err := http.NewRequestWithContext(ctx, method, address, http.NoBody)
	if err != nil {
		return nil, final(diagnose.DataNotFound, "`%s`: %s", address, err)
	}
	if w.token != "" {
		request.Header.Set("Authorization", "Bearer "+w.token)
	}
	// Compressed on the way, it would have another length.
	request.Header.Set("Accept-Encoding", "identity")
	if offset > 0 {
		request.Header.Set("Range", fmt.Sprintf("bytes=%d-", offset))
	}
	if strings.HasPrefix(version, `"`) {
		request.Header.Set("If-Match", version)
	}
	answer, err := w.client.Do(request)
	if err != nil {
		return nil, err
	}
	if answer.StatusCode >= http.StatusBadRequest {
		_ = answer.Body.Close() // the status decides
		return nil, statusFailure(answer.StatusCode, address, "")
	}
	if offset > 0 && answer.StatusCode != http.StatusPartialContent {
		_ = answer.Body.Close()
		return nil, errNoRanges
	}
	return answer, nil
}

// errNoRanges: a server sends files only from their beginning.
var errNoRanges = &Failure{Reason: diagnose.DataUnavailable, Message: "the server sends no part of a file"}

func (w website) Open(ctx context.Context, file File, offset int64) (io.ReadCloser, error) {
	answer, err := w.ask(ctx, http.MethodGet, file.address, file.Version, offset)
	if err != nil {
		return nil, err
	}
	return answer.Body, nil
}

// page is one file at an address. Its fragment may be `sha256=` and the checksum of the file.
type page struct {
	website
	at url.URL
}

// List asks for the size and the version.
func (p page) List(ctx context.Context) ([]File, error) {
	plain := p.at
	plain.Fragment = ""
	answer, err := p.ask(ctx, http.MethodHead, plain.String(), "", 0)
	if err != nil {
		return nil, err
	}
	_ = answer.Body.Close() // an answer to HEAD has none
	name := path.Base(plain.Path)
	if name == "/" || name == "." {
		name = "index"
	}
	file := File{
		Name: name, Size: answer.ContentLength, address: plain.String(),
		Version: cmp.Or(answer.Header.Get("ETag"), answer.Header.Get("Last-Modified")),
	}
	if sum, given := strings.CutPrefix(p.at.Fragment, "sha256="); given {
		file.Sum, file.Hash, file.Version = strings.ToLower(sum), hashSHA256, cmp.Or(file.Version, sum)
	}
	return []File{file}, nil
}

// hub is a repository of Hugging Face: hf://OWNER/NAME, with @REVISION for another one than main.
type hub struct {
	website
	endpoint, kind, name, revision string
	only, ignored                  []string
}

func newHub(at *url.URL, step string, web website, variable func(string) string) hub {
	name, revision, _ := strings.Cut(strings.Trim(at.Host+at.Path, "/"), "@")
	h := hub{
		website: web, kind: "datasets", name: name, revision: cmp.Or(revision, "main"),
		endpoint: strings.TrimSuffix(cmp.Or(variable("HF_ENDPOINT"), "https://huggingface.co"), "/"),
		ignored:  patterns(variable("IGNORE_PATTERNS")),
	}
	if step == mpi.ModelInitializer {
		// The files that upstream takes of a model.
		h.kind, h.only = "models", []string{"*.json", "*.safetensors", "*.model", "*.txt"}
		h.ignored = patterns(variable("IGNORE_PATTERNS"), "*.msgpack", "*.h5", "*.bin", "*.pt", "*.pth")
	}
	return h
}

// List has the files of one commit, which a branch that moves on does not change.
func (h hub) List(ctx context.Context) ([]File, error) {
	address := fmt.Sprintf("%s/api/%s/%s/revision/%s?blobs=true", h.endpoint, h.kind, h.name, url.PathEscape(h.revision))
	answer, err := h.ask(ctx, http.MethodGet, address, "", 0)
	if err != nil {
		return nil, err
	}
	defer func() { _ = answer.Body.Close() }()
	var repository struct {
		Commit string `json:"sha"`
		Files  []struct {
			Name string `json:"rfilename"`
			Size int64  `json:"size"`
			Blob string `json:"blobId"`
			LFS  *struct {
				SHA256 string `json:"sha256"`
			} `json:"lfs"`
		} `json:"siblings"`
	}
	if err := json.NewDecoder(answer.Body).Decode(&repository); err != nil {
		return nil, fmt.Errorf("read %s: %w", address, err)
	}
	below := h.name
	if h.kind == "datasets" {
		below = "datasets/" + h.name
	}
	var files []File
	for _, f := range repository.Files {
		if !keep(f.Name, h.only, h.ignored) {
			continue
		}
		file := File{Name: f.Name, Size: f.Size, Version: f.Blob, Sum: f.Blob, Hash: hashGit}
		if f.LFS != nil {
			file.Version, file.Sum, file.Hash = f.LFS.SHA256, f.LFS.SHA256, hashSHA256
		}
		name := (&url.URL{Path: f.Name}).EscapedPath()
		file.address = fmt.Sprintf("%s/%s/resolve/%s/%s", h.endpoint, below, repository.Commit, name)
		files = append(files, file)
	}
	return files, nil
}
