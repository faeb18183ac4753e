package mpirun

import "strings"

// valuesOf maps options without influence on the world to their number of values. Any other option makes a command line
// unreadable, so that nothing is concluded from it. Sources: orterun(1) of Open MPI 4.1, prterun(1) of PRRTE
// 3.0, mpiexec.hydra --help of MPICH 4.2, and Intel's reference of mpiexec.hydra 2021.
var valuesOf = func() map[string]int {
	values := map[string]int{}
	for count, names := range []string{
		`allow-run-as-root bind-to-core bind-to-socket bycore bynode byslot bysocket continuous debug-daemons
		 disable-auto-cleanup disable-hostname-propagation display-allocation display-map display-topo
		 do-not-resolve enable-recovery envall envnone fwd-mpirun-port genvall genvnone index-argv-by-rank keep-fqdn-hostnames
		 l leave-session-attached merge-stderr-to-stdout no-oversubscribe nolocal nooversubscribe oversubscribe pernode
		 pmi-port prepend-rank print-all-exitcodes q quiet report-bindings rr s-all tag-output timestamp-output
		 use-hwthread-cpus v verbose xml`,
		`bind-to binding bootstrap bootstrap-exec bootstrap-exec-args cpu-list cpu-set cpus-per-proc cpus-per-rank demux
		 display envexcl envlist errfile-pattern forward-signals genvexcl genvlist gpus-per-proc iface launcher launcher-exec
		 launch-agent max-restarts max-vm-size membind order-nodes outfile-pattern output output-filename path personality
		 prefix preload-files prepend-pattern rank-by rank-map report-pid report-uri rmk runtime-options slot-list stdin
		 timeout topolib usize wd wdir with-ft x`,
		`env genv gmca mca omca pmixmca prtemca`,
	} {
		for name := range strings.FieldsSeq(names) {
			values[name] = count
		}
	}
	return values
}()

// worldOption is an option that says something about the world. It has one value.
type worldOption int

const (
	unknownOption worldOption = iota
	ranksOption
	perNodeOption
	hostsOption
	hostfileOption
	rankfileOption
	appFileOption
	mappingOption
)

var worldOptions = map[string]worldOption{
	"n": ranksOption, "np": ranksOption, "c": ranksOption,
	"N": perNodeOption, "npernode": perNodeOption, "ppn": perNodeOption, "perhost": perNodeOption, "grr": perNodeOption,
	"H": hostsOption, "host": hostsOption, "hosts": hostsOption,
	"hostfile": hostfileOption, "machinefile": hostfileOption, "machine": hostfileOption, "f": hostfileOption,
	"default-hostfile": hostfileOption,
	"rf":               rankfileOption, "rankfile": rankfileOption,
	"app": appFileOption, "configfile": appFileOption,
	"map-by": mappingOption,
}
