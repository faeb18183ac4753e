package program

import (
	"testing"
)

func TestStartsRanks(t *testing.T) {
	for line, want := range map[string]bool{
		`orted -mca ess "env" -mca orte_ess_jobid 1`:                                                     true,
		`PATH=/opt/ompi/bin:$PATH ; export PATH ; LD_LIBRARY_PATH=x ; /opt/ompi/bin/prted --prtemca a b`: true,
		`"/usr/bin/hydra_pmi_proxy" --control-port l:1`:                                                  true,
		`/opt/intel/bin//hydra_bstrap_proxy --upstream-host l`:                                           true,
		`bash -c 'cd /w && HOROVOD_RANK=0 python train.py'`:                                              true,
		`cd /w; export A=1; python -u -m deepspeed.launcher.launch --node_rank=0 train.py`:               true,
		`python -m horovod.runner.task_service 0`:                                                        true,
		`python -m torch.distributed.launch --node_rank=1 train.py`:                                      true,
		`/opt/venv/bin/accelerate launch --machine_rank 1 train.py`:                                      true,
		`pip install accelerate`:                                                                         false,
		`hostname`:                                                                                       false,
		`nvidia-smi`:                                                                                     false,
		`cat orted.log.txt`:                                                                              false,
		`which my-orted`:                                                                                 false,
		``:                                                                                               false,
	} {
		if got := StartsRanks(line); got != want {
			t.Errorf("%s: got %v", line, got)
		}
	}
}

func TestKilledDaemons(t *testing.T) {
	cases := map[string]struct {
		reason string
		line   string
		code   int
		want   bool
	}{
		"daemon":            {"somebody killed it", "orted -mca ess env", 137, true},
		"proxy":             {"somebody killed it", `"/usr/bin/hydra_pmi_proxy" --control-port l:1`, 137, true},
		"daemon, code":      {"it has said why", "orted -mca ess env", 1, false},
		"rank":              {"the program failed", "HOROVOD_RANK=0 train", 139, false},
		"rank, stopped":     {"its pod goes", "HOROVOD_RANK=0 train", 143, true},
		"ranks of one node": {"DeepSpeed passes on how a rank died", "python -u -m deepspeed.launcher.launch", 245, false},
		"command":           {"it starts no rank", "nvidia-smi", 143, false},
	}
	for name, c := range cases {
		if got := IsKilledDaemon(c.line, c.code); got != c.want {
			t.Errorf("%s: %s: got %v", name, c.reason, got)
		}
	}
}
