package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"sync"
	"text/tabwriter"
	"time"

	"lockstep.dev/lockstep/test/images/internal/build"
	"lockstep.dev/lockstep/test/images/internal/image"
)

// progress prints a line per step with the time since the start.
func progress(w io.Writer) func(subject, step string) {
	start := time.Now()
	var lock sync.Mutex
	return func(subject, step string) {
		lock.Lock()
		defer lock.Unlock()
		_, _ = fmt.Fprintf(w, "[%6.1fs] %s: %s\n", time.Since(start).Seconds(), subject, step) // nobody reads: go on
	}
}

func printResults(w io.Writer, output string, results []build.Result) error {
	if output == "json" {
		return printJSON(w, results)
	}
	var table [][]string
	for _, r := range results {
		table = append(table, []string{r.Name, r.Reference, r.Archive, r.Digest})
	}
	return printTable(w, table)
}

// listed is one definition in the output of list.
type listed struct {
	Name      string `json:"name"`
	Reference string `json:"reference"`
	Contents  string `json:"contents"`
}

func printList(w io.Writer, output string, images []image.Image) error {
	list, table := make([]listed, 0, len(images)), make([][]string, 0, len(images))
	for _, i := range images {
		list = append(list, listed{i.Name, i.Reference, i.Contents()})
		table = append(table, []string{i.Name, i.Reference, i.Contents()})
	}
	if output == "json" {
		return printJSON(w, list)
	}
	return printTable(w, table)
}

// printTable writes rows with aligned columns, two spaces apart.
func printTable(w io.Writer, rows [][]string) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, row := range rows {
		if _, err := io.WriteString(t, strings.Join(row, "\t")+"\n"); err != nil {
			return err
		}
	}
	return t.Flush()
}

func printJSON(w io.Writer, v any) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	return e.Encode(v)
}
