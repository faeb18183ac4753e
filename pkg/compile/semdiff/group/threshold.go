package group

import (
	"fmt"
	"strings"

	"lockstep.dev/lockstep/pkg/compile/semdiff/rule"
)

// Words of a Threshold that are neither a severity nor a consequence.
const (
	// OnNothing fails nothing.
	OnNothing = "none"
	// OnWaivers is a waiver that is added, or accepts more than before.
	OnWaivers = "waivers"
	// OnPipelines is a file beside the specs that decides about reviews and differs.
	OnPipelines = "pipelines"
)

// Threshold is what fails a pipeline: entries of a severity or higher, or with a consequence, waivers, files that decide about reviews. The
// zero Threshold fails nothing.
type Threshold struct {
	severity           rule.Severity
	bySeverity         bool
	consequences       map[rule.Consequence]bool
	waivers, pipelines bool
}

// ThresholdWords are those that a Threshold takes.
func ThresholdWords() []string {
	words := []string{OnNothing}
	for _, s := range rule.Severities() {
		words = append(words, s.String())
	}
	words = append(words, OnWaivers, OnPipelines)
	for _, c := range rule.Consequences() {
		words = append(words, string(c))
	}
	return words
}

// ParseThreshold takes words, with commas between them: names of severities and of consequences, OnWaivers, OnPipelines. "" and OnNothing
// mean nothing.
func ParseThreshold(text string) (Threshold, error) {
	t := Threshold{consequences: map[rule.Consequence]bool{}}
	if text == "" {
		return t, nil
	}
	words := strings.Split(text, ",")
	for _, word := range words {
		if err := t.add(strings.TrimSpace(word), len(words) > 1); err != nil {
			return Threshold{}, err
		}
	}
	return t, nil
}

// add takes one word, which may be one of several.
func (t *Threshold) add(word string, several bool) error {
	var severity rule.Severity
	switch {
	case word == OnNothing && several:
		return fmt.Errorf("`%s` stands alone", OnNothing)
	case word == OnNothing:
	case word == OnWaivers:
		t.waivers = true
	case word == OnPipelines:
		t.pipelines = true
	case severity.UnmarshalText([]byte(word)) == nil:
		if !t.bySeverity || severity < t.severity {
			t.severity = severity
		}
		t.bySeverity = true
	case rule.Consequence(word).Meaning() != "":
		t.consequences[rule.Consequence(word)] = true
	default:
		return fmt.Errorf("`%s` is neither a severity (%s) nor a consequence (%s) nor `%s` nor `%s`", word, joinNames(rule.Severities()), joinNames(rule.Consequences()), OnWaivers, OnPipelines)
	}
	return nil
}

func joinNames[T any](list []T) string {
	words := make([]string, len(list))
	for i, item := range list {
		words[i] = fmt.Sprint(item)
	}
	return strings.Join(words, ", ")
}

// Met reports whether an entry reaches the threshold.
func (t Threshold) Met(e *Entry) bool {
	return t.bySeverity && e.Severity >= t.severity || t.consequences[e.Consequence]
}

// MetByFindings reports whether what is beside the entries reaches it: what check refuses, waivers, files that decide about reviews. A waiver
// that accepts more, and such a file, are as severe as a warning.
func (t Threshold) MetByFindings(f *Findings) bool {
	amber := t.bySeverity && t.severity <= rule.Warning
	for i := range f.Waivers {
		if f.Waivers[i].Accepts() && (t.waivers || amber) {
			return true
		}
	}
	return len(f.Deciding) > 0 && (t.pipelines || amber) || f.Errors > 0 && t.bySeverity
}
