package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// accounts are the accounts of a forge by their tokens.
var accounts = map[string]account{
	"bot-token":    {id: 41898282, kind: "Bot"},
	"person-token": {id: 7, kind: "User"},
	"read-token":   {id: 41898282, kind: "Bot", readOnly: true},
}

type account struct {
	id       int64
	kind     string
	readOnly bool
}

// comment is a comment that the forge keeps.
type comment struct {
	ID     int64
	Author int64
	Body   string
}

// fakeForge is a forge with one pull request, number 12 of acme/platform. GitLab's API is below /gitlab; to gh the
// server is the proxy before GitHub's. It refuses what forges refuse (wrong tokens, tokens that only read,
// repositories that do not exist) and pages as they do.
type fakeForge struct {
	mu       sync.Mutex
	comments []comment
	next     int64
}

// githubAPI is the host of which gh asks GitHub's API if GH_HOST is github.localhost.
const githubAPI = "api.github.localhost"

// addComment adds a comment of an account.
func (f *fakeForge) addComment(author int64, body string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.appendComment(author, body)
}

func (f *fakeForge) appendComment(author int64, body string) comment {
	f.next++
	f.comments = append(f.comments, comment{f.next, author, body})
	return f.comments[len(f.comments)-1]
}

// list returns all comments, the oldest first.
func (f *fakeForge) list() []comment {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.comments)
}

// ServeHTTP implements http.Handler.
func (f *fakeForge) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	defer f.mu.Unlock()
	forge, path := "github", strings.TrimPrefix(r.URL.EscapedPath(), "/")
	if r.Host != githubAPI {
		forge, path, _ = strings.Cut(path, "/")
	}
	token := strings.TrimPrefix(r.Header.Get("Authorization"), "token ")
	collection, item := "repos/acme/platform/issues/12/comments", "repos/acme/platform/issues/comments/"
	if forge == "gitlab" {
		token = r.Header.Get("Private-Token")
		collection = "projects/acme%2Fplatform/merge_requests/12/notes"
		item = collection + "/"
	}
	who, known := accounts[token]
	id, isItem := strings.CutPrefix(path, item)
	switch {
	case !known:
		refuseWith(w, http.StatusUnauthorized, "Bad credentials")
	case path == "graphql" && forge == "github" && r.Method == http.MethodPost:
		writeJSON(w, http.StatusOK, map[string]any{"data": map[string]any{"viewer": map[string]any{"databaseId": who.id}}})
	case path == "user":
		writeJSON(w, http.StatusOK, map[string]any{"id": who.id, "type": who.kind})
	case who.readOnly && r.Method != http.MethodGet:
		refuseWith(w, http.StatusForbidden, "Resource not accessible by integration")
	case path == collection && r.Method == http.MethodGet:
		f.servePage(w, r)
	case path == collection && r.Method == http.MethodPost:
		body, fine := f.readBody(w, r, forge)
		if fine {
			writeJSON(w, http.StatusCreated, commentJSON(f.appendComment(who.id, body)))
		}
	case isItem:
		f.serveComment(w, r, forge, id)
	default:
		refuseWith(w, http.StatusNotFound, "Not Found")
	}
}

// perPage is how much a page has at most, whatever was asked for: small, so that tests see several.
const perPage = 3

func (f *fakeForge) servePage(w http.ResponseWriter, r *http.Request) {
	page, err := strconv.Atoi(r.URL.Query().Get("page"))
	if err != nil {
		page = 1
	}
	from := min((page-1)*perPage, len(f.comments))
	to := min(from+perPage, len(f.comments))
	if to < len(f.comments) {
		w.Header().Set("Link", fmt.Sprintf(`<http://%s%s?page=%d>; rel="next"`, r.Host, r.URL.EscapedPath(), page+1))
	}
	records := []map[string]any{}
	for _, c := range f.comments[from:to] {
		records = append(records, commentJSON(c))
	}
	writeJSON(w, http.StatusOK, records)
}

func (f *fakeForge) serveComment(w http.ResponseWriter, r *http.Request, forge, id string) {
	at := slices.IndexFunc(f.comments, func(c comment) bool { return strconv.FormatInt(c.ID, 10) == id })
	update := map[string]string{"github": http.MethodPatch, "gitlab": http.MethodPut}[forge]
	switch {
	case at < 0:
		refuseWith(w, http.StatusNotFound, "Not Found")
	case r.Method == update:
		body, fine := f.readBody(w, r, forge)
		if fine {
			f.comments[at].Body = body
			writeJSON(w, http.StatusOK, commentJSON(f.comments[at]))
		}
	default:
		refuseWith(w, http.StatusMethodNotAllowed, "Method Not Allowed")
	}
}

// readBody reads a comment, within the forge's limit.
func (f *fakeForge) readBody(w http.ResponseWriter, r *http.Request, forge string) (string, bool) {
	var content struct {
		Body string `json:"body"`
	}
	if forge == "gitlab" {
		content.Body = r.FormValue("body")
	} else if json.NewDecoder(r.Body).Decode(&content) != nil {
		content.Body = ""
	}
	if content.Body == "" {
		refuseWith(w, http.StatusBadRequest, "body is missing")
		return "", false
	}
	if limit := map[string]int{"github": 65_536, "gitlab": 1_000_000}[forge]; len([]rune(content.Body)) > limit {
		refuseWith(w, http.StatusUnprocessableEntity, "Body is too long")
		return "", false
	}
	return content.Body, true
}

func commentJSON(c comment) map[string]any {
	kind := "User"
	for _, a := range accounts {
		if a.id == c.Author {
			kind = a.kind
		}
	}
	who := map[string]any{"id": c.Author, "type": kind}
	return map[string]any{"id": c.ID, "body": c.Body, "user": who, "author": who}
}

func refuseWith(w http.ResponseWriter, status int, message string) {
	writeJSON(w, status, map[string]string{"message": message})
}

func writeJSON(w http.ResponseWriter, status int, content any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(content) // the client is a test
}
