package rule

import (
	"cmp"
	"slices"
	"strings"
	"unicode"

	"lockstep.dev/lockstep/pkg/compile/object"
	"lockstep.dev/lockstep/pkg/compile/semdiff/match"
)

// The policy for TrainJobs knows the catalog by tables: variables that are literals of CEL, `{'minNodes': '1', 'maxNodes': '4', …}` for a
// runtime and `{'cpu': '200', …}` for a profile, and an index of each (package lower, trainjob_policy.go). A runtime also has where its
// pods go (`label/pool`, `toleration/…`) and, where jobs queue, what one node may take (`share/cpu`); `machineLabels` lists what tells
// machines apart, `machineResources` what they offer.

// trainJobPolicy is the policy that has the tables.
const trainJobPolicy = "lockstep-trainjob"

const (
	machineLabels    = "machineLabels"
	machineResources = "machineResources"
)

// isCatalogTable reports whether a change is about such a table.
func isCatalogTable(c *match.Change) bool {
	if c.Object().ID.Name != trainJobPolicy || len(c.Path) < 3 || c.Path[0] != "spec" || c.Path[1] != "variables" {
		return false
	}
	name := c.Path[2]
	return strings.HasPrefix(name, "runtime_") || strings.HasPrefix(name, "profile_") || name == "runtimes" || name == "profiles" || name == machineLabels || name == machineResources
}

// parseCatalogTable reads a literal: its texts by key.
func parseCatalogTable(expression string) map[string]string {
	table := map[string]string{}
	for _, entry := range strings.Split(strings.Trim(expression, "{} "), ",") {
		key, value, found := strings.Cut(entry, ":")
		if found {
			table[strings.Trim(strings.TrimSpace(key), "'")] = strings.Trim(strings.TrimSpace(value), "'")
		}
	}
	return table
}

// judgeCatalogTable judges bounds of runtimes and profiles in the policy. What it adds or removes as a whole follows from the catalog.
func judgeCatalogTable(c *match.Change) judgement {
	name := c.Path[2]
	if name == "runtimes" || name == "profiles" {
		if !entriesNameOwnTables(c.New.Scalar(), strings.TrimSuffix(name, "s")) {
			return judgement{AdmitsMore, Warning, "the policy for TrainJobs takes one runtime or profile for another", Clause{Verb: "are", Rest: "judged in another way"}}
		}
		return judgement{RestartsNothing, Info, "the policy for TrainJobs knows other runtimes or profiles", Clause{Verb: "know", Rest: "other runtimes"}}
	}
	switch {
	case name == machineLabels:
		return judgeForbiddenMachineLabels(c)
	case name == machineResources:
		return judgeAllowedMachineResources(c)
	case c.Removed():
		return judgement{AdmitsLess, Notice, "the policy for TrainJobs no longer knows a runtime or a profile", Clause{Of: "the policy for TrainJobs", Verb: "know", Rest: "fewer runtimes or profiles"}}
	case c.Added():
		return judgement{AdmitsMore, Info, "the policy for TrainJobs knows one more runtime or profile", Clause{Of: "the policy for TrainJobs", Verb: "know", Rest: "more runtimes or profiles"}}
	}
	return judgeBounds(parseCatalogTable(c.Old.Scalar()), parseCatalogTable(c.New.Scalar()))
}

// judgedOtherwise is what becomes of a table that is not understood.
var judgedOtherwise = judgement{AdmitsMore, Warning, "the policy for TrainJobs judges a runtime in another way", Clause{Verb: "are", Rest: "judged in another way"}}

// judgeBounds compares the bounds of a runtime or a profile.
func judgeBounds(before, after map[string]string) judgement {
	all, differs, moves := unknown, false, false
	for _, key := range keysOfTables(before, after) {
		towards := trendOfEntry(key, before, after)
		differs = differs || before[key] != after[key]
		switch {
		case before[key] == after[key] || key == "nodes":
		case strings.HasPrefix(key, "label/") || strings.HasPrefix(key, "toleration/"):
			moves = true
		case towards == unknown || all != unknown && all != towards:
			return judgedOtherwise
		default:
			all = towards
		}
	}
	switch {
	case !differs || len(before) == 0 || len(after) == 0:
		return judgedOtherwise
	case all == more:
		return judgement{AdmitsMore, Notice, "the policy for TrainJobs accepts more of a runtime or a profile", Clause{Verb: "admit", Rest: "more"}}
	case all == less:
		return judgement{AdmitsLess, Warning, "the policy for TrainJobs accepts less of a runtime or a profile", Clause{Verb: "admit", Rest: "less"}}
	}
	if moves && before["nodes"] == after["nodes"] {
		return judgement{RestartsNothing, Info, "the policy for TrainJobs knows other machines of a runtime", Clause{Verb: "know", Rest: "other machines"}}
	}
	return judgement{NewJobsOnly, Notice, "the policy for TrainJobs counts with another default", Clause{Verb: "start", Rest: "new jobs with another number of nodes"}}
}

func trendOfEntry(key string, before, after map[string]string) trend {
	switch {
	case strings.HasPrefix(key, "share/"):
		return shareTrend(key, before, after)
	case key == "minNodes":
		return trendOf(textNode(before[key]), textNode(after[key])).opposite()
	}
	return trendOf(textNode(before[key]), textNode(after[key]))
}

// shareTrend compares what one node may take. A table without shares bounds nothing; one with shares gives nothing of what it does not name.
func shareTrend(key string, before, after map[string]string) trend {
	const always = "share/cpu"
	switch {
	case before[always] == "":
		return less
	case after[always] == "":
		return more
	}
	return trendOf(textNode(cmp.Or(before[key], "0")), textNode(cmp.Or(after[key], "0")))
}

// judgeForbiddenMachineLabels judges the list of labels that patches of TrainJobs may not choose machines by.
func judgeForbiddenMachineLabels(c *match.Change) judgement {
	if c.Removed() || !c.Added() && len(missingFrom(celListItems(c.Old), celListItems(c.New))) > 0 {
		return judgement{AdmitsMore, Notice, "TrainJobs may choose machines by more labels", Clause{Verb: "admit", Rest: "more"}}
	}
	return judgement{AdmitsLess, Notice, "TrainJobs may choose machines by fewer labels", Clause{Verb: "admit", Rest: "less"}}
}

// judgeAllowedMachineResources judges the list of resources that TrainJobs of runtimes that others installed may ask for.
func judgeAllowedMachineResources(c *match.Change) judgement {
	if !c.Added() && len(missingFrom(celListItems(c.Old), celListItems(c.New))) > 0 {
		return judgement{AdmitsLess, Notice, "TrainJobs of external runtimes may ask for fewer kinds of resources", Clause{Verb: "admit", Rest: "less"}}
	}
	return judgement{AdmitsMore, Info, "TrainJobs of external runtimes may ask for more kinds of resources", Clause{Verb: "admit", Rest: "more"}}
}

// celListItems reads a list of CEL.
func celListItems(list *object.Node) []string {
	return strings.Split(strings.Trim(list.Scalar(), "[]"), ", ")
}

// catalogTableChangesText are the entries of tables that differ: `maxNodes of train: 4 → 8`. Tables that come or go are named.
func catalogTableChangesText(changes []*match.Change) string {
	var words []string
	for _, c := range changes {
		_, name, found := strings.Cut(c.Path[2], "_")
		before, after := parseCatalogTable(c.Old.Scalar()), parseCatalogTable(c.New.Scalar())
		if !found || len(before) == 0 || len(after) == 0 {
			words = append(words, c.Path[2])
			continue
		}
		for _, key := range keysOfTables(before, after) {
			if before[key] != after[key] {
				what := key
				if resource, found := strings.CutPrefix(key, "share/"); found {
					what = resource + " that Kueue counts for a node"
				}
				words = append(words, what+" of "+name+": "+cmp.Or(before[key], "nothing")+" → "+cmp.Or(after[key], "nothing"))
			}
		}
	}
	if len(words) == 0 {
		return changesText(changes)
	}
	return strings.Join(words, ", ")
}

// entriesNameOwnTables reports whether each entry of an index names the table of its own: `{'a-b': variables.runtime_a_b}`.
func entriesNameOwnTables(expression, kind string) bool {
	letters := func(text string) string {
		return strings.Map(func(r rune) rune {
			if r < 128 && (unicode.IsLetter(r) || unicode.IsDigit(r)) {
				return r
			}
			return -1
		}, text)
	}
	table := parseCatalogTable(expression)
	for key, value := range table {
		named, found := strings.CutPrefix(value, "variables."+kind+"_")
		if !found || letters(named) != letters(key) {
			return false
		}
	}
	return len(table) > 0
}

func keysOfTables(a, b map[string]string) []string {
	var keys []string
	for key := range a {
		keys = append(keys, key)
	}
	for key := range b {
		if _, known := a[key]; !known {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	return keys
}
