package cost

import (
	"encoding/csv"
	"io"
	"strconv"
	"strings"
)

// WriteCSV writes the rows of a bill and, with the person `(idle)`, what tenants left idle, one line each below a line of names.
func (b *Bill) WriteCSV(out io.Writer) error {
	lines := [][]string{{"tenant", "person", "runtime", "queue", "profile", "jobs", "machine_hours", "guaranteed", "borrowed", "cost"}}
	for _, r := range b.Rows {
		lines = append(lines, []string{cell(r.Tenant), cell(r.Person), cell(r.Runtime), cell(r.Queue), r.Profile, strconv.Itoa(r.Jobs),
			Number(r.MachineHours), Number(r.Guaranteed), Number(r.Borrowed), Money(r.Cost, r.Priced)})
	}
	for _, i := range b.Idle {
		lines = append(lines, []string{i.Tenant, idlePerson, "", "", i.Profile, "", Number(i.MachineHours), Number(i.MachineHours), Number(0), Money(i.Cost, i.Priced)})
	}
	w := csv.NewWriter(out)
	return w.WriteAll(lines)
}

// idlePerson cannot be the name of a user who ran a job: a job has a person.
const idlePerson = "(idle)"

// cell keeps what users chose from being a formula of whoever opens the file (OWASP, CSV injection).
func cell(text string) string {
	if text != "" && strings.ContainsRune("=+-@\t\r", rune(text[0])) {
		return "'" + text
	}
	return text
}

// Number has two digits: a machine-hour has 36 s in its last one.
func Number(n float64) string { return strconv.FormatFloat(n, 'f', 2, 64) }

// Money is empty where there is no price.
func Money(n float64, priced bool) string {
	if !priced {
		return ""
	}
	return Number(n)
}
