package rule

import (
	"cmp"
	"regexp"
	"slices"
	"strings"

	"lockstep.dev/lockstep/pkg/compile/object"
	"lockstep.dev/lockstep/pkg/compile/origin"
	"lockstep.dev/lockstep/pkg/compile/semdiff/match"
)

var programRule = &Rule{
	Name: "program", Title: "Programs that pods run",
	Doc: "Commands, arguments, probes and hooks of runtimes and components, and the environment of components, with the text before and after. " +
		"It is a warning if a component with the power to break the boundaries of tenants, such as the controller, has other arguments, if a " +
		"variable makes programs load other code or ask other hosts, if a Secret is handed in, or if a new host is named. A program that is " +
		"downloaded and run at once is critical, because the owner of that address decides what runs, and so is a shell for another host, and " +
		"a program that reads the token of a powerful account. Programs of workloads and runtimes that are new are judged alike.",
	Says: []Consequence{RestartsPlatform, NewJobsOnly},
	claims: func(c *match.Change) bool {
		if c.Whole() || !hasPods(c.Object()) {
			return false
		}
		return slices.ContainsFunc(programKeys, c.Path.Has) || !isRuntime(c) && (c.Path.Has("env") || c.Path.Has("envFrom"))
	},
	judge: func(c *Cluster, changes []*match.Change) []Effect {
		effects := judgeByCauseAnd(isVariable, (*Cluster).programEffect)(c, changes)
		for _, change := range c.added {
			effects = append(effects, c.newProgram(change)...)
		}
		return effects
	},
}

// programKeys are the fields of containers that say what runs.
var programKeys = []string{"command", "args", "lifecycle", "livenessProbe", "readinessProbe", "startupProbe"}

// programEffect is what runs otherwise.
func (c *Cluster) programEffect(part []*match.Change) Effect {
	severity, consequence := Notice, NewJobsOnly
	words := programWords(part)
	title, rest := "new jobs run another program: "+words, "new jobs with another program"
	verb, o := "start", part[0].After
	if !isRuntime(part[0]) {
		consequence, verb = RestartsPlatform, "replace"
		title, rest = "pods of "+o.ID.Name+" are replaced, "+prefixWith(words), "pods of "+o.ID.Name+", "+prefixWith(words)
		if told := slices.ContainsFunc(part, func(change *match.Change) bool { return changesArgumentsOrVariables(change) && !isQuietChange(change) }); told && (c.powerfulAccount(o) != "" || isController(o)) {
			severity = Warning
		}
	}
	if isRuntime(part[0]) && slices.ContainsFunc(part, patchOverridesCompiler) {
		severity, title = Warning, title+", instead of what the compiler has"
	}
	if found := risksOf(part); len(found) > 0 {
		severity = max(severity, c.severityOfRisks(found, o))
		title, rest = title+", which "+found[0].description, rest+", which "+found[0].description
	}
	e := c.effect(part, consequence, severity, title).withDetail(beforeAfterText(part)).withClause(verb, rest)
	if e.Aspect = itsArguments; isVariable(part[0]) {
		e.Aspect = itsVariables
	}
	return e
}

// patchOverridesCompiler reports whether a patch has another value than the compiler, of which nothing is proven.
func patchOverridesCompiler(c *match.Change) bool {
	return c.New != nil && (c.To != nil && c.To.Kind == origin.Patched || c.After != nil && !c.After.WritingPatchSpan(c.New).IsZero())
}

// isVariable reports whether a change is about the environment of a container.
func isVariable(c *match.Change) bool { return c.Path.Has("env") || c.Path.Has("envFrom") }

// changesArgumentsOrVariables reports whether a change tells a program something, by arguments or variables, rather than when it is looked after.
func changesArgumentsOrVariables(c *match.Change) bool {
	return isVariable(c) || isProgramField(c.Path.Last())
}

// quietFields are arguments and variables that say how much a program tells of what it does.
var quietFields = regexp.MustCompile(`(?i)^(--?(v|verbosity|(log|logging|zap)[-_.]?(level|format|encoder|devel|stacktrace-level|time-encoding|log-level)))=|^[A-Z_]*LOG_?(LEVEL|FORMAT)$`)

// isQuietChange reports whether a change is about nothing else.
func isQuietChange(c *match.Change) bool {
	if isVariable(c) {
		names := []string{variableOf(c)}
		for _, list := range []*object.Node{c.Old, c.New} {
			for variable := range list.Items() {
				names = append(names, variable.Scalar("name"))
			}
		}
		return !slices.ContainsFunc(sortedDistinct(names), func(name string) bool { return !quietFields.MatchString(name) })
	}
	was, is := c.Old.Strings(), c.New.Strings()
	differ := slices.Concat(missingFrom(was, is), missingFrom(is, was))
	return len(differ) > 0 && !slices.ContainsFunc(differ, func(argument string) bool { return !quietFields.MatchString(argument) })
}

// programWords are what of a program changes: its arguments, or variables by name, those that go at the end.
func programWords(part []*match.Change) string {
	var found, gone []string
	for _, change := range part {
		switch {
		case isVariable(change) && change.Removed():
			gone = append(gone, changedVariables([]*match.Change{change})...)
		case isVariable(change):
			found = append(found, "the environment "+strings.Join(changedVariables([]*match.Change{change}), ", "))
		case isProgramField(change.Path.Last()):
			found = append(found, change.Path.Last()+" "+argumentChanges([]*match.Change{change}))
		default:
			found = append(found, change.Path.Short())
		}
	}
	text := severalText(sortedDistinct(found))
	switch {
	case len(gone) == 0:
		return text
	case text != "":
		text += ", and "
	}
	return text + without + "the environment " + severalText(sortedDistinct(gone))
}

const without = "without "

// prefixWith puts "with" before words, unless they begin with "without".
func prefixWith(words string) string {
	if strings.HasPrefix(words, without) {
		return words
	}
	return "with " + words
}

// beforeAfterText is the text before and after, longer than other values are shown: what runs is read to its end.
func beforeAfterText(part []*match.Change) string {
	const most = 400
	var lines []string
	for _, change := range part {
		var was, is strings.Builder
		writeValue(&was, change.Old)
		writeValue(&is, change.New)
		lines = append(lines, change.Path.Short()+": "+cutText(was.String(), most)+" → "+cutText(is.String(), most))
	}
	return strings.Join(lines, "; ")
}

func cutText(text string, most int) string {
	if runes := []rune(text); len(runes) > most {
		return string(runes[:most-1]) + "…"
	}
	return text
}

// programRisk is what a program does that a reviewer must know.
type programRisk struct {
	description string
	// critical is code that somebody else decides on, or a way in.
	critical bool
}

func (d programRisk) severity() Severity {
	if d.critical {
		return Critical
	}
	return Warning
}

// severityOfRisks is that of the first of some risks; it is critical if other code than the image's may have a powerful account.
func (c *Cluster) severityOfRisks(found []programRisk, o *object.Object) Severity {
	takesRights := func(d programRisk) bool {
		return d.description == readsToken || strings.HasPrefix(d.description, loadsCode)
	}
	if isWorkload(o) && slices.ContainsFunc(found, takesRights) && (c.powerfulAccount(o) != "" || isController(o)) {
		return Critical
	}
	return found[0].severity()
}

const (
	readsToken = "reads the token of its service account" //nolint:gosec // words
	loadsCode  = "makes programs load other code"
)

// riskyPatterns are texts of programs, the most severe first.
var riskyPatterns = []struct {
	text *regexp.Regexp
	programRisk
}{
	{regexp.MustCompile(`(?s)\b(curl|wget|fetch|aria2c)\b.*\|\s*(\S*/)?(sudo\s+)?(sh|bash|zsh|dash|ksh|ash|python\d?|perl|ruby|node)\b`), programRisk{"runs what it downloads", true}},
	{regexp.MustCompile(`(?s)\b(curl|wget|fetch|aria2c)\b.*(;|&&|\n).*\b(sh|bash|python\d?|perl|chmod)\b`), programRisk{"runs what it downloads", true}},
	{regexp.MustCompile("(eval|source|\\bsh -c|\\bbash -c|<)\\s*[\"']?(\\$\\(|<?\\(|`)\\s*(curl|wget)"), programRisk{"runs what it downloads", true}},
	{regexp.MustCompile(`/dev/(tcp|udp)/|\b(nc|ncat|netcat)\b.*\s-(e|c)\b|\bsocat\b.*\b(exec|system):`), programRisk{"gives a shell to another host", true}},
	{regexp.MustCompile(`\bbase64\s+(-d|-D|--decode)\b.*\|\s*\S*(sh|bash|python\d?|perl)\b`), programRisk{"runs what nobody can read", true}},
	{regexp.MustCompile(`\b(nsenter|chroot)\b`), programRisk{"leaves its container", true}},
	{regexp.MustCompile(`secrets/([^/\s]*\*|kubernetes\.io)`), programRisk{readsToken, false}},
	{regexp.MustCompile(`\bgit clone\b|\b(pip3?|npm|gem|cargo|go) (install|get)\b|\b(apt-get|apt|dnf|yum|apk) (-\S+ )*(install|add)\b`), programRisk{"downloads programs", false}},
}

// loading are variables by which programs load other code, or ask other hosts.
var (
	loadingVariables = []string{
		"BASH_ENV", "ENV", "PATH", "PYTHONSTARTUP", "PYTHONPATH", "PYTHONHOME", "PERL5OPT", "PERL5LIB", "RUBYOPT",
		"NODE_OPTIONS", "JAVA_TOOL_OPTIONS", "GIT_SSH_COMMAND", "PROMPT_COMMAND",
	}
	// launchingVariables end the names of variables by which MPI starts its daemons, or loads its parts.
	launchingVariables = []string{"_RSH_AGENT", "_SSH_AGENT", "_LAUNCH_AGENT", "_LAUNCHER_EXEC", "_BOOTSTRAP_EXEC", "_COMPONENT_PATH"}
	askingPatterns     = []string{"HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "KUBERNETES_SERVICE_HOST", "KUBECONFIG", "SSL_CERT_FILE", "SSL_CERT_DIR"}
)

// risksOfText are those of a text of a program, and of the variable that has it; the most severe first.
func risksOfText(variable, text string) []programRisk {
	var found []programRisk
	for _, known := range riskyPatterns {
		if known.text.MatchString(text) {
			found = append(found, known.programRisk)
		}
	}
	switch name := strings.ToUpper(variable); { // proxies are named in small letters, too
	case slices.Contains(loadingVariables, name) || strings.HasPrefix(name, "LD_") || slices.ContainsFunc(launchingVariables, func(end string) bool { return strings.HasSuffix(name, end) }):
		found = append(found, programRisk{description: loadsCode + " (" + variable + ")"})
	case slices.Contains(askingPatterns, name):
		found = append(found, programRisk{description: "makes programs ask another host, or trust it (" + variable + ")"})
	}
	return found
}

// risksOf are those that come with some changes: what was there before is not told again.
func risksOf(part []*match.Change) []programRisk {
	var found []programRisk
	for _, change := range slices.DeleteFunc(programPiecesOf(part), isMadeByCompiler) {
		was := risksOfText(variableOf(change), textOf(change.Old))
		found = append(found, missingFrom(risksOfText(variableOf(change), textOf(change.New)), dropVariable(was, change))...)
		for _, host := range missingFrom(hostsIn(textOf(change.New)), hostsIn(textOf(change.Old))) {
			found = append(found, programRisk{description: "names the host " + host})
		}
		if change.Path.Has("envFrom") || change.New.At("valueFrom", "secretKeyRef") != nil || change.Path.Has("secretKeyRef") {
			name := cmp.Or(change.New.Scalar("valueFrom", "secretKeyRef", "name"), change.New.Scalar("secretRef", "name"))
			found = append(found, programRisk{description: strings.TrimSpace("gets the content of a Secret or a ConfigMap " + name)})
		}
	}
	slices.SortStableFunc(found, func(a, b programRisk) int { return cmp.Compare(b.severity(), a.severity()) })
	return slices.Compact(found)
}

// dropVariable keeps of the dangers before those of the text: another value of a variable that loads code is told again.
func dropVariable(was []programRisk, change *match.Change) []programRisk {
	name := variableOf(change)
	return slices.DeleteFunc(was, func(d programRisk) bool { return name != "" && strings.Contains(d.description, "("+name+")") })
}

// variableOf is the name of the variable that a change is about, or "".
func variableOf(c *match.Change) string {
	if i := slices.Index(c.Path, "env"); i >= 0 && i+1 < len(c.Path) {
		return c.Path[i+1]
	}
	return ""
}

// textOf is all text of a value: a command with its arguments as one line.
func textOf(n *object.Node) string {
	if n == nil {
		return ""
	}
	texts := []string{n.Text}
	for child := range n.Items() {
		texts = append(texts, textOf(child))
	}
	return strings.TrimSpace(strings.Join(texts, " "))
}

var hostPattern = regexp.MustCompile(`[a-z][a-z0-9+.-]*://(?:[^\s/@"']*@)?([A-Za-z0-9.-]+\.[A-Za-z0-9-]+|\[[0-9a-fA-F:]+\])`)

// hostsIn are the hosts of addresses in a text that are not Services of the cluster.
func hostsIn(text string) []string {
	var found []string
	for _, hit := range hostPattern.FindAllStringSubmatch(text, -1) {
		if host := hit[1]; !strings.HasSuffix(host, ".svc") && !strings.Contains(host, ".svc.") {
			found = append(found, host)
		}
	}
	return sortedDistinct(found)
}

// isProgramField reports whether a field is a list of words that are one program.
func isProgramField(key string) bool { return key == "command" || key == "args" }

// programPiecesOf are the programs and the variables in some changes that are not gone: what comes as a whole, such as a container, piece by piece.
func programPiecesOf(part []*match.Change) []*match.Change {
	var found []*match.Change
	for _, change := range part {
		switch {
		case change.New == nil:
		case change.Old != nil:
			found = append(found, change)
		default:
			found = append(found, programPieces(change, change.Path, change.New, change.To)...)
		}
	}
	return found
}

// programPieces are the programs and the variables in a value that comes as a whole, each as the change from nothing that it is.
func programPieces(c *match.Change, path match.Path, n *object.Node, from *origin.Origin) []*match.Change {
	from = cmp.Or(n.From, from)
	variable := len(path) > 1 && (path[len(path)-2] == "env" || path[len(path)-2] == "envFrom")
	if n.Leaf() || variable || isProgramField(path.Last()) {
		piece := *c
		piece.Path, piece.Old, piece.New, piece.To = slices.Clone(path), nil, n, from
		if isVariable(&piece) || slices.ContainsFunc(programKeys, path.Has) {
			return []*match.Change{&piece}
		}
		return nil
	}
	var found []*match.Change
	for i := range n.Children {
		found = append(found, programPieces(c, append(slices.Clone(path), n.Segment(i)), &n.Children[i], from)...)
	}
	return found
}

// programsOf are the programs of the pods of a new object.
func programsOf(change *match.Change) []*match.Change {
	var found []*match.Change
	for _, pod := range podSpecs(&change.After.Root) {
		found = append(found, programPieces(change, nil, pod, change.After.Rule)...)
	}
	return found
}

// newProgram is the program of a new object, where a reviewer must know it.
func (c *Cluster) newProgram(change *match.Change) []Effect {
	found := risksOf(programsOf(change))
	if change.Disposal.WithCluster && !isForeignObject(change.After) || len(found) == 0 || !found[0].critical && isRuntime(change) {
		return nil
	}
	id, consequence := change.After.ID, RestartsPlatform
	if isRuntime(change) {
		consequence = NewJobsOnly
	}
	var all []string
	for _, d := range found {
		all = append(all, d.description)
	}
	e := c.effect([]*match.Change{change}, consequence, found[0].severity(), "pods of a new "+id.Kind+" run a program that "+found[0].description)
	return []Effect{e.withDetail(objectName(id)+" "+strings.Join(sortedDistinct(all), ", ")+": "+beforeAfterText(programsOf(change))).withClauseOf(objectName(id), "run", "a program that "+found[0].description)}
}
