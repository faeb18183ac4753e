package lower

import (
	"lockstep.dev/lockstep/pkg/compile/object"
	"lockstep.dev/lockstep/pkg/compile/origin"
	"lockstep.dev/lockstep/pkg/compile/plan"
	"lockstep.dev/lockstep/pkg/mpi"
)

var (
	monitorRule = origin.Rule("service monitor", "the controller tells how jobs fare; the labels are those of its chart")
	scrapeRule  = origin.Rule("metrics policy", "who scrapes may reach the port of the metrics, whatever else closes the namespace")
)

// What our chart of mpi-controller calls its Service's pods, its port, and the Secret with a token that opens its metrics.
const (
	controllerNameLabel = "app.kubernetes.io/name"
	metricsPort         = "metrics"
	metricsToken        = "mpi-metrics-reader"
)

// monitoring lets the Prometheus of the cluster find and reach mpi-controller.
func (b *builder) monitoring(c *plan.Cluster) {
	if c.Monitoring == nil {
		return
	}
	b.serviceMonitor(c)
	b.alerts(c)
	b.dashboards(c)
	controller := object.Map("podSelector", object.Map("matchLabels", object.Text(controllerNameLabel, mpi.ControllerName, nil)))
	metadata := platformMeta(constantText("lockstep-metrics"))
	metadata.Put(planText("namespace", &c.ControllerNamespace))
	b.add(scrapeRule, "networking.k8s.io/v1", "NetworkPolicy", metadata, object.Map("spec",
		object.List("ingress", object.Map("",
			object.List("from", object.Map("", namespaceByName(&c.Monitoring.Namespace))),
			object.List("ports", object.Map("", object.Text("port", metricsPort, nil), object.Text("protocol", "TCP", nil))))),
		controller,
		object.Texts("policyTypes", nil, "Ingress")))
}

// monitorMeta names an object that the Prometheus of the cluster looks for.
func monitorMeta(c *plan.Cluster, name string) object.Node {
	m := c.Monitoring
	labels := object.Map("labels", object.Text(managedByLabel, managedBy, managed))
	for i := range m.Labels {
		labels.Put(planText(m.Labels[i].Name, &m.Labels[i].Value))
	}
	return object.Map("metadata", labels, object.Text("name", name, nil), planText("namespace", &c.ControllerNamespace))
}

func (b *builder) serviceMonitor(c *plan.Cluster) {
	m := c.Monitoring
	b.add(monitorRule, "monitoring.coreos.com/v1", "ServiceMonitor", monitorMeta(c, mpi.ControllerName),
		object.Map("spec",
			object.List("endpoints", object.Map("",
				object.Map("authorization", object.Map("credentials", object.Text("key", "token", nil), object.Text("name", metricsToken, nil))),
				// The namespace of a series is that of the job, not that of the controller.
				object.Bool("honorLabels", true, nil),
				planText("interval", &m.Interval),
				object.Text("port", metricsPort, nil),
				object.Text("scheme", "https", nil),
				// Each pod signs its certificate itself.
				object.Map("tlsConfig", object.Bool("insecureSkipVerify", true, nil)))),
			object.Text("jobLabel", controllerNameLabel, nil),
			object.Map("selector", object.Map("matchLabels", object.Text(controllerNameLabel, mpi.ControllerName, nil)))))
}
