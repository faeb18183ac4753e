package render

import (
	"encoding/xml"
	"io"

	"lockstep.dev/lockstep/pkg/compile/semdiff"
)

// The elements of JUnit's format that services read; it has no specification, and testmoapp/junitxml on GitHub is what most agree on.
type (
	testSuites struct {
		XMLName  xml.Name    `xml:"testsuites"`
		Name     string      `xml:"name,attr"`
		Tests    int         `xml:"tests,attr"`
		Failures int         `xml:"failures,attr"`
		Suites   []testSuite `xml:"testsuite"`
	}
	testSuite struct {
		Name     string     `xml:"name,attr"`
		Tests    int        `xml:"tests,attr"`
		Failures int        `xml:"failures,attr"`
		Cases    []testCase `xml:"testcase"`
	}
	testCase struct {
		Class   string   `xml:"classname,attr"`
		Name    string   `xml:"name,attr"`
		File    string   `xml:"file,attr,omitempty"`
		Line    int      `xml:"line,attr,omitempty"`
		Failure *failure `xml:"failure"`
		Out     string   `xml:"system-out,omitempty"`
	}
	failure struct {
		Type    string `xml:"type,attr"`
		Message string `xml:"message,attr"`
		Text    string `xml:",chardata"`
	}
)

// JUnit writes a report for services that show results of tests: a suite with a case per entry, which fails where the threshold is met.
// A report without entries is one case that passes, because many services take a suite without cases for a mistake.
func JUnit(w io.Writer, r *semdiff.Report, threshold semdiff.Threshold, locate func(string) string) error {
	suite := testSuite{Name: "runtime-compiler diff"}
	for i := range r.Entries {
		own := junitCase(&r.Entries[i], threshold, locate)
		if own.Failure != nil {
			suite.Failures++
		}
		suite.Cases = append(suite.Cases, own)
	}
	if len(suite.Cases) == 0 {
		suite.Cases = []testCase{{Class: "review", Name: harmless(r.Verdict)}}
	}
	suite.Tests = len(suite.Cases)
	if _, err := io.WriteString(w, xml.Header); err != nil {
		return err
	}
	encoder := xml.NewEncoder(w)
	encoder.Indent("", "  ")
	if err := encoder.Encode(testSuites{Name: harmless(r.Verdict), Tests: suite.Tests, Failures: suite.Failures, Suites: []testSuite{suite}}); err != nil {
		return err
	}
	_, err := io.WriteString(w, "\n")
	return err
}

func junitCase(e *semdiff.Entry, threshold semdiff.Threshold, locate func(string) string) testCase {
	own := testCase{Class: e.Rule, Name: e.Severity.String() + ": " + harmless(e.Title)}
	if who := blast(&e.Blast); who != "" {
		own.Name += " (" + harmless(who) + ")"
	}
	at := e.After
	if at.IsZero() {
		at = e.Before
	}
	if !at.IsZero() {
		own.File, own.Line = locate(at.Path()), at.Line
	}
	if threshold.Met(e) {
		own.Failure = &failure{Type: string(e.Consequence), Message: harmless(e.Title), Text: explained(e)}
	} else {
		own.Out = explained(e)
	}
	return own
}
