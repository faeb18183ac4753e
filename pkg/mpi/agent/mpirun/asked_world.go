package mpirun

import (
	"regexp"
	"slices"
	"strconv"
	"strings"

	"lockstep.dev/lockstep/pkg/mpi"
	"lockstep.dev/lockstep/pkg/mpi/agent/hosts"
	"lockstep.dev/lockstep/pkg/mpi/agent/proc"
	"lockstep.dev/lockstep/pkg/mpi/agent/verdict"
)

// commandLine is what a command line asks for, as far as it has been read.
type commandLine struct {
	job
	// hosts are those that the options name, by first labels; named reports whether they name any. Files are options that name
	// a file of hosts, among which chosen are those of a list.
	hosts  []mpi.Host
	named  bool
	files  int
	chosen []string
	// ranks is the number of all programs together, perNode the most on one node; 0 if no option bounds it.
	ranks, perNode int
	// programs are what is started, uncounted counts those without a number of ranks.
	programs  []string
	uncounted int
	// appFile has the lines of the newest app file in the launcher's own terms.
	appFile   string
	inAppFile bool
	// unreadable reports whether the world cannot be known from the options.
	unreadable bool
}

// job holds what a launcher may use.
type job struct {
	dialect mpi.Dialect
	table   mpi.HostTable
	// own is the host name of the launcher's pod, hostfile the file with all hosts of the job, in Hydra's syntax.
	own, hostfile string
	// shim is the folder of the agent's links, launcher the file that it becomes.
	shim, launcher string
	// variables are those of the environment.
	variables []string
	// read reads a file by the name that a command line has for it.
	read func(name string) ([]byte, error)
	// write keeps a text in a new file for the launcher.
	write func(text string) (name string, err error)
}

// readCommandLine reads the arguments of a launcher, and writes what that launcher would misread in its own terms.
func (j job) readCommandLine(args []string) *commandLine {
	c := &commandLine{job: j}
	for _, part := range splitPrograms(args) {
		c.readProgram(part)
	}
	return c
}

// askedWorld returns the world that a command line asks for. It demands nothing if it starts nothing or cannot be read. A
// launcher fills the slots of a host, or as many as the options allow for each, before it takes the next one, so that the
// number of ranks says how many hosts it uses at least.
func (c *commandLine) askedWorld() verdict.AskedWorld {
	if c.unreadable || c.isMappedByVariables() || len(c.programs) == 0 || len(c.programs) > 1 && c.uncounted > 0 {
		return verdict.AskedWorld{}
	}
	if !c.named {
		c.addJobHosts()
	}
	if c.files > 0 && len(c.chosen) > 0 {
		c.hosts = nil
		for _, name := range c.chosen {
			c.addHost(name, unbounded)
		}
	}
	world := verdict.AskedWorld{Ranks: c.ranks, AtLeast: len(c.hosts)}
	for _, host := range c.hosts {
		world.Hosts = append(world.Hosts, host.Name)
	}
	if most := c.mostOnOneHost(); c.ranks > 0 && most > 0 {
		world.AtLeast = min(world.AtLeast, (c.ranks+most-1)/most)
	}
	return world
}

// unbounded stands for the slots of a host that is listed without a number: Open MPI counts its processors.
const unbounded = mpi.MaxSlotsPerNode

// mostOnOneHost returns how many ranks one host may get. Intel's Hydra ignores the slots of lists and files of hosts: it goes
// by I_MPI_PERHOST, which the agent sets to the slots of the job.
func (c *commandLine) mostOnOneHost() int {
	most := int32(c.perNode)
	if value, given := proc.VariableValue(c.variables, "I_MPI_PERHOST"); most == 0 && c.dialect == mpi.IntelHydra && given {
		most = int32(c.count(value))
	}
	if most > 0 {
		return int(most)
	}
	for _, host := range c.hosts {
		most = max(most, host.Slots)
	}
	return int(most)
}

// splitPrograms splits arguments where ":" separates several programs.
func splitPrograms(args []string) (programs [][]string) {
	for {
		end := slices.Index(args, ":")
		if end < 0 {
			return append(programs, args)
		}
		programs, args = append(programs, args[:end]), args[end+1:]
	}
}

// addJobHosts adds all hosts of the job.
func (c *commandLine) addJobHosts() {
	c.eachLine(c.hostfile, func(words []string) { c.addHost(words[0], 1) })
}

// readProgram reads the options before a program.
func (c *commandLine) readProgram(args []string) {
	before := c.ranks
	for len(args) > 0 && !c.unreadable {
		if !strings.HasPrefix(args[0], "-") {
			c.programs = append(c.programs, args[0])
			if c.ranks == before {
				c.uncounted++
			}
			return
		}
		option := &args[0]
		name, value, inline := strings.Cut(strings.TrimLeft(*option, "-"), "=")
		args = args[1:]
		skipped, known := valuesOf[name]
		switch {
		case known && !inline:
			args = c.skipValues(name, args, skipped)
		case known:
		case inline:
			c.readOption(name, value)
			*option = strings.TrimSuffix(*option, value) + c.translate(name, value)
		case len(args) > 0:
			c.readOption(name, args[0])
			args[0] = c.translate(name, args[0])
			args = args[1:]
		}
	}
}

// mappingParameters are in the names of parameters that change the world.
var mappingParameters = regexp.MustCompile(`(?i)host_?file|mapping|rmaps|ppr|slots`)

// isMappedByVariables reports whether the environment says which hosts a launcher uses, other than the runtime's and the agent's.
func (j job) isMappedByVariables() bool {
	return slices.ContainsFunc(j.variables, func(variable string) bool {
		name, value, _ := strings.Cut(variable, "=")
		ours := value == mpi.HostfilePath || value == j.hostfile
		launchers := strings.HasPrefix(name, "OMPI_MCA_") || strings.HasPrefix(name, "PRTE_MCA_") || strings.HasSuffix(name, "HYDRA_HOST_FILE")
		return name == "HYDRA_PPN" || launchers && !ours && mappingParameters.MatchString(name)
	})
}

// skipValues returns the arguments behind the values of an option that is not about the world. Hydra takes a variable as one
// word with "=" too.
func (c *commandLine) skipValues(option string, args []string, count int) []string {
	switch {
	case len(args) == 0 || count == 0:
		return args
	case count == 2 && mappingParameters.MatchString(args[0]):
		c.unreadable = true
	case strings.HasSuffix(option, "env") && strings.Contains(args[0], "="):
		count = 1
	}
	args[0] = c.translate(option, args[0])
	return args[min(count, len(args)):]
}

// readOption notes what an option says about the world.
func (c *commandLine) readOption(name, value string) {
	switch worldOptions[name] {
	case ranksOption:
		c.ranks += c.count(value)
	case perNodeOption:
		c.perNode = c.count(value)
	case hostsOption:
		c.named = true
		for item := range strings.SplitSeq(value, ",") {
			c.addHost(item, 1)
			name, _, _ := strings.Cut(item, ":")
			c.chosen = append(c.chosen, name)
		}
	case hostfileOption:
		c.named = true
		c.files++
		c.eachLine(value, func(words []string) { c.addHost(words[0], c.slotsOf(words)) })
	case rankfileOption: // lines such as `rank 0=host slot=1`
		c.named = true
		c.eachLine(value, func(words []string) {
			_, host, _ := strings.Cut(strings.Join(words[:min(len(words), 2)], " "), "=")
			c.addHost(host, 1)
		})
	case appFileOption:
		if c.inAppFile { // it names another, or itself
			c.unreadable = true
			return
		}
		c.appFile, c.inAppFile = "", true
		defer func() { c.inAppFile = false }()
		c.eachLine(value, func(words []string) {
			c.readProgram(words)
			c.appFile += strings.Join(words, " ") + "\n"
		})
	case mappingOption:
		c.readMapping(strings.Split(value, ":"))
	default:
		c.unreadable = true
	}
}

// readMapping reads a policy such as `ppr:2:node` or `node:OVERSUBSCRIBE`. Sequential lists and counts per socket or core make
// the command line unreadable.
func (c *commandLine) readMapping(policy []string) {
	switch policy[0] {
	case "ppr":
		if len(policy) < 3 || policy[2] != "node" {
			c.unreadable = true
			return
		}
		c.perNode = c.count(policy[1])
	case "seq", "rankfile":
		c.unreadable = true
	}
}

func (c *commandLine) count(text string) int {
	n, err := strconv.ParseInt(text, 10, 32)
	c.unreadable = c.unreadable || err != nil || n < 1
	return int(n)
}

// slotsOf reads the slots of a line of a hostfile in the syntax of Open MPI.
func (c *commandLine) slotsOf(words []string) int32 {
	for _, word := range words {
		if key, value, is := strings.Cut(word, "="); is && slices.Contains([]string{"slots", "count", "cpu", "cpus"}, key) {
			return int32(c.count(value))
		}
	}
	if c.dialect == mpi.Hydra {
		return 1
	}
	return unbounded
}

// addHost adds a host of the job with its slots, `host:2` with two. Mentions of a host add up. Other hosts are not judged.
func (c *commandLine) addHost(text string, slots int32) {
	name, count, given := strings.Cut(text, ":")
	if given {
		slots = int32(c.count(count))
	}
	if strings.ContainsAny(name, "+^") { // relative to the others, or without them
		c.unreadable = true
		return
	}
	label, ours := c.labelOf(name)
	if !ours {
		return
	}
	if i := slices.IndexFunc(c.hosts, func(h mpi.Host) bool { return h.Name == label }); i >= 0 {
		c.hosts[i].Slots += slots
		return
	}
	c.hosts = append(c.hosts, mpi.Host{Name: label, Slots: slots})
}

// labelOf returns the first label of the host of the job that has a name or an address.
func (j job) labelOf(name string) (label string, ours bool) {
	name = name[strings.Index(name, "@")+1:]
	if name == "localhost" || name == "127.0.0.1" || hosts.FirstLabel(name) == j.own {
		return j.own, true
	}
	host, found := hosts.FindAddress(j.table, name)
	if !found {
		host, found = hosts.FindHost(j.table, name)
	}
	return hosts.FirstLabel(host.Name), found
}

// eachLine takes the words of each line of a file.
func (c *commandLine) eachLine(file string, take func(words []string)) {
	text, err := c.read(file)
	if err != nil {
		c.unreadable = true
		return
	}
	for line := range strings.Lines(string(text)) {
		line, _, _ = strings.Cut(line, "#")
		if words := strings.Fields(line); len(words) > 0 {
			take(words)
		}
	}
}
