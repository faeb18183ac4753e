package compare

import "slices"

// Row is one thing in which runs differ, with its value in each of them.
type Row struct {
	What   string   `json:"what"`
	Values []string `json:"values"`
	// Differs marks the runs whose value is not the first run's.
	Differs []bool `json:"differs"`
}

// Table compares several runs with the first of them.
type Table struct {
	Rows []Row `json:"rows"`
	// Equal are the names of things that all runs have in common.
	Equal   []string `json:"equal"`
	Unknown []string `json:"unknown,omitempty"`
}

// TableOf compares runs with the first of them. Of texts, such as files, the first difference is shown.
func TableOf(runs []Run) Table {
	table := Table{Rows: []Row{}, Equal: []string{}}
	if len(runs) == 0 {
		return table
	}
	facts := make([]*runFacts, len(runs))
	var names []string
	for i, run := range runs {
		facts[i] = run.gatherFacts()
		names = mergedOrder(&runFacts{names: names}, facts[i])
		table.Unknown = append(table.Unknown, run.unknownParts()...)
	}
	table.Unknown = slices.Compact(table.Unknown)
	for _, name := range names {
		row := Row{What: name, Values: make([]string, len(runs)), Differs: make([]bool, len(runs))}
		for i, f := range facts {
			row.Differs[i] = facts[0].values[name] != f.values[name] || facts[0].texts[name] != f.texts[name]
			row.Values[i] = f.shownValue(name)
		}
		if !slices.Contains(row.Differs, true) {
			table.Equal = append(table.Equal, name)
			continue
		}
		row.excerpt(name, facts)
		table.Rows = append(table.Rows, row)
	}
	return table
}

// excerpt shortens the values of a row to the first difference from the first run.
func (row *Row) excerpt(name string, facts []*runFacts) {
	first := facts[0]
	for i := len(facts) - 1; i >= 0; i-- {
		f := facts[i]
		other := f
		if i == 0 {
			other = facts[slices.Index(row.Differs, true)]
		}
		switch {
		case f.texts[name] || first.texts[name] || other.texts[name]:
			left, right := sizedExcerpts(first.values[name], other.values[name], first.texts[name], other.texts[name])
			row.Values[i] = right
			if i == 0 {
				row.Values[i] = left
			}
		case i == 0:
			row.Values[i], _ = Excerpts(first.shownValue(name), other.shownValue(name))
		case row.Differs[i]:
			_, row.Values[i] = Excerpts(first.shownValue(name), f.shownValue(name))
		}
	}
	for i, differs := range row.Differs {
		if !differs {
			row.Values[i] = row.Values[0]
		}
	}
}
