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
		"on and their replacements may not come. A workload, a runtime or a constraint that is new is judged as one that " +
		"had none of it before.",
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

// The levels of namespaces. The pinned one is `restricted` for pods that may pin memory: its label is what an admission policy looks for.
const (
	restrictedLevel = "restricted"
	pinnedLevel     = "restricted-rdma"
	openLevel       = "privileged"
)

// constraintKind is the kind by which OpenShift bounds pods.
const constraintKind = "SecurityContextConstraints"

func isSecurity(c *Change) bool {
	switch {
	case c.Kind() == constraintKind:
		return c.Whole() || c.Path[0] != "metadata"
	case c.Whole():
		return false
	case c.Kind() == "Namespace":
		return c.Path.Is("metadata", "labels", "*") && (strings.HasPrefix(c.Path[2], securityPrefix) || c.Path[2] == pinnedLabel)
	case hasPods(c.Object()):
		return isPodSecurity(c)
	}
	return false
}

// isPodSecurity says whether a value of a pod is about its machine.
func isPodSecurity(c *Change) bool {
	return c.Path.Has("securityContext") || c.Path.Has("hostPath") || privileges[c.Path.Last()].ofPod || holdsHostPath(c) || bringsPowers(c)
}

// brought are the values about the machine in what comes as a whole, and whether one of them is as good as the machine: in a part of a
// pod, such as a container or a list of capabilities, and in a constraint. What is less is told with the part where the pod is one of a
// job: its profile asks for it. Of a constraint only what is as good as the machine is told: all pods need one.
func brought(c *Change) (wide []*Change, grave bool) {
	if c.Old != nil || c.New == nil || c.New.Leaf() || c.Whole() && c.Kind() != constraintKind {
		return nil, false
	}
	d := differ{cluster: c.Cluster, unit: c.Unit, before: c.Before, after: c.After, path: slices.Clone(c.Path)}
	if c.Whole() {
		d.before = c.After
		d.node(&narrowest, c.New, nil, nil)
	} else {
		d.leaves(c.New)
	}
	for _, leaf := range d.found {
		if towards, bad := widens(leaf); isSecurity(leaf) && towards == more && (bad || !c.Whole()) {
			wide, grave = append(wide, leaf), grave || bad
		}
	}
	if !grave && isRuntime(c) {
		return nil, false
	}
	return wide, grave
}

// narrowest is a SecurityContextConstraints that lets pods do nothing: one that is new is judged as if it had been that before.
var narrowest = object.Map("",
	object.List("allowedCapabilities"), object.List("allowedUnsafeSysctls"), object.List("defaultAddCapabilities"), object.List("groups"),
	object.Texts("requiredDropCapabilities", nil, "ALL"), object.List("seccompProfiles"), object.List("users"), object.List("volumes"),
	strategy("fsGroup"), strategy("runAsUser"), strategy("seLinuxContext"), strategy("supplementalGroups"))

func strategy(key string) object.Node {
	return object.Map(key, object.Text("type", strategies[0], nil))
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
var levels = []string{restrictedLevel, pinnedLevel, "baseline", openLevel}

// levelOf is what pods of a namespace may do. Without a label the cluster decides, which refuses nothing by default. Where both enforce,
// Pod Security refuses what the policy for pinned memory makes an exception for, and the policy all else.
func levelOf(o *object.Object) string {
	labels := o.Root.At("metadata", "labels")
	enforced := or(labels.Scalar(enforceLabel), openLevel)
	switch {
	case labels.Scalar(pinnedLabel) != pinnedLevel:
		return enforced
	case enforced == openLevel:
		return pinnedLevel
	}
	return restrictedLevel
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
		if is != pinnedLevel {
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
	case changes[0].Kind() == constraintKind:
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

// graveCapabilities are those that are as good as root on the machine.
var graveCapabilities = []string{"ALL", "*", "SYS_ADMIN", "SYS_MODULE", "SYS_PTRACE", "SYS_RAWIO", "DAC_READ_SEARCH", "DAC_OVERRIDE", "NET_ADMIN", "BPF", "SETUID"}

// strategies of constraints, from the narrowest.
var strategies = []string{"MustRunAs", "MustRunAsRange", "MustRunAsNonRoot", "RunAsAny"}

// widens says whether a value lets pods do more or less than before, and whether it is as good as the machine.
func widens(c *Change) (towards trend, grave bool) {
	key, is := c.Path.Last(), c.New.Scalar()
	switch {
	case c.Whole() && c.Removed():
		// What nobody may use lets nobody do anything.
		return less, false
	case c.Whole() || bringsPowers(c):
		_, grave := brought(c)
		return more, grave
	case holdsHostPath(c) || c.Path.Has("hostPath"):
		return presence(c), c.New != nil
	case c.Path.Has("requiredDropCapabilities") || c.Path.Has("drop"):
		return presence(c).opposite(), c.Old != nil && c.New == nil
	case c.Path.Has("capabilities") || c.Path.Has("allowedCapabilities") || c.Path.Has("defaultAddCapabilities"):
		return presence(c), slices.Contains(graveCapabilities, strings.TrimPrefix(is, "CAP_"))
	case c.Path[0] == "volumes" || c.Path.Has("users") || c.Path.Has("groups") && c.Kind() == constraintKind || c.Path.Has("seccompProfiles") ||
		c.Path.Has("allowedUnsafeSysctls") || c.Path.Has("sysctls") || c.Path.Has("supplementalGroups") && c.Path.Last() != "type":
		return presence(c), slices.Contains([]string{"*", "hostPath", "unconfined", "system:authenticated"}, is)
	case key == "type" && c.Path.Has("seccompProfile"):
		return profile(c), is == "Unconfined"
	case key == "type":
		return ordered(c, strategies), is == "RunAsAny" && c.Path[0] == "runAsUser"
	case (key == "runAsUser" || c.Path.Is("runAsUser", "uid")) && (is == "0" || c.Old.Scalar() == "0"):
		return toward(is == "0"), is == "0"
	}
	if p, known := privileges[key]; known {
		return p.widens(c)
	}
	return unknown, false
}

// privilege is a field that opens something of the machine.
type privilege struct {
	// wide is the value by which pods may do more; "" where any value is.
	wide string
	// unsetIsWide says that it is wide, too, where nothing is written.
	unsetIsWide bool
	// mild is no way to the machine on its own.
	mild bool
	// ofPod says that it stands in the spec of a pod, outside of what is called a security context.
	ofPod bool
}

// privileges are those of pods, of their security contexts and of SecurityContextConstraints.
var privileges = map[string]privilege{
	"privileged":                      {wide: "true"},
	"hostNetwork":                     {wide: "true", ofPod: true},
	"hostPID":                         {wide: "true", ofPod: true},
	"hostIPC":                         {wide: "true", ofPod: true},
	"hostPort":                        {mild: true, ofPod: true},
	"hostUsers":                       {wide: "true", unsetIsWide: true, mild: true, ofPod: true},
	"shareProcessNamespace":           {wide: "true", mild: true, ofPod: true},
	"automountServiceAccountToken":    {wide: "true", unsetIsWide: true, mild: true, ofPod: true},
	"allowPrivilegedContainer":        {wide: "true"},
	"allowHostNetwork":                {wide: "true"},
	"allowHostPID":                    {wide: "true"},
	"allowHostIPC":                    {wide: "true"},
	"allowHostPorts":                  {wide: "true"},
	"allowHostDirVolumePlugin":        {wide: "true"},
	"allowPrivilegeEscalation":        {wide: "true", unsetIsWide: true, mild: true},
	"defaultAllowPrivilegeEscalation": {wide: "true", mild: true},
	"readOnlyRootFilesystem":          {wide: "false", unsetIsWide: true, mild: true},
	"runAsNonRoot":                    {wide: "false", unsetIsWide: true},
}

// widens says whether a value lets pods do more or less than before, and whether it is as good as the machine.
func (p privilege) widens(c *Change) (towards trend, grave bool) {
	holds := func(n *object.Node) bool {
		if n == nil {
			return p.unsetIsWide
		}
		return n.Text == p.wide
	}
	switch {
	case p.wide == "":
		return presence(c), c.New != nil && !p.mild
	case holds(c.Old) == holds(c.New):
		return unknown, false
	}
	return toward(holds(c.New)), holds(c.New) && !p.mild
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
	a, b := slices.Index(order, or(c.Old.Scalar(), "RunAsAny")), slices.Index(order, or(c.New.Scalar(), "RunAsAny"))
	if a < 0 || b < 0 || a == b {
		return unknown
	}
	return toward(b > a)
}

func profile(c *Change) trend {
	return ordered(&Change{Old: named(or(c.Old.Scalar(), "Unconfined")), New: named(or(c.New.Scalar(), "Unconfined"))}, []string{"RuntimeDefault", "Localhost", "Unconfined"})
}

func named(name string) *object.Node {
	n := object.Text("", name, nil)
	return &n
}
