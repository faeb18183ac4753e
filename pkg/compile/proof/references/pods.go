package references

import (
	"lockstep.dev/lockstep/pkg/compile/object"
)

const noPods = "its pods are not made"

const notStarted = "its pods do not start"

// pods reads what the pods of an object name.
func (r reader) pods(template *object.Node) {
	if template == nil {
		return
	}
	spec, own := template.Get("spec"), r.object.ID.Namespace
	p := pod{namespace: own, labels: texts(template.At("metadata", "labels"))}
	r.names(spec.At("serviceAccountName"), "", "ServiceAccount", own, compiled, noPods)
	r.names(spec.At("priorityClassName"), "scheduling.k8s.io", "PriorityClass", "", nearMissesOnly, noPods)
	r.names(spec.At("runtimeClassName"), "node.k8s.io", "RuntimeClass", "", nearMissesOnly, noPods)
	r.names(r.object.Root.At("spec", "serviceName"), "", "Service", own, closed, "its pods have no names in DNS")
	for volume := range items(spec.At("volumes")) {
		r.names(volume.At("persistentVolumeClaim", "claimName"), "", "PersistentVolumeClaim", own, closed, notStarted)
		r.config(volume.At("configMap"))
		for from := range items(volume.At("projected", "sources")) {
			r.config(from.At("configMap"))
		}
	}
	for _, list := range []string{"containers", "initContainers"} {
		for c := range items(spec.At(list)) {
			p.ports = append(p.ports, r.container(c)...)
		}
	}
	r.facts.pods = append(r.facts.pods, p)
}

// config reads which file of which ConfigMap is mounted.
func (r reader) config(from *object.Node) {
	if from == nil || from.Scalar("optional") == "true" {
		return
	}
	r.names(from.At("name"), "", "ConfigMap", r.object.ID.Namespace, closed, notStarted)
	for item := range items(from.At("items")) {
		r.key(from.At("name"), item.At("key"))
	}
}

func (r reader) key(config, key *object.Node) {
	if key != nil {
		r.namesPart(config, key, name{of: object.ID{Kind: "ConfigMap", Namespace: r.object.ID.Namespace}, key: key.Text, reach: closed, without: notStarted})
	}
}

// container reads what a container names, and returns the names of its ports.
func (r reader) container(c *object.Node) (ports []string) {
	for port := range items(c.Get("ports")) {
		if own := port.Scalar("name"); own != "" {
			ports = append(ports, own)
		}
	}
	for variable := range items(c.Get("env")) {
		if from := variable.At("valueFrom", "configMapKeyRef"); from != nil && from.Scalar("optional") != "true" {
			r.names(from.At("name"), "", "ConfigMap", r.object.ID.Namespace, closed, notStarted)
			r.key(from.At("name"), from.At("key"))
		}
	}
	for from := range items(c.Get("envFrom")) {
		if from = from.At("configMapRef"); from != nil && from.Scalar("optional") != "true" {
			r.names(from.At("name"), "", "ConfigMap", r.object.ID.Namespace, closed, notStarted)
		}
	}
	for _, probe := range [][]string{{"livenessProbe"}, {"readinessProbe"}, {"startupProbe"}, {"lifecycle", "preStop"}, {"lifecycle", "postStart"}} {
		for _, way := range []string{"httpGet", "tcpSocket"} {
			if port := c.At(append(probe, way, "port")...); port != nil && port.Kind == object.TextNode && r.judged(port) {
				r.facts.probes = append(r.facts.probes, probePort{r.object.ID, c.Scalar("name"), named{port.Text, r.place(port)}, ports})
			}
		}
	}
	return ports
}
