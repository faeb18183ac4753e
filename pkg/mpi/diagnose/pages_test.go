package diagnose

import (
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"lockstep.dev/lockstep/pkg/mpi"
)

// The pages about reasons, docs/failures, are made of Entries and of the observations in the tests of this package.
// `go test ./pkg/mpi/diagnose -run TestPages -update` writes them.
const pages = "../../../docs/failures"

var update = flag.Bool("update", false, "write the pages about reasons")

// TestEntries holds the style of reasons: each is named once, documented by its constant and its entry.
func TestEntries(t *testing.T) {
	file, err := parser.ParseFile(token.NewFileSet(), "reasons.go", nil, parser.ParseComments)
	if err != nil {
		t.Fatal(err)
	}
	constants := 0
	ast.Inspect(file, func(node ast.Node) bool {
		if spec, is := node.(*ast.ValueSpec); is {
			constants++
			if !strings.HasPrefix(spec.Doc.Text(), spec.Names[0].Name+": ") {
				t.Errorf("%s has no comment that begins with its name", spec.Names[0].Name)
			}
		}
		return true
	})
	if len(ReasonDocs()) != constants {
		t.Errorf("there are %d constants and %d entries", constants, len(ReasonDocs()))
	}
	seen := map[mpi.Reason]bool{}
	for _, e := range ReasonDocs() {
		if seen[e.Reason] || !regexp.MustCompile(`^[A-Z][A-Za-z]+$`).MatchString(string(e.Reason)) {
			t.Errorf("%s is there twice, or is no reason of a condition", e.Reason)
		}
		seen[e.Reason] = true
		if e.Class != ByInfrastructure && e.Class != ByApplication && e.Class != ByRequest && e.Class != ByHand {
			t.Errorf("%s has the class %q", e.Reason, e.Class)
		}
		if e.Meaning == "" || strings.HasSuffix(e.Meaning, ".") || !strings.HasSuffix(e.Evidence, ".") || e.Remedy == "" || strings.HasSuffix(e.Remedy, ".") {
			t.Errorf("%s is not documented in style: %+v", e.Reason, e)
		}
	}
}

// elsewhere are the reasons that no rule of this package gives, and who does.
var elsewhere = map[mpi.Reason]string{
	RuntimeNotFound: "job", InvalidRuntime: "job", InvalidPatch: "job", InitializerUnsupported: "job", InvalidWorld: "job", NameTooLong: "job",
	NameTaken: "job", ReservedVariable: "job", InvalidTrace: "job", InvalidArtifacts: "job", InvalidObject: "job", CreationFailed: "job", LauncherUnreachable: "job",
	JobSetFailed: "job", JobSetDeleted: "job", DeadlineExceeded: "job", AgentFailed: "agent", WorldIncomplete: "agent", LaunchAbandoned: "agent", Hang: "agent",
	LaunchStuck: "agent", WorkerSilent: "agent", RankStopped: "agent", RankHeldUp: "agent", GateTimeout: "gate",
	ConnectionTimedOut: "gate", GangTimeout: "job", DataDenied: "mpi-data", DataNotFound: "mpi-data", DataCorrupt: "mpi-data",
	DataUnavailable: "mpi-data", DataVolumeFull: "mpi-data", DataVolumeFailed: "mpi-data", DataFetchFailed: "job",
}

// What a person has taken away comes back because a person says so.
func TestADeletedJobSetIsNoReasonToRestart(t *testing.T) {
	if entry, _ := ReasonDocOf(JobSetDeleted); entry.Class != ByHand || IsInfrastructureReason(JobSetDeleted) {
		t.Errorf("its class is %s", entry.Class)
	}
}

func TestEveryReasonIsGiven(t *testing.T) {
	shown := examples()
	for _, e := range ReasonDocs() {
		if len(shown[e.Reason]) == 0 && elsewhere[e.Reason] == "" {
			t.Errorf("no observation in the tests gives %s", e.Reason)
		}
	}
}

// examples are texts that users read, by reason, in the order of the names of the cases.
func examples() map[mpi.Reason][]string {
	shown := map[mpi.Reason][]string{}
	add := func(c *Cause) {
		if c != nil {
			shown[c.Reason] = append(shown[c.Reason], c.Text())
		}
	}
	problems, firsts := problemCases(), firstCases()
	for _, name := range slices.Sorted(maps.Keys(problems)) {
		add(StartProblem(problems[name].start))
	}
	for _, name := range slices.Sorted(maps.Keys(firsts)) {
		if tc := firsts[name]; len(tc.noted) == 0 {
			add(FirstCause(tc.pods, nil))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(outputs)) {
		if f := FindInOutput(strings.Split(outputs[name].text, "\n")); f != nil {
			add(causeWithRemedy(f.Reason, "Worker 2 failed: "+f.Summary))
		}
	}
	return shown
}

func TestPages(t *testing.T) {
	want := map[string]string{"README.md": index()}
	shown := examples()
	for _, e := range ReasonDocs() {
		want[string(e.Reason)+".md"] = page(e, shown[e.Reason])
	}
	if *update {
		write(t, want)
	}
	files, err := filepath.Glob(filepath.Join(pages, "*.md"))
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		got[filepath.Base(file)] = string(text)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("docs/failures is not what the entries say, run `go test ./pkg/mpi/diagnose -run TestPages -update`: %s", diff)
	}
}

func write(t *testing.T, want map[string]string) {
	t.Helper()
	old, err := filepath.Glob(filepath.Join(pages, "*.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range old {
		if _, keep := want[filepath.Base(file)]; !keep {
			if err := os.Remove(file); err != nil {
				t.Fatal(err)
			}
		}
	}
	for name, text := range want {
		if err := os.WriteFile(filepath.Join(pages, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

const generated = "<!-- Generated from pkg/mpi/diagnose/reason_docs.go by `go test ./pkg/mpi/diagnose -run TestPages -update`. -->\n"

var whose = map[ReasonClass]string{
	ByInfrastructure: "The platform failed the job. The same job may succeed when it is started again, and is started again as long as its restart budget lasts.",
	ByApplication:    "The program failed. It would fail again, so the job is not started again by itself.",
	ByRequest:        "The job cannot run as things are: change the TrainJob, its runtime or the cluster.",
	ByHand:           "A person took away what the job consists of. The same job may succeed when it is created again, and is not started again by itself, whatever its restart budget.",
}

// maxShown is how many texts a page shows.
const maxShown = 3

func page(e ReasonDoc, shown []string) string {
	text := fmt.Sprintf("%s# %s\n\n%s.\n\n**Whose failure.** %s\n\n**What proves it.** %s\n\n**What to do.** %s.\n",
		generated, e.Reason, sentence(e.Meaning), whose[e.Class], sentence(e.Evidence), sentence(e.Remedy))
	if len(shown) == 0 {
		return text
	}
	text += "\n## What users read\n\n```text\n"
	for i, s := range shown {
		if i < maxShown && !slices.Contains(shown[:i], s) {
			text += s + "\n"
		}
	}
	return text + "```\n"
}

func sentence(text string) string { return strings.ToUpper(text[:1]) + text[1:] }

func index() string {
	text := generated + `# Why jobs fail

A job that fails or does not start says so in its conditions, with one of the reasons below, and in an event with the same text:
what happened and where, and what to do. The list is closed: there are no other reasons. The first cause in time wins; within one
second, which is as exact as Kubernetes is, what the control plane says about a pod comes before what kubelet says, that before the
kernel's out-of-memory killer, then deletions, then containers, and last what the launcher says.

Lines of programs that appear in messages have lost what looks like a secret: private keys, passwords in URLs, values of names with
key, token, secret, password, passphrase, credential or signature, or with pass, pwd or sig as a part, bearer tokens, and tokens of
well-known forms. Numbers of tokens stay. No rule finds every secret: do not print them.

| reason | meaning | whose failure |
|---|---|---|
`
	for _, e := range ReasonDocs() {
		text += fmt.Sprintf("| [%s](%s.md) | %s | %s |\n", e.Reason, e.Reason, e.Meaning, e.Class)
	}
	return text
}
