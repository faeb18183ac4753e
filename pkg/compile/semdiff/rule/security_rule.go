package rule

import (
	"cmp"
	"math"
	"slices"
	"strconv"
	"strings"

	"lockstep.dev/lockstep/pkg/compile/object"
	"lockstep.dev/lockstep/pkg/compile/semdiff/match"
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
	judge: func(c *Cluster, changes []*match.Change) []Effect {
		ofNamespace := func(change *match.Change) bool { return change.Kind() == "Namespace" }
		effects := judgeByCause((*Cluster).podSecurityLevelEffect)(c, slices.DeleteFunc(slices.Clone(changes), func(change *match.Change) bool { return !ofNamespace(change) }))
		effects = append(effects, judgeByCauseAnd(securityTrend, (*Cluster).podSecurityTrend)(c, slices.DeleteFunc(slices.Clone(changes), ofNamespace))...)
		for _, change := range c.added {
			effects = append(effects, c.newPodPrivileges(change)...)
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

func isSecurity(c *match.Change) bool {
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

// isPodSecurity reports whether a value of a pod is about its machine.
func isPodSecurity(c *match.Change) bool {
	return c.Path.Has("securityContext") || c.Path.Has("hostPath") || privileges[c.Path.Last()].ofPod || isHostPathVolume(c) || addsPrivilege(c)
}

// newPrivileges are the values about the machine in what comes as a whole, and whether one of them is as good as the machine: in a part of a
// pod, such as a container or a list of capabilities, and in a constraint. What is less is told with the part where the pod is one of a
// job: its profile asks for it. Of a constraint only what is as good as the machine is told: all pods need one.
func newPrivileges(c *match.Change) (wide []*match.Change, severe bool) {
	if c.Old != nil || c.New == nil || c.New.Leaf() || c.Whole() && c.Kind() != constraintKind {
		return nil, false
	}
	var leaves []*match.Change
	if c.Whole() {
		leaves = c.ValuesBeyond(&narrowest)
	} else {
		leaves = c.Leaves(c.Path, c.New)
	}
	for _, leaf := range leaves {
		if towards, bad := privilegeTrend(leaf); isSecurity(leaf) && towards == more && (bad || !c.Whole()) {
			wide, severe = append(wide, leaf), severe || bad
		}
	}
	if !severe && isRuntime(c) {
		return nil, false
	}
	return wide, severe
}

// narrowest is a SecurityContextConstraints that lets pods do nothing: one that is new is judged as if it had been that before.
var narrowest = object.Map("",
	object.List("allowedCapabilities"), object.List("allowedUnsafeSysctls"), object.List("defaultAddCapabilities"), object.List("groups"),
	object.Texts("requiredDropCapabilities", nil, "ALL"), object.List("seccompProfiles"), object.List("users"), object.List("volumes"),
	strategyNode("fsGroup"), strategyNode("runAsUser"), strategyNode("seLinuxContext"), strategyNode("supplementalGroups"))

func strategyNode(key string) object.Node {
	return object.Map(key, object.Text("type", strategies[0], nil))
}

// addsPrivilege reports whether a change brings something of the machine.
func addsPrivilege(c *match.Change) bool {
	wide, _ := newPrivileges(c)
	return len(wide) > 0
}

// newPodPrivileges is what the pods of an object that is new may do on their machine: it is judged as if its pods had been there without any of
// it. What a profile of the catalog asks for runtimes, such as pinned memory, is not a danger to the machine, and is not told.
func (c *Cluster) newPodPrivileges(change *match.Change) []Effect {
	var given []*match.Change
	severity := Warning
	for _, leaf := range podLeaves(change) {
		if towards, severe := privilegeTrend(leaf); isPodSecurity(leaf) && towards == more {
			given = append(given, leaf)
			if severe {
				severity = Critical
			}
		}
	}
	words := privilegesOf(given)
	if len(words) == 0 || severity < Critical && isRuntime(change) {
		return nil
	}
	id := change.After.ID
	e := c.effect([]*match.Change{change}, WidensSecurity, severity, "pods of a new "+id.Kind+" may do more on their machine: "+severalText(words)).withDetail(id.String() + " with " + severalText(imagesOf(change.New)) + ": " + strings.Join(words, ", "))
	return []Effect{e.withClauseOf(objectName(id), "run", "with "+severalText(words))}
}

// isHostPathVolume reports whether a volume of the machine is added or removed as a whole.
func isHostPathVolume(c *match.Change) bool {
	for _, n := range []*object.Node{c.Old, c.New} {
		if n != nil && n.Kind == object.MapNode && n.Get("hostPath") != nil {
			return true
		}
	}
	return false
}

// levels are those of namespaces, from the narrowest.
var levels = []string{restrictedLevel, pinnedLevel, "baseline", openLevel}

// podSecurityLevel is what pods of a namespace may do. Without a label the cluster decides, which refuses nothing by default. Where both enforce,
// Pod Security refuses what the policy for pinned memory makes an exception for, and the policy all else.
func podSecurityLevel(o *object.Object) string {
	labels := o.Root.At("metadata", "labels")
	enforced := cmp.Or(labels.Scalar(enforceLabel), openLevel)
	switch {
	case labels.Scalar(pinnedLabel) != pinnedLevel:
		return enforced
	case enforced == openLevel:
		return pinnedLevel
	}
	return restrictedLevel
}

// podSecurityLevelEffect compares the levels of a namespace.
func (c *Cluster) podSecurityLevelEffect(changes []*match.Change) Effect {
	was, is := podSecurityLevel(changes[0].Before), podSecurityLevel(changes[0].After)
	before, after := slices.Index(levels, was), slices.Index(levels, is)
	detail := was + " → " + is
	enforced := slices.ContainsFunc(changes, func(change *match.Change) bool {
		return change.Path.Last() == enforceLabel || change.Path.Last() == pinnedLabel
	})
	older, newer := versionTrend(changes)
	switch {
	case was == is && older:
		return c.effect(changes, WidensSecurity, Warning, "pods are judged by the standards of an older version").withClause("get", "pods that are judged by the standards of an older version")
	case was == is && newer:
		return c.effect(changes, NarrowsSecurity, Warning, "pods are judged by the standards of a newer version").withClause("must", "run pods that a newer version accepts").withJobs(JobsHampered)
	case !enforced || was == is:
		return c.effect(changes, RestartsNothing, Info, "what is recorded and warned about changes, not what is refused").withClause("see", "other warnings")
	case after > before || after < 0:
		severity := Warning
		if is != pinnedLevel {
			severity = Critical
		}
		return c.effect(changes, WidensSecurity, severity, "pods may be "+is).withDetail(detail).withClause("get", "pods that may be "+is)
	}
	return c.effect(changes, NarrowsSecurity, Warning, "pods must be "+is).withDetail(detail).withClause("must", "run pods that are "+is).withJobs(JobsHampered)
}

// versionTrend reports whether the version changes by whose standards pods are refused. Without one it is the newest.
func versionTrend(changes []*match.Change) (older, newer bool) {
	minor := func(n *object.Node) int {
		_, text, _ := strings.Cut(n.Scalar(), "v1.")
		number, err := strconv.Atoi(text)
		if err != nil {
			return math.MaxInt
		}
		return number
	}
	for _, change := range changes {
		if change.Path.Last() == enforceLabel+"-version" {
			was, is := minor(change.Old), minor(change.New)
			older, newer = older || is < was, newer || is > was
		}
	}
	return older, newer
}

// podSecurityTrend says of values that go one way whether they let pods do more or less.
func (c *Cluster) podSecurityTrend(changes []*match.Change) Effect {
	o := changes[0].Object()
	what, who, of, jobs := "new pods of the runtime", "start", "", JobsUntouched
	switch {
	case o.ID.Kind == constraintKind:
		what, who, jobs = "pods that use the constraint", "allow", JobsHampered
	case !isRuntime(changes[0]):
		what, of = "pods of "+o.ID.Name, objectName(o.ID)
	}
	switch securityTrend(changes[0]) {
	case more:
		severity, given := Warning, ""
		if slices.ContainsFunc(changes, func(change *match.Change) bool { _, severe := privilegeTrend(change); return severe }) {
			severity = Critical
		}
		if words := privilegesOf(changes); len(words) > 0 {
			given = ": " + severalText(words)
		}
		return c.effect(changes, WidensSecurity, severity, what+" may do more on their machine"+given).withClauseOf(of, who, "pods that may do more on their machine"+given)
	case less:
		return c.effect(changes, NarrowsSecurity, Notice, what+" may do less on their machine").withClauseOf(of, who, "pods that may do less on their machine").withJobs(jobs)
	}
	if was := formerUser(changes); was != "" {
		return c.effect(changes, NewJobsOnly, Warning, what+" run as another user or group: files that the "+was+" wrote into volumes may be closed to them").
			withClauseOf(of, who, "pods as another user or group, to whom files of the "+was+" may be closed")
	}
	return c.effect(changes, NewJobsOnly, Notice, what+" run as somebody else, or with another profile").withClauseOf(of, who, "pods as somebody else")
}

// formerUser is the user, or the group, that pods no longer run as; "" where they had none, and where root is told elsewhere.
func formerUser(changes []*match.Change) string {
	for _, who := range []struct{ key, word string }{{"runAsUser", "user"}, {"runAsGroup", "group"}, {"fsGroup", "group"}, {"supplementalGroups", "group"}} {
		for _, change := range changes {
			if change.Path.Has(who.key) && change.Old != nil && change.Kind() != constraintKind {
				return who.word + " " + valueText(change.Old)
			}
		}
	}
	return ""
}

// securityTrend reports whether a value lets pods do more or less than before.
func securityTrend(c *match.Change) trend {
	towards, _ := privilegeTrend(c)
	return towards
}

// rootCapabilities are those that are as good as root on the machine.
var rootCapabilities = []string{"ALL", "*", "SYS_ADMIN", "SYS_MODULE", "SYS_PTRACE", "SYS_RAWIO", "DAC_READ_SEARCH", "DAC_OVERRIDE", "NET_ADMIN", "BPF", "SETUID"}

// strategies of constraints, from the narrowest.
var strategies = []string{"MustRunAs", "MustRunAsRange", "MustRunAsNonRoot", "RunAsAny"}

// privilegeTrend reports whether a value lets pods do more or less than before, and whether it is as good as the machine.
func privilegeTrend(c *match.Change) (towards trend, severe bool) {
	key, is := c.Path.Last(), c.New.Scalar()
	switch {
	case c.Whole() && c.Removed():
		// What no pod may use lets no pod do anything.
		return less, false
	case c.Whole() || addsPrivilege(c):
		_, severe := newPrivileges(c)
		return more, severe
	case isHostPathVolume(c) || c.Path.Has("hostPath"):
		return presenceTrend(c), c.New != nil
	case c.Path.Has("requiredDropCapabilities") || c.Path.Has("drop"):
		return presenceTrend(c).opposite(), c.Old != nil && c.New == nil
	case c.Path.Has("capabilities") || c.Path.Has("allowedCapabilities") || c.Path.Has("defaultAddCapabilities"):
		return presenceTrend(c), slices.Contains(rootCapabilities, strings.TrimPrefix(is, "CAP_"))
	case c.Path[0] == "volumes" || c.Path.Has("users") || c.Path.Has("groups") && c.Kind() == constraintKind || c.Path.Has("seccompProfiles") ||
		c.Path.Has("allowedUnsafeSysctls") || c.Path.Has("sysctls") || c.Path.Has("supplementalGroups") && c.Path.Last() != "type":
		return presenceTrend(c), slices.Contains([]string{"*", "hostPath", "unconfined", "system:authenticated"}, is)
	case key == "type" && c.Path.Has("seccompProfile"):
		return profileTrend(c), is == "Unconfined"
	case key == "type":
		return orderedTrend(c, strategies), is == "RunAsAny" && c.Path[0] == "runAsUser"
	case (key == "runAsUser" || c.Path.Is("runAsUser", "uid")) && (is == "0" || c.Old.Scalar() == "0"):
		return trendToward(is == "0"), is == "0"
	}
	if p, known := privileges[key]; known {
		return p.trendOf(c)
	}
	return unknown, false
}

// privilege is a field that opens something of the machine.
type privilege struct {
	// wide is the value by which pods may do more; "" where any value is.
	wide string
	// unsetIsWide reports whether it is wide, too, where nothing is written.
	unsetIsWide bool
	// mild is not a way to the machine on its own.
	mild bool
	// ofPod reports whether it stands in the spec of a pod, outside of what is called a security context.
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

// trendOf reports whether a value lets pods do more or less than before, and whether it is as good as the machine.
func (p privilege) trendOf(c *match.Change) (towards trend, severe bool) {
	holds := func(n *object.Node) bool {
		if n == nil {
			return p.unsetIsWide
		}
		return n.Text == p.wide
	}
	switch {
	case p.wide == "":
		return presenceTrend(c), c.New != nil && !p.mild
	case holds(c.Old) == holds(c.New):
		return unknown, false
	}
	return trendToward(holds(c.New)), holds(c.New) && !p.mild
}

func orderedTrend(c *match.Change, order []string) trend {
	a, b := slices.Index(order, cmp.Or(c.Old.Scalar(), "RunAsAny")), slices.Index(order, cmp.Or(c.New.Scalar(), "RunAsAny"))
	if a < 0 || b < 0 || a == b {
		return unknown
	}
	return trendToward(b > a)
}

func profileTrend(c *match.Change) trend {
	return orderedTrend(&match.Change{Old: textNode(cmp.Or(c.Old.Scalar(), "Unconfined")), New: textNode(cmp.Or(c.New.Scalar(), "Unconfined"))}, []string{"RuntimeDefault", "Localhost", "Unconfined"})
}

// privilegesOf are what some values give pods of their machine, in words, each once.
func privilegesOf(changes []*match.Change) []string {
	var found []string
	for _, c := range changes {
		wide, _ := newPrivileges(c)
		words := privilegesOf(wide)
		if len(words) == 0 {
			words = []string{privilegeOf(c)}
		}
		for _, word := range words {
			if word != "" && !slices.Contains(found, word) {
				found = append(found, word)
			}
		}
	}
	return found
}

// privilegeOf is what a value gives pods of their machine: `privileged`, `hostPath /`, `capability SYS_ADMIN`.
func privilegeOf(c *match.Change) string {
	key, is := c.Path.Last(), valueText(c.New)
	switch {
	case c.Whole():
		return ""
	case c.Path.Has("capabilities") && c.Path.Has("add"), c.Path.Has("allowedCapabilities"), c.Path.Has("defaultAddCapabilities"):
		return "capability " + strings.Trim(is, "[]")
	case c.Kind() == constraintKind && key == c.New.Scalar():
		return c.Path.String()
	case isHostPathVolume(c):
		return "hostPath " + c.New.Scalar("hostPath", "path")
	case c.Path.Has("hostPath") && key == "path":
		return "hostPath " + is
	case c.Path.Has("hostPath"):
		return ""
	case c.Path.Has("drop"), c.Path.Has("requiredDropCapabilities"):
		return "capability " + strings.Trim(valueText(c.Old), "[]") + " not dropped"
	case c.Path.Has("seccompProfile"):
		return "seccomp " + cmp.Or(c.New.Scalar(), "Unconfined")
	case privileges[key].wide == "true" && c.New.Scalar() != "false":
		return key
	case c.New == nil:
		return "no " + c.Path.Short()
	case c.Kind() == constraintKind:
		return c.Path.String() + " " + is
	}
	return key + " " + is
}
