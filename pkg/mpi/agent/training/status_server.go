package training

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"lockstep.dev/lockstep/pkg/mpi"
	"lockstep.dev/lockstep/pkg/mpi/agent/state"
	"lockstep.dev/lockstep/pkg/mpi/selfsigned"
)

// The variables by which Kubeflow Trainer shows programs where to post their progress (its package trainjobstatus): an
// HTTPS URL, and the files with the authority behind its certificate and with the token of the request.
const (
	serverURLVariable   = "KUBEFLOW_TRAINER_SERVER_URL"
	serverCAVariable    = "KUBEFLOW_TRAINER_SERVER_CA_CERT"
	serverTokenVariable = "KUBEFLOW_TRAINER_SERVER_TOKEN"
)

const (
	// maxPost is how many bytes a post may have, as at Trainer's server.
	maxPost  = 64 << 10
	loopback = "127.0.0.1"
	// postLimit is how long a request may take.
	postLimit = 10 * time.Second
	// certificateLife is longer than any job.
	certificateLife = 10 * 365 * 24 * time.Hour
)

// Take takes in the post of a program. An error refuses it.
type Take func(context.Context, mpi.TrainingProgress) error

// Serve takes posts on the loopback interface as Kubeflow Trainer's status server does, until the context ends. It
// returns the variables by which programs find it. The files that these name are in the folder, which programs of the
// pod can read. If the environment already names a server, Serve starts none and returns nothing.
func Serve(ctx context.Context, environment []string, folder string, log *log.Logger, take Take) ([]string, error) {
	for _, variable := range environment {
		if strings.HasPrefix(variable, serverURLVariable+"=") {
			return nil, nil
		}
	}
	authority, key, err := selfsigned.New(loopback, time.Now(), certificateLife)
	if err != nil {
		return nil, fmt.Errorf("serve progress: %w", err)
	}
	pair, err := tls.X509KeyPair(authority, key)
	if err != nil {
		return nil, fmt.Errorf("serve progress: %w", err)
	}
	handler := &statusHandler{token: rand.Text(), take: take}
	authorityFile, tokenFile := filepath.Join(folder, "progress-ca.crt"), filepath.Join(folder, "progress-token")
	for file, text := range map[string][]byte{authorityFile: authority, tokenFile: []byte(handler.token)} {
		if err := state.ReplaceFile(file, text, 0o444); err != nil {
			return nil, fmt.Errorf("serve progress: %w", err)
		}
	}
	listener, err := net.Listen("tcp", net.JoinHostPort(loopback, strconv.Itoa(mpi.TrainingPort)))
	if err != nil { // a program of the image has the port
		listener, err = net.Listen("tcp", net.JoinHostPort(loopback, "0"))
	}
	if err != nil {
		return nil, fmt.Errorf("serve progress: %w", err)
	}
	server := &http.Server{
		Handler: handler, ErrorLog: log, ReadTimeout: postLimit, WriteTimeout: postLimit,
		TLSConfig: &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12},
	}
	context.AfterFunc(ctx, func() { server.Close() })
	go server.ServeTLS(listener, "", "") //nolint:errcheck // it ends with the context
	return []string{
		serverURLVariable + "=https://" + listener.Addr().String() + "/status",
		serverCAVariable + "=" + authorityFile, serverTokenVariable + "=" + tokenFile,
	}, nil
}

// statusHandler takes posts as Kubeflow Trainer's status server does (its package statusserver).
type statusHandler struct {
	token string
	take  Take
}

func (h *statusHandler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	token, _ := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	body, tooLarge := io.ReadAll(http.MaxBytesReader(w, r.Body, maxPost))
	p, invalid := parsePost(body)
	switch {
	case r.Method != http.MethodPost:
		http.Error(w, "only POST is served", http.StatusMethodNotAllowed)
	case subtle.ConstantTimeCompare([]byte(token), []byte(h.token)) != 1:
		http.Error(w, "the token differs from the file of "+serverTokenVariable, http.StatusForbidden)
	case tooLarge != nil:
		http.Error(w, "the body is larger than 64 KiB", http.StatusRequestEntityTooLarge)
	case invalid != nil:
		http.Error(w, invalid.Error(), http.StatusUnprocessableEntity)
	default:
		if err := h.take(r.Context(), p); err != nil {
			http.Error(w, err.Error(), http.StatusBadGateway)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write(body) // Trainer's server answers so; a client that has gone does not need it
	}
}

// parsePost reads the body of a post. Metrics come as texts; those without a number are left out.
func parsePost(body []byte) (p mpi.TrainingProgress, err error) {
	var posted struct {
		TrainerStatus struct {
			ProgressPercentage, EstimatedRemainingSeconds *int32
			Metrics                                       []struct{ Name, Value string }
		}
	}
	if err := json.Unmarshal(body, &posted); err != nil {
		return p, fmt.Errorf("decode the progress: %w", err)
	}
	status := posted.TrainerStatus
	p.Percent, p.RemainingSeconds = status.ProgressPercentage, status.EstimatedRemainingSeconds
	for _, m := range status.Metrics {
		if number, finite := parseNumber(m.Value); finite {
			p.Metrics = append(p.Metrics, mpi.TrainingMetric{Name: m.Name, Value: number})
		}
	}
	return p.WithinBounds(), nil
}
