package metrics

import (
	"crypto/tls"
	"fmt"
	"net/http"
	"time"

	"k8s.io/client-go/rest"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"lockstep.dev/lockstep/pkg/mpi/selfsigned"
)

// metricsCertificateLife is longer than a pod lives.
const metricsCertificateLife = 10 * 365 * 24 * time.Hour

// ServerOptions serve metrics by HTTPS: tokens come that way. Who reads them cannot know the certificate, which each process makes for
// itself: it hides what is said from those who listen, and proves nothing.
func ServerOptions(address, namespace string, authenticate bool, now func() time.Time) (metricsserver.Options, error) {
	served := metricsserver.Options{BindAddress: address, SecureServing: true}
	if authenticate {
		served.FilterProvider = func(config *rest.Config, client *http.Client) (metricsserver.Filter, error) {
			known, err := newMetricsReaders(config, client, now)
			if err != nil {
				return nil, err
			}
			return known.filterRequests, nil
		}
	}
	certificate, key, err := selfsigned.New("mpi-controller-metrics."+namespace+".svc", now(),
		metricsCertificateLife)
	if err != nil {
		return served, fmt.Errorf("make the certificate of the metrics: %w", err)
	}
	pair, err := tls.X509KeyPair(certificate, key)
	if err != nil {
		return served, fmt.Errorf("make the certificate of the metrics: %w", err)
	}
	served.TLSOpts = []func(*tls.Config){func(c *tls.Config) {
		c.GetCertificate = func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return &pair, nil }
	}}
	return served, nil
}
