package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"
)

// firstCommit is the last commit that was made before these rules.
const firstCommit = "c6307c6201e02ae9bb56e03af5de5e5e1026546a"

// firstRecord is the commit that added the record.
const firstRecord = "bdb30ac86e8f2d3b8bea003960d15138a30fe6e2"

const maxSubject = 72

var (
	subject = regexp.MustCompile(`^([a-z0-9.][\w./ -]*(?:, [a-z0-9.][\w./ -]*)*): (\S+)( .+)?$`)
	// notYet are messages of git's own, which a rebase takes away or CI does not judge.
	notYet = regexp.MustCompile(`^(?:fixup!|squash!|amend!|Merge) `)
	reason = regexp.MustCompile(`(?m)^Raises: \S`)
)

// verbs are the words that may follow the part in a subject. Add yours if it is a verb: a list of verbs is the only
// judge of the imperative that is right about `pods: gone` and `pods: process`.
var verbs = strings.Fields(`
	accept acknowledge adapt add adjust adopt align allocate allow annotate answer append apply ask assert assign
	attach authenticate avoid await bail balance ban bar batch bind bookkeep bootstrap borrow bound break bring
	broaden buffer build bump bundle cache calculate call cancel cap carry catch certify change check choose cite
	claim clarify classify clean clear clip clone close collapse collect colour combine commit compact compare
	compile complain complete comply compose compress compute configure confine confirm connect consider consume
	contain continue control convert copy correct count cover create credit curb cut date deal debounce debug decide
	declare decode decouple deduplicate deepen default defer define delay delegate delete deliver demand demonstrate
	deny depend deploy deprecate deregister derive describe detach detect diagnose diff disable discard discover
	dispatch display distinguish divide document double downgrade drain draw drive drop dump edit embed emit
	emphasise enable encode end enforce engage enlarge ensure enumerate equip escape establish estimate evaluate
	evict examine exclude exempt exercise exit expand expire explain export expose extend extract fail fall feed
	fence fetch fill filter finalise find finish fit fix flag flatten flush fold follow forbid force forget format
	forward frame free freeze gather generalise generate give go govern grant group guarantee guard halve hand
	handle harden hash help hide highlight hold honour host identify idle ignore illustrate implement import impose
	improve include increase indent index infer inform inherit initialise inject inline insert inspect install
	instrument insulate interrupt introduce invert invoke isolate issue join judge keep kill label launch lead learn
	leave lend let level lift limit line link list load lock log look loosen lose lower maintain make manage map
	mark mask match mean measure meet mend mention merge migrate minimise mirror mix model monitor mount move
	multiply name narrow negotiate nest normalise note notify number obey observe offer offload omit open optimise
	order outline overlap override own pack paginate panic parallelise parse part partition pass patch pause permit
	persist pick pin ping place plan point poll pool populate post preempt prefer prefix prepare preserve prevent
	print process produce profile promise promote propagate propose protect prove provide prune publish pull push
	put quantify query queue quiet quote raise rank rate reach react read realign rearrange reason reassign rebuild
	recall receive recognise recommend recompute reconcile reconnect record recover recreate recycle redact redirect
	reduce refactor refer reformat refresh refuse refute regenerate register regroup reject relate relax release
	reload rely remap remember remind remove rename render reopen reorder reorganise repair repeat rephrase replace
	replay replicate reply report reproduce request require rerun reschedule rescue reserve reset reshape resize
	resolve resort respect restart restore restrict resume retire retry return reuse revert revise revisit revoke
	reword rewrite roll rotate round route run sample sanitise sanitize save say scale scan schedule scope scrape
	seal search secure see seed segregate select send separate sequence serialise serve set settle shape shard share
	shift ship shorten show shrink shut sign silence simplify simulate single size skip sleep slice slow snapshot
	soften solve sort source space spare speak specify speed spell split spot spread square squash stabilise stage
	stamp stand standardise start state stay steer step stick stop store stream strengthen stretch strip structure
	stub substitute subtract suggest sum supersede supervise supply support suppress surface surround survive
	suspend swap switch symlink sync synchronise tag tail take tally target teach tell template test think throttle
	throw tidy tie tighten tilt time title toggle tolerate touch trace track train transfer translate trap traverse
	treat trigger trim truncate trust try tune turn type unblock uncover underline understand undo unify unmount
	unpack unpin unregister unset untangle unwind unwrap update upgrade uphold use validate vary vendor verify
	version vet view void wait wake walk warn watch weigh weight widen win wipe wire withdraw work wrap write yield
	zero
`)

// judgeCommits judges the messages of the commits of a range of git's; "" means those since firstCommit.
func judgeCommits(commits string) error {
	if commits == "" {
		if isKnown := exec.Command("git", "merge-base", "--is-ancestor", firstCommit, "HEAD").Run() == nil; !isKnown {
			if isThere := exec.Command("git", "cat-file", "-e", firstCommit).Run() == nil; isThere {
				return fmt.Errorf("HEAD does not descend from %.12s, so no message can be judged: rebase onto main", firstCommit)
			}
			fmt.Fprintln(os.Stderr, "SKIPPED: commit messages, because this clone lacks the history: "+
				"fetch all of it (fetch-depth: 0)")
			return nil
		}
		commits = firstCommit + "..HEAD"
	}
	list := exec.Command("git", "rev-list", "--reverse", commits)
	list.Stderr = os.Stderr
	out, err := list.Output()
	if err != nil {
		return fmt.Errorf("list the commits of %s: %w", commits, err)
	}
	refused := 0
	for _, commit := range strings.Fields(string(out)) {
		problem, err := judgeCommit(commit)
		if err != nil {
			return err
		}
		if problem != "" {
			refused++
			fmt.Fprintf(os.Stderr, "%.12s: %s: change it with `git commit --amend` or `git rebase -i`\n", commit, problem)
		}
	}
	if refused > 0 {
		return errRefused
	}
	return nil
}

func judgeCommit(commit string) (problem string, err error) {
	message, err := exec.Command("git", "show", "--no-patch", "--format=%B", commit).Output()
	if err != nil {
		return "", fmt.Errorf("read the message of %s: %w", commit, err)
	}
	parents, err := exec.Command("git", "show", "--no-patch", "--format=%P", commit).Output()
	if err != nil {
		return "", fmt.Errorf("read the parents of %s: %w", commit, err)
	}
	isMerge := len(strings.Fields(string(parents))) > 1
	if problem := judgeMessage(string(message)); problem != "" && !isMerge {
		return problem, nil
	}
	raised, err := raisesRecord(commit, strings.Fields(string(parents)))
	if err == nil && raised != "" && !reason.Match(message) {
		problem = fmt.Sprintf("it raises %s without a line `Raises: …` that gives the reason", raised)
	}
	return problem, err
}

// judgeFile judges a message that is being written; lines with # are git's.
func judgeFile(path string) error {
	content, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	// `git commit -v` shows the difference below this line.
	written, _, _ := strings.Cut(string(content), "------------------------ >8 ------------------------")
	strip := exec.Command("git", "stripspace", "--strip-comments")
	strip.Stdin = strings.NewReader(written)
	message, err := strip.Output()
	if err != nil {
		return fmt.Errorf("strip git's lines of %s: %w", path, err)
	}
	if notYet.Match(message) {
		return nil
	}
	if problem := judgeMessage(string(message)); problem != "" {
		return errors.New(problem)
	}
	before, errBefore := recordAt("HEAD")
	staged, errStaged := recordAt("")
	if raised := above(before, staged); len(raised) > 0 && !reason.Match(message) {
		return fmt.Errorf("the commit raises %s: add a line `Raises: …` with the reason", raised[0])
	}
	return errors.Join(errBefore, errStaged)
}

// judgeMessage returns what is wrong with a commit message, or "".
func judgeMessage(message string) string {
	line, rest, _ := strings.Cut(strings.TrimSpace(message), "\n")
	if strings.HasPrefix(line, `Revert "`) {
		return ""
	}
	if n := utf8.RuneCountInString(line); n > maxSubject {
		return fmt.Sprintf("the subject `%s` has %d characters, %d at most: put details into the body", line, n, maxSubject)
	}
	parts := subject.FindStringSubmatch(line)
	switch {
	case parts == nil:
		return fmt.Sprintf("the subject `%s` is not `part: verb …`, such as `agent: wait for deleted pods`", line)
	case !slices.Contains(verbs, strings.ToLower(parts[2])):
		return fmt.Sprintf("the subject `%s` does not begin with a verb in the imperative: "+
			"`%s` is not in the list of test/habits/commits.go", line, parts[2])
	case strings.HasSuffix(line, "."):
		return fmt.Sprintf("the subject `%s` ends with a full stop", line)
	case rest != "" && !strings.HasPrefix(rest, "\n"):
		return fmt.Sprintf("the line after the subject `%s` is not empty", line)
	}
	return ""
}

// raisesRecord names the first count that a commit raises above the records of all its parents, "" for none. Without
// a record all counts are zero, so a commit that adds it again raises all of them.
func raisesRecord(commit string, parents []string) (string, error) {
	now, err := recordAt(commit)
	if err != nil || commit == firstRecord {
		return "", err
	}
	raised := above(counts{}, now)
	for _, parent := range parents {
		before, err := recordAt(parent)
		if err != nil {
			return "", err
		}
		names := above(before, now)
		raised = slices.DeleteFunc(raised, func(name string) bool { return !slices.Contains(names, name) })
	}
	if len(raised) == 0 {
		return "", nil
	}
	return raised[0], nil
}

// above names the counts that are higher now.
func above(before, now counts) (names []string) {
	for _, name := range keysOf(before.packages, now.packages) {
		if now.packages[name] > before.packages[name] {
			names = append(names, name)
		}
	}
	for _, name := range keysOf(before.files, now.files) {
		if anyAbove(now.files[name].recorded(), before.files[name].recorded()) {
			names = append(names, name)
		}
	}
	return names
}

// recordAt reads the record of a commit; one without a record has no counts.
func recordAt(commit string) (counts, error) {
	out, _ := exec.Command("git", "show", commit+":"+recordFile).Output() // nothing, if the commit has no record
	return parseRecord(commit+":"+recordFile, string(out))
}
