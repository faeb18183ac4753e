package semdiff

import (
	"slices"
	"strings"

	"lockstep.dev/lockstep/pkg/compile/object"
)

var securityRule = &Rule{
	Name: "security", Title: "What pods may do on their machine",
	Doc: "Pod Security Standards of namespaces, SecurityContextConstraints, and the security contexts of pods, as a lattice: capabilities, " +
		"users, privileges, host namespaces, kinds of volumes, seccomp. The entry says whether pods may do more or less than before. For namespaces " +
		"it compares levels (`restricted` is below `restricted` with pinned memory, which is below `baseline`, which is below `privileged`). What " +
		"a runtime asks for holds for new jobs; what a namespace or a constraint refuses is refused when a pod is made, so that running pods go " +
		"on and their replacements may not come. A workload or a runtime that is new is judged as one that had none of it before.",
	Says:   []Consequence{WidensSecurity, NarrowsSecurity, NewJobsOnly, RestartsNothing},
	claims: isSecurity,
	unit: func(s *scope, changes []*Change) []Effect {
		var effects []Effect
		for _, part := range parts(changes) {
			if part[0].Kind() == "Namespace" {
				effects = append(effects, s.level(part)...)
				continue
			}
			effects = append(effects, s.lattice(part)...)
		}
		return effects
	},
	cluster: func(c *cluster, _ []*Change) []Effect {
		var effects []Effect
		for _, change := range c.added {
			effects = append(effects, c.newPowers(change)...)
		}
		return effects
	},
}

// Labels that say what pods of a namespace may do.
const (
	securityPrefix = "pod-security.kubernetes.io/"
	enforceLabel   = securityPrefix + "enforce"
	pinnedLabel    = "lockstep.dev/pod-security"
)

func isSecurity(c *Change) bool {
	switch {
	case c.Kind() == "SecurityContextConstraints":
		return c.Whole() || c.Path[0] != "metadata"
	case c.Whole():
		return false
	case c.Kind() == "Namespace":
		return c.Path.Is("metadata", "labels", "*") && (strings.HasPrefix(c.Path[2], securityPrefix) || c.Path[2] == pinnedLabel)
	case isRuntime(c) || slices.Contains(workloadKinds, c.Kind()):
		return isPodSecurity(c)
	}
	return false
}

// isPodSecurity says whether a value of a pod is about its machine.
func isPodSecurity(c *Change) bool {
	return c.Path.Has("securityContext") || c.Path.Has("hostPath") || slices.Contains(privileges, c.Path.Last()) || holdsHostPath(c) || bringsPowers(c)
}

// brought are the values about the machine in a part of a pod that comes as a whole, such as a container or a list of capabilities, and
// whether one of them is as good as the machine. What is less is told with the part where the pod is one of a job: its profile asks for it.
func brought(c *Change) (wide []*Change, grave bool) {
	if c.Whole() || c.Old != nil || c.New == nil || c.New.Leaf() {
		return nil, false
	}
	d := differ{cluster: c.Cluster, unit: c.Unit, before: c.Before, after: c.After, path: slices.Clone(c.Path)}
	d.leaves(c.New)
	for _, leaf := range d.found {
		if towards, bad := widens(leaf); isPodSecurity(leaf) && towards == more {
			wide, grave = append(wide, leaf), grave || bad
		}
	}
	if !grave && isRuntime(c) {
		return nil, false
	}
	return wide, grave
}

// bringsPowers says whether a change brings something of the machine.
func bringsPowers(c *Change) bool {
	wide, _ := brought(c)
	return len(wide) > 0
}

// newPowers is what the pods of an object that is new may do on their machine: it is judged as if its pods had been there without any of
// it. What a profile of the catalog asks for runtimes, such as pinned memory, is no danger to the machine, and is not told.
func (c *cluster) newPowers(change *Change) []Effect {
	var given []*Change
	severity := Warning
	for _, leaf := range podLeaves(change) {
		if towards, grave := widens(leaf); isPodSecurity(leaf) && towards == more {
			given = append(given, leaf)
			if grave {
				severity = Critical
			}
		}
	}
	words := powers(given)
	if len(words) == 0 || severity < Critical && isRuntime(change) {
		return nil
	}
	id := change.After.ID
	e := c.effect([]*Change{change}, WidensSecurity, severity, "pods of a new "+id.Kind+" may do more on their machine: "+several(words), id.String()+" with "+several(images(change.New))+": "+strings.Join(words, ", "))
	return []Effect{e.withOf(called(id), "run", "with "+several(words))}
}

// privileges are fields of a pod that give it something of its machine.
var privileges = []string{"hostNetwork", "hostPID", "hostIPC", "hostPort", "hostUsers", "automountServiceAccountToken", "shareProcessNamespace"}

// holdsHostPath says whether a volume of the machine is added or removed as a whole.
func holdsHostPath(c *Change) bool {
	for _, n := range []*object.Node{c.Old, c.New} {
		if n != nil && n.Kind == object.MapNode && n.Get("hostPath") != nil {
			return true
		}
	}
	return false
}

// levels are those of namespaces, from the narrowest.
var levels = []string{"restricted", "restricted-rdma", "baseline", "privileged"}

// levelOf is what pods of a namespace may do. Without a label the cluster decides, which refuses nothing by default.
func levelOf(o *object.Object) string {
	labels := o.Root.At("metadata", "labels")
	enforced := or(text(labels, enforceLabel), "privileged")
	if enforced == "privileged" && text(labels, pinnedLabel) != "" {
		return text(labels, pinnedLabel)
	}
	return enforced
}

// level compares the levels of a namespace.
func (s *scope) level(changes []*Change) []Effect {
	was, is := levelOf(changes[0].Before), levelOf(changes[0].After)
	before, after := slices.Index(levels, was), slices.Index(levels, is)
	detail := was + " → " + is
	enforced := slices.ContainsFunc(changes, func(c *Change) bool { return c.Path.Last() == enforceLabel || c.Path.Last() == pinnedLabel })
	switch {
	case !enforced || was == is:
		return []Effect{s.effect(changes, RestartsNothing, Info, "what is recorded and warned about changes, not what is refused", shownAll(changes)).with("see", "other warnings")}
	case after > before || after < 0:
		severity := Warning
		if is != "restricted-rdma" {
			severity = Critical
		}
		return []Effect{s.effect(changes, WidensSecurity, severity, "pods may be "+is, detail).with("get", "pods that may be "+is)}
	}
	return []Effect{s.effect(changes, NarrowsSecurity, Warning, "pods must be "+is, detail).with("must", "run pods that are "+is).to(Hampered)}
}

// lattice says of each value whether it lets pods do more or less.
func (s *scope) lattice(changes []*Change) []Effect {
	var wider, narrower, other []*Change
	grave := false
	for _, c := range changes {
		switch towards, bad := widens(c); towards {
		case more:
			wider, grave = append(wider, c), grave || bad
		case less:
			narrower = append(narrower, c)
		default:
			other = append(other, c)
		}
	}
	var effects []Effect
	jobs := Untouched
	what, who, of := "new pods of the runtime", "start", ""
	switch {
	case changes[0].Kind() == "SecurityContextConstraints":
		what, who, jobs = "pods that use the constraint", "allow", Hampered
	case !isRuntime(changes[0]):
		what, who, of = "pods of "+changes[0].Object().ID.Name, "start", called(changes[0].Object().ID)
	}
	if len(wider) > 0 {
		severity := Warning
		if grave {
			severity = Critical
		}
		given := ""
		if words := powers(wider); len(words) > 0 {
			given = ": " + several(words)
		}
		effects = append(effects, s.effect(wider, WidensSecurity, severity, what+" may do more on their machine"+given, shownAll(wider)).withOf(of, who, "pods that may do more on their machine"+given))
	}
	if len(narrower) > 0 {
		effects = append(effects, s.effect(narrower, NarrowsSecurity, Notice, what+" may do less on their machine", shownAll(narrower)).
			withOf(of, who, "pods that may do less on their machine").to(jobs))
	}
	if len(other) > 0 {
		effects = append(effects, s.effect(other, NewJobsOnly, Notice, what+" run as somebody else, or with another profile", shownAll(other)).withOf(of, who, "pods as somebody else"))
	}
	return effects
}

// called is an object in a sentence: `DaemonSet tools/agent`.
func called(id object.ID) string {
	if id.Namespace == "" {
		return id.Kind + " " + id.Name
	}
	return id.Kind + " " + id.Namespace + "/" + id.Name
}

// graveCapabilities are those that are as good as root on the machine.
var graveCapabilities = []string{"ALL", "*", "SYS_ADMIN", "SYS_MODULE", "SYS_PTRACE", "SYS_RAWIO", "DAC_READ_SEARCH", "DAC_OVERRIDE", "NET_ADMIN", "BPF", "SETUID"}

// strategies of constraints, from the narrowest.
var strategies = []string{"MustRunAs", "MustRunAsRange", "MustRunAsNonRoot", "RunAsAny"}

// widens says whether a value lets pods do more or less than before, and whether it is as good as the machine.
func widens(c *Change) (towards trend, grave bool) {
	key, is := c.Path.Last(), scalar(c.New)
	switch {
	case c.Whole():
		return wholeConstraint(c)
	case bringsPowers(c):
		_, grave := brought(c)
		return more, grave
	case holdsHostPath(c) || c.Path.Has("hostPath"):
		return presence(c), c.New != nil
	case c.Path.Has("requiredDropCapabilities") || c.Path.Has("drop"):
		return presence(c).opposite(), c.Old != nil && c.New == nil
	case c.Path.Has("capabilities") || c.Path.Has("allowedCapabilities") || c.Path.Has("defaultAddCapabilities"):
		return presence(c), slices.Contains(graveCapabilities, strings.TrimPrefix(is, "CAP_"))
	case c.Path[0] == "volumes" || c.Path.Has("users") || c.Path.Has("groups") && c.Kind() == "SecurityContextConstraints" || c.Path.Has("seccompProfiles") ||
		c.Path.Has("allowedUnsafeSysctls") || c.Path.Has("sysctls") || c.Path.Has("supplementalGroups") && c.Path.Last() != "type":
		return presence(c), slices.Contains([]string{"*", "hostPath", "unconfined", "system:authenticated"}, is)
	case key == "type" && c.Path.Has("seccompProfile"):
		return profile(c), is == "Unconfined"
	case key == "type":
		return ordered(c, strategies), is == "RunAsAny" && c.Path[0] == "runAsUser"
	case key == "runAsUser" && (is == "0" || scalar(c.Old) == "0"):
		return toward(is == "0"), is == "0"
	}
	return flag(key, c)
}

// flags are booleans; the value is the one that lets pods do more.
var flags = map[string]string{
	"privileged": "true", "hostNetwork": "true", "hostPID": "true", "hostIPC": "true", "allowPrivilegedContainer": "true", "allowHostNetwork": "true",
	"allowHostPID": "true", "allowHostIPC": "true", "allowHostPorts": "true", "allowHostDirVolumePlugin": "true", "shareProcessNamespace": "true",
	"allowPrivilegeEscalation": "true", "defaultAllowPrivilegeEscalation": "true", "automountServiceAccountToken": "true",
	"readOnlyRootFilesystem": "false", "runAsNonRoot": "false", "hostUsers": "true",
}

// mild are flags that are no way to the machine on their own. A few are wide where nothing is written.
var (
	mild      = []string{"readOnlyRootFilesystem", "automountServiceAccountToken", "shareProcessNamespace", "allowPrivilegeEscalation", "defaultAllowPrivilegeEscalation", "hostUsers"}
	wideUnset = []string{"allowPrivilegeEscalation", "automountServiceAccountToken", "readOnlyRootFilesystem", "runAsNonRoot", "hostUsers"}
)

func flag(key string, c *Change) (trend, bool) {
	wide, known := flags[key]
	if !known {
		if key == "hostPort" {
			return presence(c), false
		}
		return unknown, false
	}
	holds := func(n *object.Node) bool {
		if n == nil {
			return slices.Contains(wideUnset, key)
		}
		return n.Text == wide
	}
	if holds(c.Old) == holds(c.New) {
		return unknown, false
	}
	return toward(holds(c.New)), holds(c.New) && !slices.Contains(mild, key)
}

func (t trend) opposite() trend {
	switch t {
	case more:
		return less
	case less:
		return more
	}
	return unknown
}

func toward(wider bool) trend {
	if wider {
		return more
	}
	return less
}

// presence says that what is there lets pods do more.
func presence(c *Change) trend {
	switch {
	case c.Added():
		return more
	case c.Removed():
		return less
	}
	return unknown
}

func ordered(c *Change, order []string) trend {
	a, b := slices.Index(order, or(scalar(c.Old), "RunAsAny")), slices.Index(order, or(scalar(c.New), "RunAsAny"))
	if a < 0 || b < 0 || a == b {
		return unknown
	}
	return toward(b > a)
}

func profile(c *Change) trend {
	return ordered(&Change{Old: named(or(scalar(c.Old), "Unconfined")), New: named(or(scalar(c.New), "Unconfined"))}, []string{"RuntimeDefault", "Localhost", "Unconfined"})
}

func named(name string) *object.Node {
	n := object.Text("", name, nil)
	return &n
}

// wholeConstraint judges a constraint that comes or goes. One that nobody may use lets nobody do anything.
func wholeConstraint(c *Change) (trend, bool) {
	if c.Removed() {
		return less, false
	}
	root := c.New
	privileged := text(root, "allowPrivilegedContainer") == "true" || text(root, "allowHostDirVolumePlugin") == "true" || text(root, "runAsUser", "type") == "RunAsAny"
	return more, privileged
}
