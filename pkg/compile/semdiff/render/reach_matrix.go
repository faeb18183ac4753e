package render

import (
	"slices"
	"strings"

	"lockstep.dev/lockstep/pkg/compile/semdiff"
)

// reachMatrix is who may speak with whom on one cluster, before and after.
type reachMatrix struct {
	Cluster string
	// Columns are the ends; Rows have a cell for each.
	Columns []string
	Rows    []matrixRow
	// Opened and Closed are the differences in words; More is how many others there are.
	Opened, Closed, Altered []string
	More                    string
	// Counts is how many ways there are in all, before and after.
	Counts []matrixCount
	// Hidden says which tenants have no row.
	Hidden string
}

// IsSame reports whether nothing differs.
func (m *reachMatrix) IsSame() bool { return len(m.Opened)+len(m.Closed)+len(m.Altered) == 0 }

type matrixRow struct {
	Name  string
	Cells []matrixCell
}

// matrixCell is one way from an end to another.
type matrixCell struct {
	// Class is for the colours, Mark the sign that says the same without them, Says the words.
	Class, Mark, Says string
}

type matrixCount struct {
	What          string
	Before, After string
	Differs       bool
}

// What bounds the size of a page.
const (
	// maxEnds is how many tenants a matrix has, those that differ first; those that neither differ nor speak with others are in it only
	// where it stays smaller than fewEnds.
	maxEnds, fewEnds = 40, 12
	// maxWays is how many differences a matrix says in words.
	maxWays = 100
)

// comparedReach is the two states of one cluster.
type comparedReach struct {
	*reachParties
	was, is *reachState
}

// reachMatrices are those of the clusters on which something differs, and the names of the others about which something was proven.
func reachMatrices(r *semdiff.Report) (all []reachMatrix, quiet []string) {
	for i := range r.Clusters {
		own := &r.Clusters[i]
		if own.Before == nil && own.After == nil {
			continue
		}
		e := partiesOf(own.Before, own.After)
		c := comparedReach{e, reachOf(e, own.Before), reachOf(e, own.After)}
		if m := c.newMatrix(own.Name); m.IsSame() {
			quiet = append(quiet, own.Name)
		} else {
			all = append(all, m)
		}
	}
	return all, quiet
}

func (c *comparedReach) newMatrix(cluster string) reachMatrix {
	m := reachMatrix{Cluster: cluster}
	shown := c.shownEnds(&m)
	// Ends outside that no tenant has to do with are left out.
	rows := slices.DeleteFunc(slices.Clone(shown), func(i int) bool { return i >= c.tenants && !c.sends(i) })
	columns := slices.DeleteFunc(slices.Clone(shown), func(i int) bool { return i >= c.tenants && !c.receives(i) })
	for _, to := range columns {
		m.Columns = append(m.Columns, c.names[to])
	}
	for _, from := range rows {
		row := matrixRow{Name: c.names[from]}
		for _, to := range columns {
			row.Cells = append(row.Cells, c.newCell(from, to))
		}
		m.Rows = append(m.Rows, row)
	}
	c.describeWays(&m)
	c.countWays(&m)
	return m
}

func (c *comparedReach) sends(i int) bool {
	found := false
	for _, r := range []*reachState{c.was, c.is} {
		r.open[i].each(func(int) { found = true })
	}
	return found
}

func (c *comparedReach) receives(i int) bool {
	return slices.ContainsFunc(c.was.open, func(s bitSet) bool { return s.has(i) }) || slices.ContainsFunc(c.is.open, func(s bitSet) bool { return s.has(i) })
}

// changeOfWay says what becomes of the way from one end to another: opened, closed, altered, or the same.
func (c *comparedReach) changeOfWay(from, to int) string {
	was, is := c.was.open[from].has(to), c.is.open[from].has(to)
	k := [2]int{from, to}
	switch {
	case is && !was:
		return "opened"
	case was && !is:
		return "closed"
	case was && !sameFlows(c.was.ports[k], c.is.ports[k]):
		return "altered"
	}
	return ""
}

func sameFlows(a, b []string) bool {
	a, b = slices.Sorted(slices.Values(a)), slices.Sorted(slices.Values(b))
	return slices.Equal(a, b)
}

func (c *comparedReach) newCell(from, to int) matrixCell {
	way := c.names[from] + " to " + c.names[to] + ": "
	k := [2]int{from, to}
	switch c.changeOfWay(from, to) {
	case "opened":
		return matrixCell{"opened", "+", way + "opened, " + flowsText(c.is.ports[k])}
	case "closed":
		return matrixCell{"closed", "−", way + "closed, was " + flowsText(c.was.ports[k])}
	case "altered":
		return matrixCell{"altered", "±", way + "was " + flowsText(c.was.ports[k]) + "; now " + flowsText(c.is.ports[k])}
	}
	switch {
	case from == to && from < c.tenants:
		return matrixCell{"own", "·", way + "its own pods"}
	case c.is.open[from].has(to):
		return matrixCell{"open", "●", way + "open, " + flowsText(c.is.ports[k])}
	case c.is.half[from].has(to):
		return matrixCell{"half", "◐", way + "allowed by one side only, so that there is no traffic"}
	}
	return matrixCell{"none", "", way + "nothing"}
}

// flowsText names a few flows.
func flowsText(list []string) string {
	const most = 6
	if len(list) == 0 {
		return "some ports"
	}
	text := strings.Join(list[:min(most, len(list))], "; ")
	if more := len(list) - most; more > 0 {
		text += " and " + groupThousands(more) + " more"
	}
	return escapeControl(text)
}

// shownEnds are the ends that have a row: tenants of which something differs, then those that speak with other tenants or with the internet,
// as many as there is room for; and the outside.
func (c *comparedReach) shownEnds(m *reachMatrix) []int {
	var differing, speaking, quiet []int
	for i := range c.tenants {
		switch {
		case c.hasChangedWay(i):
			differing = append(differing, i)
		case c.reachesOthers(i):
			speaking = append(speaking, i)
		default:
			quiet = append(quiet, i)
		}
	}
	list := slices.Concat(differing, speaking)
	list = list[:min(maxEnds, len(list))]
	if room := fewEnds - len(list); room > 0 {
		list = append(list, quiet[:min(room, len(quiet))]...)
	}
	m.Hidden = hiddenTenantsNote(c.tenants-len(list), len(differing)-maxEnds)
	slices.Sort(list)
	for i := range outside {
		list = append(list, c.tenants+i)
	}
	return list
}

// hiddenTenantsNote says how many tenants have no row, and how many of them differ.
func hiddenTenantsNote(hidden, differ int) string {
	switch {
	case hidden == 0:
		return ""
	case differ > 0:
		return "Without a row: " + plural(hidden, "more tenant") + "; " + groupThousands(differ) + " of them differ, too."
	}
	return "Without a row: " + plural(hidden, "more tenant") + ", for which nothing differs."
}

func (c *comparedReach) hasChangedWay(i int) bool {
	for other := range c.names {
		if c.changeOfWay(i, other) != "" || c.changeOfWay(other, i) != "" {
			return true
		}
	}
	return false
}

// reachesOthers reports whether a tenant has a way to another tenant, or to the internet.
func (c *comparedReach) reachesOthers(i int) bool {
	found := false
	c.is.open[i].each(func(to int) { found = found || to < c.tenants || c.names[to] == internet })
	for from := range c.tenants {
		found = found || c.is.open[from].has(i)
	}
	return found || c.is.open[c.at[internet]].has(i)
}

// describeWays says the differences in words; those of many tenants that are the same are one.
func (c *comparedReach) describeWays(m *reachMatrix) {
	type way struct{ kind, end, says string }
	var order []way
	tenants := map[way][]string{}
	for from := range c.names {
		for to := range c.names {
			kind := c.changeOfWay(from, to)
			if kind == "" {
				continue
			}
			w := way{kind, "→ " + c.names[to], c.changeBetween(kind, [2]int{from, to})}
			name := c.names[from]
			if from >= c.tenants {
				w.end, name = c.names[from]+" →", c.names[to]
			}
			if tenants[w] == nil {
				order = append(order, w)
			}
			tenants[w] = append(tenants[w], name)
		}
	}
	for _, w := range order[:min(maxWays, len(order))] {
		who := tenants[w][0]
		if len(tenants[w]) > 1 {
			who = countedNames("tenant", tenants[w])
		}
		text := who + " " + w.end + ": " + w.says
		if strings.HasSuffix(w.end, "→") {
			text = w.end + " " + who + ": " + w.says
		}
		switch w.kind {
		case "opened":
			m.Opened = append(m.Opened, escapeControl(text))
		case "closed":
			m.Closed = append(m.Closed, escapeControl(text))
		default:
			m.Altered = append(m.Altered, escapeControl(text))
		}
	}
	if left := len(order) - maxWays; left > 0 {
		m.More = groupThousands(left) + " more ways differ, which are counted above."
	}
}

// changeBetween is what becomes of the way between two ends.
func (c *comparedReach) changeBetween(kind string, k [2]int) string {
	switch kind {
	case "opened":
		return flowsText(c.is.ports[k])
	case "closed":
		return flowsText(c.was.ports[k])
	}
	return flowsText(c.is.ports[k]) + ", before " + flowsText(c.was.ports[k])
}

// countWays counts ways by what is at their ends.
func (c *comparedReach) countWays(m *reachMatrix) {
	ways := func(r *reachState, from, to func(int) bool) int {
		n := 0
		for i := range c.names {
			if from(i) {
				r.open[i].each(func(j int) {
					if to(j) && i != j {
						n++
					}
				})
			}
		}
		return n
	}
	tenant := func(i int) bool { return i < c.tenants }
	only := func(name string) func(int) bool { return func(i int) bool { return i == c.at[name] } }
	for _, row := range []struct {
		what     string
		from, to func(int) bool
	}{
		{"ways from one tenant to another", tenant, tenant},
		{"tenants that reach the internet", tenant, only(internet)},
		{"tenants that reach the cluster's ranges of addresses", tenant, only(inside)},
		{"tenants that reach private networks", tenant, only(private)},
		{"tenants that the internet reaches", only(internet), tenant},
		{"tenants that private networks reach", only(private), tenant},
	} {
		was, is := ways(c.was, row.from, row.to), ways(c.is, row.from, row.to)
		if was+is > 0 {
			m.Counts = append(m.Counts, matrixCount{row.what, groupThousands(was), groupThousands(is), was != is})
		}
	}
}
