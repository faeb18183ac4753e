package dashboard

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"net/http"
	"strings"

	"k8s.io/client-go/rest"
)

// Gate is the way in through a cluster: a proxy in front logs users in, and puts the token of each into a header.
type Gate struct {
	// Hosts are the names of the page in browsers, which reach it by HTTPS.
	Hosts []string
	// Header has the token of the user, with or without `Bearer `.
	Header string
	// Cluster reaches the API server. Credentials in it are not used.
	Cluster *rest.Config
	// Prometheus is asked for curves.
	Prometheus Prometheus
}

// errNoToken is the answer to a request without a token.
var errNoToken = errors.New("the request has no token of a user")

// Serve returns the page for many users.
func (g Gate) Serve(ctx context.Context, version string, limits Limits) http.Handler {
	own := site{scheme: "https", hosts: g.Hosts}
	inner := New(ctx, version, g.user, limits)
	inner.Prometheus = g.Prometheus
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if own.refuse(w, r) {
			return
		}
		if _, err := g.user(r); err != nil {
			f := failureOf(err)
			writeError(w, f.Code, f.Reason, f.Message, f.Remedy)
			return
		}
		inner.ServeHTTP(w, r)
	})
}

// user returns the sender of a request. A second token would leave open which of them the proxy has set.
func (g Gate) user(r *http.Request) (User, error) {
	values := r.Header.Values(g.Header)
	if len(values) != 1 {
		return User{}, errNoToken
	}
	token := strings.TrimSpace(values[0])
	if scheme, rest, found := strings.Cut(token, " "); found && strings.EqualFold(scheme, "Bearer") {
		token = strings.TrimSpace(rest)
	}
	if token == "" || strings.EqualFold(token, "Bearer") {
		return User{}, errNoToken
	}
	config := rest.AnonymousClientConfig(g.Cluster)
	config.BearerToken = token
	key := sha256.Sum256([]byte(token))
	return User{Key: hex.EncodeToString(key[:]), Config: config}, nil
}
