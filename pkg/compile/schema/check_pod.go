package schema

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"

	"lockstep.dev/lockstep/pkg/compile/object"
	"lockstep.dev/lockstep/pkg/mpi"
)

// podSpec checks pods, wherever they are in a native kind.
func (c *check) podSpec(n *object.Node) {
	c.oneOfOrDefault(n.Get("restartPolicy"), "Always", "OnFailure", "Never")
	c.oneOfOrDefault(n.Get("dnsPolicy"), "ClusterFirst", "ClusterFirstWithHostNet", "Default", "None")
	if account := n.Get("serviceAccountName"); account.StringAt() != "" {
		c.refuseInvalid(account, validation.IsDNS1123Subdomain(account.Text))
	}
	c.labels(n.Get("nodeSelector"))
	c.seccomp(n.At("securityContext", "seccompProfile"))
	c.usersAndGroups(n.Get("securityContext"))
	c.itemNames(n.Get("volumes"))
	for i := range children(n.Get("volumes")) {
		if volume := &n.Get("volumes").Children[i]; len(volumeSources(volume)) > 1 {
			c.refuse(volumeSources(volume)[1], "", "not allowed beside %s: a volume is one thing", volumeSources(volume)[0].Key)
		}
	}
	for i := range children(n.Get("topologySpreadConstraints")) {
		c.topologySpread(&n.Get("topologySpreadConstraints").Children[i])
	}
	containers := n.Get("containers")
	if len(children(containers)) == 0 {
		c.refuse(n, "containers", "required, but missing: at least one")
	}
	for _, list := range []string{"initContainers", "containers"} {
		c.itemNames(n.Get(list))
		for i := range children(n.Get(list)) {
			c.container(&n.Get(list).Children[i], n)
		}
	}
	for i := range children(n.Get("tolerations")) {
		c.toleration(&n.Get("tolerations").Children[i])
	}
}

// runtimePods checks the pods of a training runtime, which API servers see when a job has them.
func (c *check) runtimePods() {
	before := len(c.problems)
	jobs := c.root.At("spec", "template", "spec", "replicatedJobs")
	for i := range children(jobs) {
		if pod := jobs.Children[i].At("template", "spec", "template", "spec"); pod != nil {
			c.podSpec(pod)
		}
	}
	for i := range c.problems[before:] {
		c.problems[before+i].OfPods = true
	}
}

// madeByTrainer are the volumes that Kubeflow Trainer and our controller add to the pods of an MPI runtime.
var madeByTrainer = []string{mpi.SSHAuthVolume, mpi.HostfileVolume}

// isRuntime reports whether TrainJobs complete the pods of the object.
func (c *check) isRuntime() bool {
	return c.table.name.kind == "ClusterTrainingRuntime" || c.table.name.kind == "TrainingRuntime"
}

// volumeSources are what is behind a volume, which must be one thing at most.
func volumeSources(volume *object.Node) []*object.Node {
	var found []*object.Node
	for i := range children(volume) {
		if source := &volume.Children[i]; source.Key != "name" && source.Kind != object.NullNode {
			found = append(found, source)
		}
	}
	return found
}

// topologySpread checks how pods spread over machines.
func (c *check) topologySpread(n *object.Node) {
	if skew := n.Get("maxSkew"); skew != nil && amountOf(skew).Sign() <= 0 {
		c.refuse(skew, "", "found %s, the least allowed is 1", skew.Text)
	}
	c.requireFields(n, "topologyKey", "whenUnsatisfiable")
	c.oneOfOrDefault(n.Get("whenUnsatisfiable"), "DoNotSchedule", "ScheduleAnyway")
}

// itemNames checks that items have names that are DNS labels and differ.
func (c *check) itemNames(list *object.Node) {
	for i := range children(list) {
		name := list.Children[i].Get("name")
		if name.StringAt() == "" {
			c.refuse(&list.Children[i], "name", "required, but missing")
			continue
		}
		if !isLabel(name.Text) {
			c.refuseInvalid(name, validation.IsDNS1123Label(name.Text))
		}
		if slices.ContainsFunc(list.Children[:i], func(other object.Node) bool { return other.StringAt("name") == name.Text }) {
			c.refuse(name, "", "found `%s`, an item before it has this name", name.Text)
		}
	}
}

func (c *check) container(n, pod *object.Node) {
	image := n.Get("image")
	switch {
	case image.StringAt() == "" && c.isRuntime(): // a TrainJob may have one
	case image.StringAt() == "":
		c.refuse(n, "image", "required, but missing")
	case strings.TrimSpace(image.Text) != image.Text:
		c.refuse(image, "", "found `%s`, white space around it is not allowed", image.Text)
	}
	c.oneOfOrDefault(n.Get("imagePullPolicy"), "Always", "IfNotPresent", "Never")
	c.oneOfOrDefault(n.Get("terminationMessagePolicy"), "File", "FallbackToLogsOnError")
	for i := range children(n.Get("ports")) {
		port := &n.Get("ports").Children[i]
		c.oneOf(port.Get("protocol"), protocols...)
		c.requireFields(port, "containerPort")
		c.portNumberOrName(port.Get("containerPort"))
		if name := port.Get("name"); name.StringAt() != "" {
			c.refuseInvalid(name, validation.IsValidPortName(name.Text))
		}
	}
	for i := range children(n.Get("env")) {
		c.variableOf(&n.Get("env").Children[i])
	}
	for i := range children(n.Get("volumeMounts")) {
		c.volumeMount(&n.Get("volumeMounts").Children[i], pod)
	}
	for _, name := range []string{"livenessProbe", "readinessProbe", "startupProbe"} {
		c.probe(n.Get(name))
	}
	c.seccomp(n.At("securityContext", "seccompProfile"))
	c.usersAndGroups(n.Get("securityContext"))
	c.privilegeEscalation(n.Get("securityContext"))
	c.resources(n.Get("resources"))
}

func isTrue(n *object.Node) bool { return n != nil && n.Text == "true" }

// privilegeEscalation checks that what makes a process more than its parent is not forbidden where the process is that already; nil is fine.
func (c *check) privilegeEscalation(n *object.Node) {
	if n == nil {
		return
	}
	escalates := n.Get("allowPrivilegeEscalation")
	if escalates == nil || escalates.Text != "false" {
		return
	}
	admin := slices.ContainsFunc(children(n.At("capabilities", "add")), func(child object.Node) bool { return child.Text == "CAP_SYS_ADMIN" })
	if isTrue(n.Get("privileged")) || admin {
		c.refuse(escalates, "", "must not be false where the container is privileged or has CAP_SYS_ADMIN")
	}
}

// seccomp checks which system calls are filtered; nil is fine.
func (c *check) seccomp(n *object.Node) {
	if n == nil {
		return
	}
	c.requireFields(n, "type")
	c.oneOf(n.Get("type"), "Localhost", "RuntimeDefault", "Unconfined")
	if local := n.StringAt("type") == "Localhost"; local != (n.Get("localhostProfile") != nil) {
		c.refuse(n, "localhostProfile", "required with the type Localhost, and allowed with no other")
	}
}

// usersAndGroups checks the users and groups of a pod or a container; nil is fine. Their range is that of
// k8s.io/apimachinery/pkg/util/validation, IsValidUserID and IsValidGroupID.
func (c *check) usersAndGroups(n *object.Node) {
	if n == nil {
		return
	}
	for _, name := range []string{"runAsUser", "runAsGroup", "fsGroup"} {
		c.userOrGroup(n.Get(name))
	}
	groups := n.Get("supplementalGroups")
	for i := range children(groups) {
		c.userOrGroup(&groups.Children[i])
	}
}

func (c *check) userOrGroup(n *object.Node) {
	if n == nil {
		return
	}
	if id, err := strconv.ParseInt(n.Text, 10, 64); err == nil && len(validation.IsValidUserID(id)) > 0 {
		c.refuse(n, "", "found %d, allowed are 0 to %d", id, math.MaxInt32)
	}
}

// probe checks how a container is probed; nil is fine.
func (c *check) probe(n *object.Node) {
	if n == nil {
		return
	}
	c.notBelowZero(n, "initialDelaySeconds", "timeoutSeconds", "periodSeconds", "successThreshold", "failureThreshold")
	handlers := 0
	for _, name := range []string{"exec", "grpc", "httpGet", "tcpSocket"} {
		handler := n.Get(name)
		switch {
		case handler == nil || handler.Kind == object.NullNode:
			continue
		case name == "exec":
			if len(children(handler.Get("command"))) == 0 {
				c.refuse(handler, "command", "required, but missing")
			}
		default:
			c.requireFields(handler, "port")
			c.portNumberOrName(handler.Get("port"))
		}
		handlers++
	}
	if handlers != 1 {
		c.refuse(n, "", "found %d of exec, grpc, httpGet and tcpSocket, needed is one", handlers)
	}
}

func (c *check) variableOf(n *object.Node) {
	name := n.Get("name")
	if name.StringAt() == "" {
		c.refuse(n, "name", "required, but missing")
		return
	}
	c.refuseInvalid(name, validation.IsRelaxedEnvVarName(name.Text))
	if n.Get("valueFrom") != nil && n.StringAt("value") != "" {
		c.refuse(n.Get("valueFrom"), "", "not allowed beside a value")
	}
	c.variableFrom(n.Get("valueFrom"))
}

// variableFrom checks where the value of a variable comes from; nil is fine.
func (c *check) variableFrom(n *object.Node) {
	if n == nil {
		return
	}
	if len(children(n)) != 1 {
		c.refuse(n, "", "found %d of fieldRef, resourceFieldRef, configMapKeyRef, secretKeyRef and fileKeyRef, needed is one", len(children(n)))
		return
	}
	switch from := &n.Children[0]; from.Key {
	case "fieldRef":
		c.requireFields(from, "fieldPath")
		c.fieldOfPod(from)
	case "resourceFieldRef":
		c.requireFields(from, "resource")
	case "configMapKeyRef", "secretKeyRef":
		c.requireFields(from, "key")
	}
}

// podFields are those that a variable may have (k8s.io/kubernetes/pkg/apis/core/validation, validEnvDownwardAPIFieldPathExpressions);
// spec.host is what old clients write for spec.nodeName.
var podFields = []string{
	"metadata.name", "metadata.namespace", "metadata.uid", "spec.nodeName", "spec.serviceAccountName",
	"status.hostIP", "status.hostIPs", "status.podIP", "status.podIPs", "spec.host",
}

// fieldOfPod checks which field of its pod a variable gets.
func (c *check) fieldOfPod(n *object.Node) {
	if version := n.Get("apiVersion"); version.StringAt() != "" {
		c.oneOf(version, "v1")
	}
	path := n.Get("fieldPath")
	if path.StringAt() == "" || slices.Contains(podFields, path.Text) {
		return
	}
	field, key, isEntry := strings.Cut(strings.TrimSuffix(path.Text, "']"), "['")
	switch {
	case isEntry && strings.HasSuffix(path.Text, "']") && field == "metadata.labels":
		c.refuseInvalid(path, validation.IsQualifiedName(key))
	case isEntry && strings.HasSuffix(path.Text, "']") && field == "metadata.annotations":
		c.refuseInvalid(path, validation.IsQualifiedName(strings.ToLower(key)))
	default:
		c.refuse(path, "", "found `%s`, allowed are %s, metadata.labels['<key>'] and metadata.annotations['<key>']", path.Text, strings.Join(podFields[:9], ", "))
	}
}

func (c *check) volumeMount(n, pod *object.Node) {
	c.requireFields(n, "mountPath", "name")
	name := n.Get("name")
	named := func(volume object.Node) bool { return volume.StringAt("name") == name.StringAt() }
	added := c.table.name.kind == "StatefulSet" || c.isRuntime() && slices.Contains(madeByTrainer, name.StringAt())
	if name.StringAt() != "" && !slices.ContainsFunc(children(pod.Get("volumes")), named) && !added {
		c.refuse(name, "", "the pod has no volume `%s`", name.Text)
	}
}

func (c *check) resources(n *object.Node) {
	if n == nil {
		return
	}
	for _, field := range []string{"limits", "requests"} {
		for i := range children(n.Get(field)) {
			entry := &n.Get(field).Children[i]
			c.resourceName(entry, computeResources)
			c.notNegative(entry, entry.Key)
		}
	}
	for i := range children(n.Get("requests")) {
		request := &n.Get("requests").Children[i]
		limit := n.At("limits", request.Key)
		switch {
		case limit == nil && !mayOvercommit(request.Key):
			c.refuse(request, "", "needs a limit that is the same: devices and huge pages cannot be overcommitted")
		case limit == nil:
		case compareAmounts(request, limit) > 0 || !mayOvercommit(request.Key) && compareAmounts(request, limit) != 0:
			c.refuse(request, "", "found `%s`, but the limit is `%s`", request.Text, limit.Text)
		}
	}
}

func (c *check) toleration(n *object.Node) {
	operator := n.StringAt("operator")
	c.oneOf(n.Get("operator"), "", "Exists", "Equal")
	c.oneOf(n.Get("effect"), "", "NoSchedule", "PreferNoSchedule", "NoExecute")
	switch {
	case operator == "Exists" && n.StringAt("value") != "":
		c.refuse(n.Get("value"), "", "not allowed with the operator Exists")
	case operator != "Exists" && n.StringAt("key") == "":
		c.refuse(n, "key", "required unless the operator is Exists, but missing")
	}
	if key := n.Get("key"); key.StringAt() != "" {
		c.labelKey(key, key.Text)
	}
}
