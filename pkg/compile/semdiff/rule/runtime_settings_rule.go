package rule

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"lockstep.dev/lockstep/pkg/compile/object"
	"lockstep.dev/lockstep/pkg/compile/origin"
	"lockstep.dev/lockstep/pkg/compile/semdiff/match"
	"lockstep.dev/lockstep/pkg/mpi"
)

var wiringRule = &Rule{
	Name: "wiring", Title: "How the pods of a runtime are put together",
	Doc: "Everything else of a runtime: MPI implementation and version, commands, volumes, scheduling, probes, policies of its JobSet. Jobs that " +
		"are created afterwards get it, because Trainer takes a snapshot of the runtime when a job is created (since 2.3). Another MPI " +
		"implementation or major version is a warning: images must have it too; variables and arguments that follow from it are in its entry. So is a toleration of every taint: jobs may start on machines that are kept for others, a Secret or a volume that " +
		"they did not have, another service account, priority or scheduler, other hosts under the same names, and a shorter time after which jobs are ended.",
	Says: []Consequence{NewJobsOnly},
	claims: func(c *match.Change) bool {
		if !isRuntime(c) || c.Whole() {
			return false
		}
		return c.Path[0] == "spec" || c.Path[0] == "apiVersion" || len(c.Path) == 3 && slices.Contains([]string{
			mpi.ImplementationLabel, mpi.VersionLabel, "lockstep.dev/profile", mpi.FrameworkLabel, mpi.GangTimeoutAnnotation,
		}, c.Path[2])
	},
	judge: func(c *Cluster, changes []*match.Change) []Effect {
		effects, other := c.tolerationEffects(changes), []*match.Change(nil)
		for _, part := range match.ByObject(slices.DeleteFunc(slices.Clone(changes), isToleration)) {
			if !slices.ContainsFunc(part, isOtherMPI) {
				other = append(other, part...)
				continue
			}
			first := slices.DeleteFunc(slices.Clone(part), func(change *match.Change) bool { return !isOtherMPI(change) })
			follows := slices.DeleteFunc(missingFrom(part, first), func(change *match.Change) bool { return !isOfCompiler(change) })
			effects = append(effects, c.runtimeSettingsEffect(append(first, follows...)))
			other = append(other, missingFrom(missingFrom(part, first), follows)...)
		}
		return append(effects, judgeByCause((*Cluster).runtimeSettingsEffect)(c, other)...)
	},
}

// runtimesOfOtherMPI are the runtimes that have another implementation or version of MPI.
func runtimesOfOtherMPI(changes []*match.Change) map[object.ID]bool {
	found := map[object.ID]bool{}
	for _, change := range changes {
		if isRuntime(change) && !change.Whole() && isOtherMPI(change) {
			found[change.Object().ID] = true
		}
	}
	return found
}

// followsMPI reports whether a change of a runtime with another MPI is one that the compiler makes of that: it is a part of the same entry.
func followsMPI(rule *Rule, change *match.Change) bool {
	return slices.Contains([]*Rule{environmentRule, programRule, spellingRule, resourcesRule}, rule) && !change.Whole() && isOfCompiler(change)
}

// isOfCompiler reports whether the compiler alone wrote both values of a change, and no line of a spec did.
func isOfCompiler(c *match.Change) bool {
	own := func(o *origin.Origin) bool { return o == nil || o.Kind == origin.Constant || o.Kind == origin.Derived }
	return own(c.From) && own(c.To) && !patchOverridesCompiler(c)
}

func (c *Cluster) runtimeSettingsEffect(part []*match.Change) Effect {
	severity, title, rest, help := Notice, "new jobs are put together in another way", "new jobs in another way", ""
	if lost := lostMounts(part); len(lost) > 0 {
		severity, title, rest = Warning, "new jobs no longer have what was mounted at "+severalText(lost), "new jobs without what was at "+severalText(lost)
	}
	if slices.ContainsFunc(part, changesPlacement) {
		title, rest = "new jobs start on other machines", "new jobs on other machines"
	}
	if i := slices.IndexFunc(part, func(change *match.Change) bool { return change.Path.Last() == mpi.GangTimeoutAnnotation }); i >= 0 {
		severity, title, rest = gangTimeoutText(part[i])
	}
	if i := slices.IndexFunc(part, limitsJobTime); i >= 0 {
		severity, title, rest = deadlineText(part[i])
	}
	if slices.ContainsFunc(part, isOtherMPI) {
		severity, title, rest = Warning, "new jobs run with another MPI: their images must have it", "new jobs with another MPI"
		help = "jobs that exist keep the runtime as it was, those that wait or are restarted, too; change the images with it"
	}
	if severity < Warning && slices.ContainsFunc(part, patchOverridesCompiler) {
		severity, title, rest = Warning, "new jobs are put together in another way than the compiler does, by a patch", "new jobs in another way than the compiler does, by a patch"
	}
	if words := otherPods(part); words != "" {
		severity, title, rest = Warning, "pods of new jobs "+words, "new jobs whose pods "+words
	}
	return c.effect(part, NewJobsOnly, severity, title).withClause("start", rest).withHelp(help)
}

// isOtherMPI reports whether a runtime has another implementation or version; the executors write the labels to different places.
func isOtherMPI(c *match.Change) bool {
	return (c.Path.Last() == mpi.ImplementationLabel || c.Path.Last() == mpi.VersionLabel) && c.Old != nil && c.New != nil
}

// lostMounts are the paths at which nothing is mounted any more that a spec asked for; what the compiler adds has its own prefix.
func lostMounts(part []*match.Change) []string {
	var lost []string
	for _, change := range part {
		if path := change.Old.Scalar("mountPath"); path != "" && change.New == nil && !strings.HasPrefix(change.Old.Scalar("name"), "lockstep-") {
			lost = append(lost, path)
		}
	}
	return sortedDistinct(lost)
}

// gangTimeoutText says how long new jobs wait for all of their pods.
func gangTimeoutText(c *match.Change) (severity Severity, title, rest string) {
	if c.New == nil {
		return Warning, "new jobs hold their machines without end while some of their pods do not start", "new jobs that hold machines while they are not complete"
	}
	return Notice, "new jobs wait another time for all of their pods: " + cmp.Or(c.Old.Scalar(), "without end") + " → " + c.New.Scalar(), "new jobs that wait another time for all of their pods"
}

// limitsJobTime reports whether a change is about how long a job may run.
func limitsJobTime(c *match.Change) bool { return c.Path.Last() == "activeDeadlineSeconds" }

// deadlineText says when new jobs end, whether they are done or not.
func deadlineText(c *match.Change) (severity Severity, title, rest string) {
	was, is := secondsText(c.Old), secondsText(c.New)
	if c.New == nil || c.Old != nil && trendOf(c.Old, c.New) == more {
		return Notice, "new jobs may run longer: " + was + " → " + is, "new jobs that may run longer, " + is
	}
	return Warning, "new jobs are ended sooner, whether they are done or not: " + was + " → " + is, "new jobs that are ended after " + is
}

// secondsText is a number of them as people write it: `72h`.
func secondsText(n *object.Node) string {
	if n == nil {
		return "no end"
	}
	d, err := time.ParseDuration(n.Text + "s")
	if err != nil {
		return n.Text
	}
	text := strings.TrimSuffix(d.String(), "0s")
	if strings.HasSuffix(text, "h0m") {
		text = strings.TrimSuffix(text, "0m")
	}
	return text
}

func isToleration(c *match.Change) bool { return c.Path.Has("tolerations") }

// tolerationEffects says what becomes of the taints that jobs of a runtime tolerate, as one effect for each runtime: one taint goes and another
// one comes where a spec words it otherwise.
func (c *Cluster) tolerationEffects(changes []*match.Change) []Effect {
	var effects []Effect
	mine := slices.DeleteFunc(slices.Clone(changes), func(change *match.Change) bool { return !isToleration(change) })
	for _, part := range match.ByObject(mine) {
		slices.SortStableFunc(part, func(a, b *match.Change) int { return tolerationKind(b) - tolerationKind(a) })
		severity, title, rest := Notice, "new jobs tolerate other taints: they may start on other machines", "new jobs that tolerate other taints"
		switch tolerationKind(part[0]) {
		case everyTaint:
			severity, title, rest = Warning, "new jobs tolerate every taint: they may start on any machine, those of the control plane and those kept for others too", "new jobs on any machine, whatever its taints"
		case taintGone:
			title, rest = "new jobs tolerate fewer taints: they start on fewer machines", "new jobs that tolerate fewer taints"
		}
		effects = append(effects, c.effect(part, NewJobsOnly, severity, title).withClause("start", rest))
	}
	return effects
}

// What becomes of a toleration, from the least to the most that jobs may do by it.
const (
	taintGone = iota
	otherTaint
	everyTaint
)

// tolerationKind is what a change of tolerations lets jobs do. One without a key is for every taint, or for all with its effect
// (https://kubernetes.io/docs/concepts/scheduling-eviction/taint-and-toleration/).
func tolerationKind(c *match.Change) int {
	if c.New == nil {
		return taintGone
	}
	if toleratesEveryKey(c.New) || c.New.Kind == object.ListNode && slices.ContainsFunc(slices.Collect(c.New.Items()), toleratesEveryKey) {
		return everyTaint
	}
	return otherTaint
}

// toleratesEveryKey reports whether a toleration is for taints of every key.
func toleratesEveryKey(n *object.Node) bool {
	return n.Kind == object.MapNode && n.Scalar("key") == "" && n.Scalar("operator") == "Exists"
}

// toleratesEverything reports whether a pod may start on any machine.
func toleratesEverything(pod *object.Node) bool {
	return slices.ContainsFunc(slices.Collect(pod.Get("tolerations").Items()), toleratesEveryKey)
}
