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
		lines = append(lines, []string{csvCell(r.Tenant), csvCell(r.Person), csvCell(r.Runtime), csvCell(r.Queue), r.Profile, strconv.Itoa(r.Jobs),
			FormatNumber(r.MachineHours), FormatNumber(r.Guaranteed), FormatNumber(r.Borrowed), FormatMoney(r.Cost, r.Priced)})
	}
	for _, i := range b.Idle {
		lines = append(lines, []string{i.Tenant, idlePerson, "", "", i.Profile, "", FormatNumber(i.MachineHours), FormatNumber(i.MachineHours), FormatNumber(0), FormatMoney(i.Cost, i.Priced)})
	}
	w := csv.NewWriter(out)
	return w.WriteAll(lines)
}

// idlePerson cannot be the name of a user who ran a job: a job has a person.
const idlePerson = "(idle)"

// csvCell keeps what users chose from being a formula of whoever opens the file (OWASP, CSV injection).
func csvCell(text string) string {
	if text != "" && strings.ContainsRune("=+-@\t\r", rune(text[0])) {
		return "'" + text
	}
	return text
}

// FormatNumber has two digits: a machine-hour has 36 s in its last one.
func FormatNumber(n float64) string { return strconv.FormatFloat(n, 'f', 2, 64) }

// FormatMoney is empty where there is no price.
func FormatMoney(n float64, priced bool) string {
	if !priced {
		return ""
	}
	return FormatNumber(n)
}
