package dashboard

import (
	"net/http"
	"slices"
	"strings"
)

// site is where browsers reach the page.
type site struct {
	scheme string
	// hosts are the names that the server answers to, with their ports if these are not the usual ones.
	hosts []string
}

// refuse answers a request to another name, and a request that a page of another site may have sent. It reports whether
// it did.
func (s site) refuse(w http.ResponseWriter, r *http.Request) bool {
	protect(w.Header())
	switch {
	case !slices.Contains(s.hosts, r.Host):
		message := "this server answers as " + strings.Join(s.hosts, " and ") + " only"
		writeError(w, http.StatusMisdirectedRequest, "WrongHost", message, "")
	case s.isForeign(r):
		writeError(w, http.StatusForbidden, "WrongOrigin", "another site asked for this", "")
	default:
		return false
	}
	return true
}

// isForeign reports whether a page of another site sent a request. Following a link to the page is allowed.
func (s site) isForeign(r *http.Request) bool {
	if origin := r.Header.Get("Origin"); origin != "" && origin != s.scheme+"://"+r.Host {
		return true
	}
	switch r.Header.Get("Sec-Fetch-Site") {
	case "", "same-origin", "none":
		return false
	}
	return r.Header.Get("Sec-Fetch-Mode") != "navigate" || r.Method != http.MethodGet
}
