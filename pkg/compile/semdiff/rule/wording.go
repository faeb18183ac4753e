package rule

import (
	"strconv"
	"strings"

	"lockstep.dev/lockstep/pkg/compile/object"
	"lockstep.dev/lockstep/pkg/compile/semdiff/match"
)

// changeText is a change as people read it: `spec.x: 1 → 2`.
func changeText(c *match.Change) string {
	switch {
	case c.Renamed():
		return c.Before.ID.String() + " → " + c.After.ID.String()
	case c.Whole():
		return c.Object().ID.String()
	}
	return c.Path.Short() + fromToText(c)
}

func fromToText(c *match.Change) string {
	was, is := valueTexts(c.Old, c.New)
	return ": " + was + " → " + is
}

// changesText shows the first few changes; those that say the same of several jobs are one: `launcher, node: image: a → b`.
func changesText(changes []*match.Change) string {
	const most = 3
	var order []string
	jobs := map[string][]string{}
	for _, c := range changes {
		job, text := "", changeText(c)
		if !c.Whole() {
			var rest string
			job, rest = c.Path.InJob()
			text = rest + fromToText(c)
		}
		if jobs[text] == nil {
			order = append(order, text)
		}
		jobs[text] = append(jobs[text], job)
	}
	text, said := "", 0
	for i, line := range order {
		if i == most {
			return text + " and " + Plural(len(changes)-said, "more value")
		}
		if i > 0 {
			text += ", "
		}
		said += len(jobs[line])
		if names := strings.Join(sortedDistinct(jobs[line]), ", "); names != "" {
			text += names + ": "
		}
		text += line
	}
	return text
}

// objectName is an object in a sentence: `DaemonSet tools/agent`.
func objectName(id object.ID) string {
	if id.Namespace == "" {
		return id.Kind + " " + id.Name
	}
	return id.Kind + " " + id.Namespace + "/" + id.Name
}

// severalText joins the first few words of a list, and counts the others.
func severalText(words []string) string { return firstFew(6, words) }

// firstFew joins the first words of a list, and counts the others.
func firstFew(most int, words []string) string {
	if len(words) <= most {
		return strings.Join(words, ", ")
	}
	return strings.Join(words[:most], ", ") + " and " + strconv.Itoa(len(words)-most) + " more"
}

// Plural returns for example `1 tenant`, `2 tenants` and `2 queries`.
func Plural(n int, noun string) string {
	switch {
	case n == 1:
		return "1 " + noun
	case strings.HasSuffix(noun, "y"):
		noun = strings.TrimSuffix(noun, "y") + "ie"
	}
	return strconv.Itoa(n) + " " + noun + "s"
}

// withArticle is a kind with its article.
func withArticle(kind string) string {
	if strings.ContainsAny(kind[:1], "AEIO") {
		return "an " + kind
	}
	return "a " + kind
}
