package compile_test

import (
	"regexp"
	"strings"
	"testing"
	"testing/fstest"

	"golang.org/x/tools/txtar"

	"lockstep.dev/lockstep/pkg/compile"
)

// extremes are numbers that do not fit, or nearly do not.
var extremes = []string{
	"0", "-1", "1000000", "1000001", "2147483647", "2147483648", "9223372036854775807", "9223372036854775808", "64Ti", "512Pi", "7E", "8Ei", "1e30", "999999999999999999Ei", "0.000000001",
}

// TestExtremes puts extreme numbers in the place of every number of specs with all fields of queues, quotas and limits. Each is refused
// or compiled, and nothing that is negative, or has no bound, comes of it.
func TestExtremes(t *testing.T) {
	archive, err := txtar.ParseFile("proof/capacity/testdata/clusters.txtar")
	if err != nil {
		t.Fatal(err)
	}
	numbers := regexp.MustCompile(`: (\d[\w.]*)`)
	negative := regexp.MustCompile(`[^\w.-]-\d{2}|9223372036854775807`)
	tried, accepted := 0, 0
	for _, file := range archive.Files {
		for _, at := range numbers.FindAllSubmatchIndex(file.Data, -1) {
			for _, extreme := range extremes {
				files := fstest.MapFS{}
				for _, f := range archive.Files {
					files[f.Name] = &fstest.MapFile{Data: f.Data}
				}
				changed := string(file.Data[:at[2]]) + extreme + string(file.Data[at[3]:])
				files[file.Name] = &fstest.MapFile{Data: []byte(changed)}
				clusters, list := compile.Compile(files, compile.Options{})
				tried++
				for _, d := range list.Sorted() {
					message := strings.ReplaceAll(d.Message, "`"+extreme+"`", "")
					for _, help := range append(d.Help, d.Notes...) {
						message += "\n" + help
					}
					if found := negative.FindString(message); found != "" && !strings.Contains(message, "-1000000000") {
						t.Errorf("%s: %q for %q: %s", file.Name, extreme, file.Data[at[2]:at[3]], message)
					}
				}
				if len(clusters) > 0 {
					accepted++
				}
				for _, c := range clusters {
					for _, out := range c.Files {
						if found := regexp.MustCompile(`: "?-\d`).FindString(string(out.Data)); found != "" && strings.Contains(out.Path, "tenants/") {
							t.Errorf("%s: %q for %q: %s has %s", file.Name, extreme, file.Data[at[2]:at[3]], out.Path, found)
						}
					}
				}
			}
		}
	}
	t.Logf("%d changes, of which %d compile", tried, accepted)
	if tried < 500 || accepted < 40 {
		t.Errorf("%d changes, of which %d compile: the specs do not show enough", tried, accepted)
	}
}
