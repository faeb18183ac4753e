package cost

import (
	"html/template"
	"io"
)

// WriteHTML writes a bill as one page that needs nothing else: by tenant, what was idle, and all rows.
func (b *Bill) WriteHTML(out io.Writer, cluster string) error {
	page, err := template.New("bill").Funcs(template.FuncMap{"number": FormatNumber, "money": FormatMoney}).Parse(pageText)
	if err != nil {
		return err
	}
	return page.Execute(out, struct {
		*Bill
		Cluster string
		Tenants []BillRow
	}{b, cluster, b.SumBy("tenant")})
}

const pageText = `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>{{.Cluster}}: machines, {{.From.Format "2006-01-02"}} to {{.To.Format "2006-01-02"}}</title>
<style>
:root { color-scheme: light dark }
body { font: 15px/1.5 system-ui, sans-serif; max-width: 70em; margin: 2em auto; padding: 0 1em }
table { border-collapse: collapse; margin: 1em 0; width: 100% }
th, td { text-align: left; padding: .25em .75em .25em 0; border-bottom: 1px solid #8884 }
th.n, td.n { text-align: right; font-variant-numeric: tabular-nums }
</style></head><body>
<h1>Machines of {{.Cluster}}</h1>
<p>{{.From.Format "2006-01-02 15:04"}} to {{.To.Format "2006-01-02 15:04"}} UTC. A job has its machines while its command runs.</p>
<h2>By tenant</h2>
<table><tr><th>Tenant<th>Profile<th class="n">Jobs<th class="n">Machine-hours<th class="n">Guaranteed<th class="n">Borrowed<th class="n">Cost</tr>
{{range .Tenants}}<tr><td>{{.Tenant}}<td>{{.Profile}}<td class="n">{{.Jobs}}<td class="n">{{number .MachineHours}}<td class="n">{{number .Guaranteed}}<td class="n">{{number .Borrowed}}<td class="n">{{money .Cost .Priced}}</tr>
{{end}}</table>
{{if .Idle}}<h2>Guaranteed and not used</h2>
<table><tr><th>Tenant<th>Profile<th class="n">Machine-hours<th class="n">Cost</tr>
{{range .Idle}}<tr><td>{{.Tenant}}<td>{{.Profile}}<td class="n">{{number .MachineHours}}<td class="n">{{money .Cost .Priced}}</tr>
{{end}}</table>{{end}}
<h2>By tenant, person, runtime and queue</h2>
<table><tr><th>Tenant<th>Person<th>Runtime<th>Queue<th>Profile<th class="n">Jobs<th class="n">Machine-hours<th class="n">Guaranteed<th class="n">Borrowed<th class="n">Cost</tr>
{{range .Rows}}<tr><td>{{.Tenant}}<td>{{.Person}}<td>{{.Runtime}}<td>{{.Queue}}<td>{{.Profile}}<td class="n">{{.Jobs}}<td class="n">{{number .MachineHours}}<td class="n">{{number .Guaranteed}}<td class="n">{{number .Borrowed}}<td class="n">{{money .Cost .Priced}}</tr>
{{end}}</table>
</body></html>
`
