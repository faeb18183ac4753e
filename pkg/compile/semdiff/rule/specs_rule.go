package rule

import (
	"cmp"
	"net/netip"
	"slices"
	"strings"

	"lockstep.dev/lockstep/pkg/compile/object"
	"lockstep.dev/lockstep/pkg/compile/semdiff/match"
)

var specsRule = &Rule{
	Name: "specs", Title: "Lines of specs that change no object",
	Doc: "Not all that specs say becomes an object: some of it is for the checks, such as the addresses of a cluster, or holds where a tenant " +
		"has no queue. Lines that differ and from which no object comes that differs are one entry, with what they said and say. Comments, order of " +
		"keys and spelling are no change. What traffic between machines is protected by is an entry of its own: a tenant that no longer requires " +
		"encryption may live on clusters that have none, and a cluster that no longer has it does not tell anybody else. It is critical where a change " +
		"takes both, and where a tenant moves from encrypted clusters to one without. A check that a cluster switches off is an entry of its own, too: digests of images that are no longer required, names of namespaces " +
		"that are no longer reserved, addresses that no longer count as the cluster's own. So is another executor of TrainJobs, which is critical: running jobs were made by the one before.",
	Says:   []Consequence{SpecsOnly, WeakensEncryption, WeakensChecks, RestartsPlatform},
	claims: func(*match.Change) bool { return false },
	judge:  func(*Cluster, []*match.Change) []Effect { return nil },
}

// SpecEffects says what changes of specs mean that no object says, beside the lines from which values of objects come that differ.
// Clear reports on which clusters traffic between machines is in the clear in the state before and in the state after.
func SpecEffects(changes []*match.Change, lines *ChangedLines, clear func(cluster string) (was, is bool)) []Effect {
	told, left := slices.Concat(encryptionEffects(changes, clear), switchedOffChecks(changes), executorEffects(changes)), []*match.Change(nil)
	for _, change := range changes {
		if !lines.hasLineOf(change) && !tenantMoves(change) && !slices.ContainsFunc(told, func(e Effect) bool { return slices.Contains(e.Changes, change) }) {
			left = append(left, change)
		}
	}
	told = append(told, specsOnlyEffects(left, lines)...)
	for i := range told {
		told[i].Rule = specsRule.Name
	}
	return told
}

// tenantMoves reports whether a tenant comes to a cluster or leaves one, which its objects tell.
func tenantMoves(c *match.Change) bool {
	return c.Kind() == "Tenant" && c.Path.Is("spec", "clusters", "**")
}

// encryptionEffects is the traffic that is, or may be, in the clear.
func encryptionEffects(changes []*match.Change, clear func(cluster string) (was, is bool)) []Effect {
	var effects []Effect
	open := map[string]bool{}
	for _, change := range changes {
		if change.Kind() == "Cluster" && change.Path.Is("spec", "network", "encryption") && weakenedChecks(change.New.Scalar()) && !weakenedChecks(change.Old.Scalar()) {
			open[change.Object().ID.Name] = true
			effects = append(effects, specEffect([]*match.Change{change}, WeakensEncryption, Warning, "traffic between the machines of a cluster is no longer encrypted, as its spec has it").
				withClause("lose", "the encryption of traffic between machines"))
		}
	}
	for _, change := range changes {
		if e, moves := movesIntoClear(change, clear); moves {
			effects = append(effects, e)
		}
		if change.Kind() != "Tenant" || change.Before == nil || change.After == nil || !change.Path.Is("spec", "network", "**") ||
			change.Before.Root.Scalar("spec", "network", "requireEncryption") != "true" || change.After.Root.Scalar("spec", "network", "requireEncryption") == "true" {
			continue
		}
		e := specEffect([]*match.Change{change}, WeakensEncryption, Warning, "a tenant no longer requires that traffic between machines is encrypted").
			withClause("drop", "the requirement of encrypted traffic")
		for _, name := range change.After.Root.At("spec", "clusters").Strings() {
			if _, is := clear(name); open[name] {
				e.Severity, e.Jobs, e.Clause.Rest = Critical, JobsIncluded, "the requirement of encrypted traffic, on a cluster that loses it"
			} else if is {
				e.Severity, e.Clause.Rest = Critical, "the requirement of encrypted traffic, and lives on cluster "+name+", which has none"
			}
		}
		effects = append(effects, e)
	}
	return effects
}

// movesIntoClear is a tenant that comes to a cluster whose traffic is in the clear, and lived only on clusters where it is encrypted. It is
// critical where it leaves one of those.
func movesIntoClear(change *match.Change, clear func(cluster string) (was, is bool)) (e Effect, moves bool) {
	if !tenantMoves(change) || change.Before == nil || change.After == nil || change.New == nil {
		return e, false
	}
	inClear := func(name string) bool { was, _ := clear(name); return was }
	before, after := change.Before.Root.At("spec", "clusters").Strings(), change.After.Root.At("spec", "clusters").Strings()
	name, gone := change.New.Scalar(), missingFrom(before, after)
	if _, is := clear(name); !is || len(before) == 0 || slices.Contains(before, name) || slices.ContainsFunc(before, inClear) {
		return e, false
	}
	e = specEffect([]*match.Change{change}, WeakensEncryption, Warning, "a tenant whose traffic between machines was encrypted comes to a cluster where it is not").
		withClause("come", "to cluster "+name+", which does not encrypt traffic between machines")
	if len(gone) > 0 {
		e.Severity, e.Clause.Verb = Critical, "move"
	}
	return e, true
}

// switchedOffChecks are those that a cluster switches off.
func switchedOffChecks(changes []*match.Change) []Effect {
	var effects []Effect
	for _, change := range changes {
		if change.Kind() != "Cluster" || change.Old == nil {
			continue
		}
		switch p := change.Path; {
		case p.Is("spec", "requireDigests") && change.Old.Scalar() == "true" && change.New.Scalar() != "true":
			effects = append(effects, specEffect([]*match.Change{change}, WeakensChecks, Warning, "images need no digest any more: all who can push a tag decide what runs").
				withClause("require", "no digests of images any more"))
		case p.Is("spec", "reservedNamespaces", "**") && (change.New == nil || len(missingFrom(textsOf(change.Old), textsOf(change.New))) > 0):
			name := severalText(missingFrom(textsOf(change.Old), textsOf(change.New)))
			effects = append(effects, specEffect([]*match.Change{change}, WeakensChecks, Warning, "names of namespaces are no longer reserved: a tenant may take "+name).
				withClause("reserve", "no longer the namespace "+name))
		case p.Is("spec", "network", "ranges", "**") && len(lostRanges(change)) > 0:
			gone := severalText(lostRanges(change))
			effects = append(effects, specEffect([]*match.Change{change}, WeakensChecks, Warning, "addresses no longer count as the cluster's own: a tenant may open "+gone+" without a finding").
				withClause("take", gone+" no longer for addresses of pods and Services"))
		}
	}
	return effects
}

// lostRanges are the ranges of a cluster that are gone and that no other one of its holds.
func lostRanges(c *match.Change) []string {
	still := textsOf(c.After.Root.At("spec", "network", "ranges"))
	return slices.DeleteFunc(missingFrom(textsOf(c.Old), still), func(gone string) bool {
		return slices.ContainsFunc(still, func(held string) bool { return rangeHolds(held, gone) })
	})
}

// rangeHolds reports whether all addresses of one range are in another one.
func rangeHolds(wide, narrow string) bool {
	outer, err := netip.ParsePrefix(wide)
	inner, other := netip.ParsePrefix(narrow)
	return err == nil && other == nil && outer.Bits() <= inner.Bits() && outer.Contains(inner.Addr())
}

// executorEffects are clusters on which somebody else executes TrainJobs.
func executorEffects(changes []*match.Change) []Effect {
	var effects []Effect
	for _, change := range changes {
		if change.Kind() != "Cluster" || !change.Path.Is("spec", "executor") || cmp.Or(change.Old.Scalar(), bundled) == cmp.Or(change.New.Scalar(), bundled) {
			continue
		}
		from, to := "Kubeflow Trainer", "mpi-controller"
		if change.New.Scalar() != "" && change.New.Scalar() != bundled {
			from, to = to, from
		}
		effects = append(effects, specEffect([]*match.Change{change}, RestartsPlatform, Critical, to+" executes TrainJobs instead of "+from+": running jobs were made by the other one").
			withClause("execute", "TrainJobs with "+to+" instead of "+from).withJobs(JobsHampered).
			withHelp("let running jobs end, or suspend them, before this is merged: a job that runs through it is looked after by nobody, or by one who did not start it"))
	}
	return effects
}

// bundled is the executor where a cluster names none.
const bundled = "Bundled"

// textsOf are a text, or those of a list.
func textsOf(n *object.Node) []string {
	if n != nil && n.Leaf() {
		return []string{n.Text}
	}
	return n.Strings()
}

func weakenedChecks(encryption string) bool { return encryption == "" || encryption == "None" }

// specsOnlyEffects are the changes of specs that no object has, one effect per spec and one entry for all of them: at the first line.
func specsOnlyEffects(changes []*match.Change, lines *ChangedLines) []Effect {
	var effects []Effect
	for _, sure := range []bool{true, false} {
		all := slices.DeleteFunc(slices.Clone(changes), func(change *match.Change) bool { return lines.vague[change.Object().Origin.Path()] == sure })
		title := "changed in the specs, in no object: " + changedFieldNames(all)
		if !sure {
			title = "changed in the specs, and no object says that it comes from there: " + changedFieldNames(all)
		}
		for i, part := range match.ByObject(all) {
			e := specEffect(part, SpecsOnly, Info, title)
			if i > 0 {
				first := &effects[len(effects)-1]
				e.Before, e.After = first.Before, first.After
			}
			effects = append(effects, e)
		}
	}
	return effects
}

// changedFieldNames names the first few fields of changes, each once.
func changedFieldNames(changes []*match.Change) string {
	const most = 4
	var names []string
	for _, change := range changes {
		name := change.Path.Short()
		if change.Whole() {
			name = change.Kind() + " " + change.Object().ID.Name
		}
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	if more := len(names) - most; more > 0 {
		names = append(names[:most], Plural(more, "other"))
	}
	return strings.Join(names, ", ")
}

// specEffect is an effect that is about specs.
func specEffect(changes []*match.Change, consequence Consequence, severity Severity, title string) Effect {
	const most = 8
	id := changes[0].Object().ID
	e := Effect{Consequence: consequence, Severity: severity, Title: title, Changes: changes}
	switch id.Kind {
	case "Tenant":
		e.Subject.Tenant = id.Name
	case "Cluster":
		e.Subject.Cluster = id.Name
	default:
		e.Subject.Object = id.String()
	}
	var words []string
	for i, change := range changes {
		if i == most {
			words = append(words, Plural(len(changes)-most, "more line"))
			break
		}
		words = append(words, specChangeText(change))
	}
	e.Detail = strings.Join(words, ", ")
	e.Before, e.After = specSpans(changes[0])
	return e
}
