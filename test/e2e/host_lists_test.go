package e2e

import (
	"fmt"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"lockstep.dev/lockstep/pkg/mpi/diagnose"
	"lockstep.dev/lockstep/test/testjob"
)

const (
	openMPI4 = "lockstep.test/mpi/openmpi:4"
	openMPI5 = "lockstep.test/mpi/openmpi:5"
	mpich    = "lockstep.test/mpi/mpich:4"
)

// A job has the world that its command asks for, or fails: implementation × version × form of the host list × image of
// the same or another MPI.
var _ = Describe("The hosts of a launch", func() {
	DescribeTable("may be named in every form, with the image", func(ctx SpecContext, runtime, image string) {
		forms := formsOf(image)
		j := job("hosts-"+runtime+"-"+imageName(image), runtime, launchAll(forms)...)
		result := together(ctx, withImage(j, image))[0]
		for _, f := range forms {
			world := fmt.Sprintf("%[1]d size=%[2]d host=%[3]s-launcher-0-0 %[1]d size=%[2]d host=%[3]s-node-0-0",
				f.perHost, 2*f.perHost, result.Job.Name)
			Expect(result.lines("with "+f.name+": ")).To(Equal([]string{world}), "%s\n%s", f.arguments, result.log)
		}
		Expect(result.Condition).To(Equal("Complete"), result.Message)
		Expect(result.Message).To(Equal("the launcher succeeded"))
	},
		Entry("Open MPI 4 on its own runtime", "openmpi4-cpu", openMPI4),
		Entry("Open MPI 5 on its own runtime", "openmpi5-cpu", openMPI5),
		Entry("MPICH on its own runtime", "mpich-cpu", mpich),
		Entry("Open MPI 5 on the runtime of Open MPI 4", "openmpi4-cpu", openMPI5),
		Entry("MPICH on the runtime of Open MPI 5", "openmpi5-cpu", mpich),
		Entry("MPICH on the runtime of Open MPI 4", ofReleases, "openmpi4-cpu", mpich),
		Entry("Open MPI 4 on the runtime of Open MPI 5", ofReleases, "openmpi5-cpu", openMPI4),
		Entry("Open MPI 4 on the runtime of MPICH", ofReleases, "mpich-cpu", openMPI4),
		Entry("Open MPI 5 on the runtime of MPICH", ofReleases, "mpich-cpu", openMPI5),
	)

	// Hydra does not know -H: it prints how it is used and exits 0.
	It("fail the job if none was used, though the launcher and the script exit 0", func(ctx SpecContext) {
		command := []string{"bash", "-c", `mpirun -H $HOSTNAME,${HOSTNAME%launcher-0-0}node-0-0 mpi-hello; exit 0`}
		own := job("hosts-none-own", "mpich-cpu", command...)
		other := withImage(job("hosts-none-other", "openmpi5-cpu", command...), mpich)
		reasons := []string{"WorldIncomplete", string(diagnose.MPIVersionMismatch)}
		for i, result := range together(ctx, own, other) {
			Expect(result.Condition).To(Equal("Failed"), "%s\n%s", result.Message, result.log)
			Expect(result.Reason).To(Equal(reasons[i]), result.Message)
			Expect(result.Message).To(ContainSubstring("none ran on " + result.Job.Name + "-node-0-0"))
		}
	})
})

// hostForm is a form in which the arguments of mpirun name both hosts of a job, or none. The script has their names and
// addresses in the arrays short, full and address.
type hostForm struct {
	name string
	// file is a command whose output the arguments find in the file `file`.
	file, arguments string
	// perHost is how many ranks each host gets.
	perHost int
}

// formsOf returns the forms that the launcher of an image knows.
func formsOf(image string) []hostForm {
	option, file, slots := "-H", "--hostfile", " slots=2"
	if image == mpich {
		option, file, slots = "-hosts", "-f", ":2"
	}
	forms := []hostForm{
		{"nothing", "", "mpi-hello", 2},
		{"a number of ranks", "", "-n 4 mpi-hello", 2},
		{"short names", "", option + " ${short[0]},${short[1]} mpi-hello", 1},
		{"full names", "", option + " ${full[0]},${full[1]} mpi-hello", 1},
		{"addresses", "", option + " ${address[0]},${address[1]} mpi-hello", 1},
		{"mixed names", "", option + " ${address[0]}:2,${full[1]}:2 mpi-hello", 2},
	}
	for _, kind := range []string{"short", "full", "address"} {
		lines := fmt.Sprintf(`printf '%%s%s\n' "${%s[@]}"`, slots, kind)
		forms = append(forms, hostForm{"a hostfile, " + kind, lines, file + " file mpi-hello", 2})
	}
	if image == mpich {
		return append(forms,
			hostForm{"an app file", `echo "-n 2 mpi-hello : -n 2 mpi-hello"`, "-configfile file", 2},
			hostForm{"names in an app file", `echo "-hosts ${full[0]}:2,${address[1]}:2 -n 4 mpi-hello"`, "-configfile file", 2})
	}
	forms = append(forms,
		hostForm{"an app file", `echo "-n 4 mpi-hello"`, "--app file", 2},
		hostForm{"names in an app file", `echo "-H ${full[0]}:2,${address[1]}:2 mpi-hello"`, "--app file", 2})
	if image != openMPI5 {
		return forms // ranks of a rankfile are bound to processors that a pod may not have
	}
	return append(forms,
		hostForm{"full names behind =", "", "--host=${full[0]}:2,${full[1]}:2 mpi-hello", 2},
		hostForm{"a rankfile", `printf 'rank %s slot=0\n' "0=${short[0]}" "1=${full[1]}"`, "--map-by rankfile:file=file -n 2 mpi-hello", 1})
}

// launchAll returns a command that launches once in each form, and prints how many ranks of which world ran on which
// host.
func launchAll(forms []hostForm) []string {
	script := `cd /tmp
		full=($(cut -d ' ' -f 1 /etc/mpi/hostfile)); short=("${full[@]%%.*}")
		address=($(hostname -I | cut -d ' ' -f 1) $(ssh ${full[1]} hostname -I | cut -d ' ' -f 1))
		hosts() { sed -n 's/^rank=[0-9]* \(size=[0-9]* host=[^ ]*\) .* ok$/\1/p' | sort | uniq -c; }
		with() { local name=$1; shift; echo "with $name:" $(mpirun "$@" | hosts); }
		`
	for _, f := range forms {
		if f.file != "" {
			script += f.file + " > file\n"
		}
		script += fmt.Sprintf("with '%s' %s\n", f.name, f.arguments)
	}
	return []string{"bash", "-c", script}
}

// withImage returns the job with an image in place of its runtime's.
func withImage(j testjob.Job, image string) testjob.Job {
	j.Image = image
	return j
}

// imageName returns the last part of an image's name with its version, as a part of a job's name.
func imageName(image string) string {
	return strings.ReplaceAll(image[strings.LastIndex(image, "/")+1:], ":", "")
}
