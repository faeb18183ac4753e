package prometheus

import (
	"fmt"
	"strings"
	"time"
)

// Config is what a Prometheus is to do. It scrapes itself too, as the job prometheus.
type Config struct {
	// Interval is how often it scrapes, and evaluates its rules.
	Interval time.Duration
	// Rules are files with rules, by a pattern of absolute paths.
	Rules string
	// Alertmanager is the address of one that is told of alerts, or nothing.
	Alertmanager string
	// Controller is the address of the metrics of mpi-controller, or nothing, and TLS whether it is asked by TLS.
	Controller string
	TLS        bool
	// Enforced is the namespace that each series gets in place of the job's, as in OpenShift's monitoring of users'
	// projects, or nothing. The job's is then exported_namespace.
	Enforced string
}

// text is the configuration file of a Prometheus with an address.
func (c Config) text(address string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "global: {scrape_interval: %[1]s, evaluation_interval: %[1]s}\nrule_files: [%[2]q]\n", c.Interval, c.Rules)
	if c.Alertmanager != "" {
		fmt.Fprintf(&b, "alerting: {alertmanagers: [{static_configs: [{targets: [%q]}]}]}\n", c.Alertmanager)
	}
	fmt.Fprintf(&b, "scrape_configs:\n- {job_name: prometheus, static_configs: [{targets: [%q]}]}\n", address)
	if c.Controller != "" {
		scheme := "http"
		if c.TLS {
			scheme = "https"
		}
		labels := ""
		if c.Enforced != "" {
			labels = fmt.Sprintf("labels: {namespace: %q}, ", c.Enforced)
		}
		fmt.Fprintf(&b, "- {job_name: mpi-controller, scheme: %s, honor_labels: %t, "+
			"tls_config: {insecure_skip_verify: true}, static_configs: [{%stargets: [%q]}]}\n",
			scheme, c.Enforced == "", labels, c.Controller)
	}
	return b.String()
}
