package main

import (
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"
)

// Honest programs do their work, or fail and say so by their exit code. They come in many shapes, and each must end as it says: a job that
// fails although its program succeeded has lost work, and one that completes although it failed is worse. The programs are sentences of a
// small grammar of bash, made by chance and the same each time. LOCKSTEP_HONEST says how many.

const (
	honestVariable = "LOCKSTEP_HONEST"
	// honestByDefault are as many as a run of all tests has time for, honestAtOnce run side by side: they sleep most of the time.
	honestByDefault = 40
	honestAtOnce    = 6
)

// sentence is a text for bash, and the code with which it ends.
type sentence struct {
	text string
	code int
}

// honestMPIRun starts a rank on each host: mpirun [-H HOST,HOST] SECONDS CODE. It passes the code of a rank on, as mpirun does.
const honestMPIRun = `#!/bin/bash
hosts=$(cut -d' ' -f1 "$HOSTFILE")
if [ "$1" = -H ]; then hosts=${2//,/ }; shift 2; fi
code=0 pids="" rank=0 world=$(echo $hosts | wc -w)
for host in $hosts; do
	rsh "$host" orted -mca $rank $world "$@" </dev/null &
	pids="$pids $!" rank=$((rank + 1))
done
for pid in $pids; do wait $pid || code=$?; done
exit $code
`

const honestOrted = `#!/bin/sh
OMPI_COMM_WORLD_RANK=$2 OMPI_COMM_WORLD_SIZE=$3 sh -c "echo rank $2 of $3; sleep $4; exit $5"
`

// grammar makes programs.
type grammar struct{ *rand.Rand }

func pick[T any](g grammar, from ...T) T { return from[g.IntN(len(from))] }

// launch uses some of the nodes.
func (g grammar) launch() sentence {
	code := pick(g, 0, 0, 0, 3)
	hosts := pick(g, "", "", "-H demo-node-0-0 ", "-H demo-node-0-1 ", "-H demo-node-0-1,demo-node-0-0 ")
	text := fmt.Sprintf("%smpirun %s%s %d", pick(g, "", "", "env A=1 ", "command ", "exec ", "nice "), hosts, pick(g, "0", "0.05", "0.3"), code)
	if strings.HasPrefix(text, "exec ") {
		text = "( " + text + " )"
	}
	return sentence{text, code}
}

// tasks use nodes without MPI, as GNU parallel and scripts do.
func (g grammar) tasks() sentence {
	return pick(g,
		sentence{"for host in demo-node-0-0 demo-node-0-1; do rsh $host 'echo $HOSTNAME'; done", 0},
		sentence{"( rsh demo-node-0-0 sleep 0.1 & rsh demo-node-0-1 sleep 0.2 & wait )", 0},
		sentence{"printf '%s\\n' demo-node-0-0 demo-node-0-1 demo-node-0-0 | xargs -P 2 -I HOST rsh HOST 'sleep 0.05; echo done'", 0},
		sentence{"rsh demo-node-0-1 'exit 5'", 5},
		sentence{"ssh demo-node-0-0 cat </dev/null", 0},
	)
}

// program uses nodes once at least.
func (g grammar) program(depth int) sentence {
	if depth == 0 {
		return pick(g, g.launch(), g.launch(), g.tasks())
	}
	if g.IntN(3) == 0 {
		return g.together(g.program(depth-1), g.program(depth-1))
	}
	return g.wrapped(g.program(depth - 1))
}

// together makes one program of two.
func (g grammar) together(a, b sentence) sentence {
	first := a.code
	if first == 0 {
		first = b.code
	}
	left := fmt.Sprintf("{ %s\n}", a.text)
	right := fmt.Sprintf("{ %s\n}", b.text)
	return pick(g,
		sentence{left + "\n" + right, b.code},
		sentence{left + " && " + right, first},
		sentence{left + " &\none=$!\n( " + b.text + "\n)\ntwo=$?\nwait $one && ( exit $two )", first},
		sentence{"bash -c " + quoted("set -e\nbash -c "+quoted(a.text)+"\nbash -c "+quoted(b.text)), first},
		sentence{"if " + left + "\nthen " + right + "\nelse false\nfi", map[bool]int{true: b.code, false: 1}[a.code == 0]},
	)
}

// wrapped keeps the code of a program, or passes over it, as its author wants it.
func (g grammar) wrapped(p sentence) sentence {
	block, passed := fmt.Sprintf("{ %s\n}", p.text), func(text string) sentence { return sentence{text, 0} }
	keeps := func(text string) sentence { return sentence{text, p.code} }
	name := fmt.Sprintf("f%d", g.IntN(1000))
	return pick(g,
		keeps("( "+p.text+"\n)"), keeps(name+"() {\n"+p.text+"\n}\n"+name), keeps("bash -c "+quoted(p.text)), keeps("eval "+quoted(p.text)),
		keeps("timeout 60 bash -c "+quoted(p.text)), keeps("( set -o pipefail\n"+block+" | tee log-$BASHPID >/dev/null )"), keeps(block+" &\nwait $!"),
		keeps("( trap 'echo bye' EXIT\n"+p.text+"\n)"), keeps("( trap 'true' TERM\n"+p.text+"\n)"), keeps("sleep 0.2\n"+p.text), keeps(block+" && sleep 0.7"),
		keeps("head -c 300000 /dev/zero | tr '\\0' x; echo\n"+p.text), keeps(block+" >/dev/null 2>&1"), keeps("x=$( "+p.text+"\n)"),
		keeps("( for i in 1 2 3; do "+block+" || exit $?; done )"), keeps("bash -c "+quoted("bash -c "+quoted(p.text)+"; exit $?")),
		keeps("i=0; while [ $i -lt 300000 ]; do i=$((i + 1)); done\n"+p.text), keeps("( cd /tmp && "+block+" )"), keeps(block+" || ( code=$?; sleep 0.2; exit $code )"),
		passed(block+" || true"), passed(block+" | cat"), passed(block+"\necho done"), passed("( "+block+" &\nwait )"), passed("until "+block+"; do break; done"),
		passed("for i in 1 2; do "+block+" || continue; done; true"),
	)
}

func quoted(text string) string { return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'" }

func TestHonestProgramsEndAsTheySay(t *testing.T) {
	t.Parallel()
	number := honestByDefault
	if text := os.Getenv(honestVariable); text != "" {
		var err error
		if number, err = strconv.Atoi(text); err != nil {
			t.Fatalf("%s is `%s`: %v", honestVariable, text, err)
		}
	}
	places := make(chan struct{}, honestAtOnce)
	var all sync.WaitGroup
	for i := range number {
		places <- struct{}{}
		all.Go(func() {
			defer func() { <-places }()
			g := grammar{rand.New(rand.NewPCG(1, uint64(i)))}
			p := g.program(i % 4)
			t.Run(strconv.Itoa(i), func(t *testing.T) { endsAsItSays(t, p) })
		})
	}
	all.Wait()
}

func endsAsItSays(t *testing.T, p sentence) {
	t.Helper()
	j := newJob(t, 2)
	j.nodes()
	j.script("mpirun", honestMPIRun)
	j.script("orted", honestOrted)
	launcher := j.launch(nil, "bash", "-c", "cd "+j.dir+"\n"+p.text)
	if result, err := j.push(); err != nil || !result.Passed {
		t.Fatal(result, err)
	}
	got, verdict := launcher.wait(), j.verdict()
	if got.code != p.code || verdict.Succeeded() != (p.code == 0) || verdict.Lost != "" {
		t.Errorf("should end with %d, ended with %d:\n%s\nverdict %+v\n%.2000s", p.code, got.code, p.text, verdict, got.stderr)
	}
}
