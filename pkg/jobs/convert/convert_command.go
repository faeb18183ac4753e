package convert

import (
	"regexp"
	"strings"

	"lockstep.dev/lockstep/pkg/mpi"
)

// convertCommand: the launcher's container says what runs. In a TrainJob the agent runs it, in place of the image's entrypoint.
func (c *converter) convertCommand() {
	container, at := c.mainContainer(c.launcherSpec(), launcherPath)
	switch {
	case len(container.Command) > 0:
		c.trainer.Command, c.trainer.Args = container.Command, container.Args
		c.add(Carried, at+".command", "spec.trainer.command", "")
		c.add(Carried, at+".args", "spec.trainer.args", "")
	case len(container.Args) > 0:
		c.trainer.Command = container.Args
		c.noteMissingEntrypoint(at)
	default:
		c.addDefault(NotPossible, at+".command", "spec.trainer.command", "the image says what runs, and a TrainJob has to: write the command")
	}
	if container.WorkingDir != "" {
		c.trainer.Command = append([]string{"sh", "-c", `cd "$0" && exec "$@"`, container.WorkingDir}, c.trainer.Command...)
		c.add(Differs, at+".workingDir", "spec.trainer.command", "the command begins with a change of folder, by the image's `sh`; mpirun starts ranks in the same folder")
	}
	for field, texts := range map[string][]string{"command": container.Command, "args": container.Args} {
		for i, text := range texts {
			c.noteMentions(at, field, i, text)
		}
	}
	if c.workerSpec() != nil {
		c.convertWorkerCommand()
	}
}

func (c *converter) noteMissingEntrypoint(at string) {
	class, note := Differs, "the image's ENTRYPOINT is not run before them; those of mpi-operator's own images only wait for the hosts"
	if c.need.mpi.Implementation == string(mpi.IntelMPI) {
		class, note = NotPossible, "the image's ENTRYPOINT is not run before them, and in images of Intel MPI it sets PATH (`. setvars.sh`): put it before the command, such as `/entrypoint.sh`"
	}
	c.add(class, at+".args", "spec.trainer.command", "%s", note)
}

// commandMention is what a command may say that means something else in a TrainJob.
type commandMention struct {
	pattern *regexp.Regexp
	class   OutcomeClass
	note    string
}

var mentions = []commandMention{
	{regexp.MustCompile(`discover_hosts|--host-discovery-script|--(min|max)-np\b|--(min|max)-num-proc\b`), NotPossible,
		"a job keeps its nodes: there is no discover_hosts.sh, and Horovod cannot be elastic; use `--hostfile " + mpi.HostfilePath + "`"},
	{regexp.MustCompile(`\bK_MPI_JOB_ROLE\b`), NotPossible, "there is no K_MPI_JOB_ROLE: the command runs in the launcher only"},
	{regexp.MustCompile(`\bplm_(rsh|ssh)_agent\b|\b(HYDRA_LAUNCHER|HYDRA_LAUNCHER_EXEC|I_MPI_HYDRA_BOOTSTRAP|I_MPI_HYDRA_BOOTSTRAP_EXEC)\b`), NotPossible,
		"the agent is the remote shell of a job: remove the option"},
	{regexp.MustCompile(`kubexec\.sh|/opt/kube`), NotPossible, "nodes are reached through the agent, not through kubectl: remove it"},
	{regexp.MustCompile(`\bsshd\b`), NotPossible, "no sshd runs in a job: the agent is the server; remove it"},
	{regexp.MustCompile(`training\.kubeflow\.org/|\bmpi-job-name\b`), NotPossible, "pods of a TrainJob have the labels of JobSet, such as `" + mpi.JobSetNameLabel + "`"},
	{regexp.MustCompile(`\bOMPI_MCA_orte_default_hostfile\b|\bI_MPI_HYDRA_HOST_FILE\b`), Differs, "the variable is there, with another value where the MPI library needs one"},
}

// noteMentions looks at one word of the command.
func (c *converter) noteMentions(at, field string, i int, text string) {
	path := itemPath(at+"."+field, i)
	for _, m := range mentions {
		if m.pattern.MatchString(text) {
			c.add(m.class, path, "spec.trainer."+field, "%s", m.note)
		}
	}
	if name := c.job.Name(); name != "" && regexp.MustCompile(`\b`+regexp.QuoteMeta(name)+`-(worker-\d+|worker\b|launcher\b)`).MatchString(text) {
		c.add(NotPossible, path, "spec.trainer."+field, "names pods as mpi-operator does: the nodes are in %s, and called %s-node-0-0 and so on", mpi.HostfilePath, name)
	}
	for _, folder := range []string{c.spec.SSHAuthMountPath, "/root/.ssh"} {
		if folder != "" && strings.Contains(text, folder) {
			c.add(NotPossible, path, "spec.trainer."+field, "no key is mounted at %s: `ssh` and `mpirun` find the nodes without", folder)
			break
		}
	}
	if c.isInUserHome(text) {
		c.mountImageHome(path)
	}
}

// daemons are the commands by which workers wait for the launcher: sshd, in the foreground, and nothing else.
var daemons = regexp.MustCompile(`^((/bin/|/usr/bin/)?(ba)?sh -c )?(exec )?(/usr/sbin/|/usr/bin/)?sshd( -[A-Za-z]+| -[fpo] ?\S+| [^\s;&|]+)*$`)

func (c *converter) convertWorkerCommand() {
	container, at := c.mainContainer(c.workerSpec(), workerPath)
	words := strings.Join(append(append([]string(nil), container.Command...), container.Args...), " ")
	class, note := ByRuntime, "the agent of each node takes commands in place of sshd"
	switch {
	case words == "", daemons.MatchString(strings.TrimSpace(words)):
	case c.job.Version == versionV1 && strings.HasPrefix(words, "sleep "):
		note = "the agent of each node takes commands in place of a sleeping shell"
	default:
		class, note = NotPossible, "nodes run the agent only: what a worker does before it waits belongs into the image, or into the command of the job"
	}
	c.add(class, at+".command", "", "%s", note)
	c.add(class, at+".args", "", "%s", note)
	c.add(Differs, at+".workingDir", "", "mpirun starts ranks in the folder of the launcher's command")
}
