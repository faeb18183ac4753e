package references

import (
	"lockstep.dev/lockstep/pkg/compile/object"
)

const noPods = "its pods are not made"

const notStarted = "its pods do not start"

// readPods reads what the pods of an object name.
func (r factReader) readPods(template *object.Node) {
	if template == nil {
		return
	}
	spec, own := template.Get("spec"), r.object.ID.Namespace
	p := podFact{namespace: own, labels: textsByKey(template.At("metadata", "labels"))}
	r.noteName(spec.At("serviceAccountName"), "", "ServiceAccount", own, compiled, noPods)
	r.noteName(spec.At("priorityClassName"), "scheduling.k8s.io", "PriorityClass", "", nearMissesOnly, noPods)
	r.noteName(spec.At("runtimeClassName"), "node.k8s.io", "RuntimeClass", "", nearMissesOnly, noPods)
	r.noteName(r.object.Root.At("spec", "serviceName"), "", "Service", own, closed, "its pods have no names in DNS")
	for volume := range spec.At("volumes").Items() {
		r.noteName(volume.At("persistentVolumeClaim", "claimName"), "", "PersistentVolumeClaim", own, closed, notStarted)
		r.readMountedConfig(volume.At("configMap"))
		for from := range volume.At("projected", "sources").Items() {
			r.readMountedConfig(from.At("configMap"))
		}
	}
	for _, list := range []string{"containers", "initContainers"} {
		for c := range spec.At(list).Items() {
			p.ports = append(p.ports, r.readContainer(c)...)
		}
	}
	r.facts.pods = append(r.facts.pods, p)
}

// readMountedConfig reads which file of which ConfigMap is mounted.
func (r factReader) readMountedConfig(from *object.Node) {
	if from == nil || from.Scalar("optional") == "true" {
		return
	}
	r.noteName(from.At("name"), "", "ConfigMap", r.object.ID.Namespace, closed, notStarted)
	for item := range from.At("items").Items() {
		r.readConfigKey(from.At("name"), item.At("key"))
	}
}

func (r factReader) readConfigKey(config, key *object.Node) {
	if key != nil {
		r.noteNameOfPart(config, key, objectName{of: object.ID{Kind: "ConfigMap", Namespace: r.object.ID.Namespace}, key: key.Text, reach: closed, without: notStarted})
	}
}

// readContainer reads what a container names, and returns the names of its ports.
func (r factReader) readContainer(c *object.Node) (ports []string) {
	for port := range c.Get("ports").Items() {
		if own := port.Scalar("name"); own != "" {
			ports = append(ports, own)
		}
	}
	for variable := range c.Get("env").Items() {
		if from := variable.At("valueFrom", "configMapKeyRef"); from != nil && from.Scalar("optional") != "true" {
			r.noteName(from.At("name"), "", "ConfigMap", r.object.ID.Namespace, closed, notStarted)
			r.readConfigKey(from.At("name"), from.At("key"))
		}
	}
	for from := range c.Get("envFrom").Items() {
		if from = from.At("configMapRef"); from != nil && from.Scalar("optional") != "true" {
			r.noteName(from.At("name"), "", "ConfigMap", r.object.ID.Namespace, closed, notStarted)
		}
	}
	for _, probe := range [][]string{{"livenessProbe"}, {"readinessProbe"}, {"startupProbe"}, {"lifecycle", "preStop"}, {"lifecycle", "postStart"}} {
		for _, way := range []string{"httpGet", "tcpSocket"} {
			if port := c.At(append(probe, way, "port")...); port != nil && port.Kind == object.TextNode && r.isJudged(port) {
				r.facts.probes = append(r.facts.probes, probePort{r.object.ID, c.Scalar("name"), placedText{port.Text, r.placeOf(port)}, ports})
			}
		}
	}
	return ports
}
