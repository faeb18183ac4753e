package semdiff

import "strings"

import "slices"

// rules are all rules in the order in which they are asked: what is special comes before what is general.
var rules []*Rule

// The rules refer to functions that look at all of them, which Go takes for a cycle in a plain initialisation.
func init() { //nolint:gochecknoinits // breaks an initialisation cycle
	rules = []*Rule{
		renamesRule, spellingRule, gitopsRule, boundaryRule,
		immutableRule, networkRule, exposureRule, accessRule, securityRule, admissionRule, quotaRule, storageRule,
		imageRule, resourcesRule, environmentRule, nodesRule, lifecycleRule, wiringRule,
		monitoringRule, labelsRule, chartsRule, ownershipRule, specsRule, unclassifiedRule,
	}
}

// runtimeKinds are the kinds of runtimes; workloadKinds those whose pods the platform runs.
var (
	runtimeKinds  = []string{"ClusterTrainingRuntime", "TrainingRuntime"}
	workloadKinds = []string{"Deployment", "StatefulSet", "DaemonSet", "Job", "CronJob", "Pod", "ReplicaSet", "ReplicationController"}
)

func isRuntime(c *Change) bool { return slices.Contains(runtimeKinds, c.Kind()) }

// effect returns what some changes of one object with one cause mean.
func (c *cluster) effect(changes []*Change, consequence Consequence, severity Severity, title, detail string) Effect {
	e := Effect{Consequence: consequence, Severity: severity, Subject: c.subject(changes[0]), Title: title, Detail: detail, Changes: changes}
	e.Before, e.After = changes[0].Spans()
	return e
}

// with returns the effect with a clause for the verdict.
func (e Effect) with(verb, rest string) Effect {
	e.Gist = Gist{Verb: verb, Rest: rest}
	return e
}

// to returns the effect with what becomes of running jobs.
func (e Effect) to(jobs Jobs) Effect {
	e.Jobs = jobs
	return e
}

// helped returns the effect with what to do.
func (e Effect) helped(help string) Effect {
	e.Help = help
	return e
}

// parts divides changes by object and by the lines that are responsible, in their order.
func parts(changes []*Change) [][]*Change {
	type cause struct {
		object        string
		before, after place
	}
	at := map[cause]int{}
	var result [][]*Change
	for _, change := range changes {
		before, after := change.Spans()
		k := cause{change.Object().ID.String(), placeOf(before), placeOf(after)}
		i, known := at[k]
		if !known {
			i = len(result)
			at[k] = i
			result = append(result, nil)
		}
		result[i] = append(result[i], change)
	}
	return result
}

// byObject divides changes by object, in their order.
func byObject(changes []*Change) [][]*Change {
	at := map[string]int{}
	var result [][]*Change
	for _, change := range changes {
		k := change.Object().ID.String()
		i, known := at[k]
		if !known {
			i = len(result)
			at[k] = i
			result = append(result, nil)
		}
		result[i] = append(result[i], change)
	}
	return result
}

// shown is a change as people read it: `spec.x: 1 → 2`.
func shown(c *Change) string {
	switch {
	case c.Renamed():
		return c.Before.ID.String() + " → " + c.After.ID.String()
	case c.Whole():
		return c.Object().ID.String()
	}
	was, is := values(c.Old, c.New)
	return c.Path.short() + ": " + was + " → " + is
}

// shownAll shows the first few changes; those that say the same of several jobs are one: `launcher, node: image: a → b`.
func shownAll(changes []*Change) string {
	const most = 3
	var order []string
	jobs := map[string][]string{}
	for _, c := range changes {
		text := shown(c)
		job := ""
		if before, after, found := strings.Cut(text, ": "); found && c.Path.Has("replicatedJobs") && c.Path.Has(before) {
			job, text = before, after
		}
		if jobs[text] == nil {
			order = append(order, text)
		}
		jobs[text] = append(jobs[text], job)
	}
	text, said := "", 0
	for i, line := range order {
		if i == most {
			return text + " and " + plural(len(changes)-said, "more value")
		}
		if i > 0 {
			text += ", "
		}
		said += len(jobs[line])
		if names := strings.Join(distinct(jobs[line]), ", "); names != "" {
			text += names + ": "
		}
		text += line
	}
	return text
}
