package sandbox

import (
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"strconv"

	"lockstep.dev/lockstep/internal/rlimit"
	"lockstep.dev/lockstep/internal/seccomp"
	"lockstep.dev/lockstep/pkg/compile/jsonnet"
	"lockstep.dev/lockstep/pkg/compile/subprocess"
)

// The limits of a process that evaluates Jsonnet. A real program takes milliseconds and some megabytes.
const (
	// JsonnetSeconds are those of processor time.
	JsonnetSeconds = 10
	jsonnetMemory  = 512 << 20
	jsonnetStack   = 64 << 20
	// jsonnetTotal are the seconds of processor time of all processes of a run.
	jsonnetTotal = 30
)

// JsonnetWorker is the hidden command of runtime-compiler that such a process runs. Its flag --seconds is for ServeJsonnet.
const JsonnetWorker = "jsonnet-worker"

// JsonnetEvaluator evaluates Jsonnet in processes of its own, because a program may try to exhaust memory or stack.
func JsonnetEvaluator() jsonnet.SubprocessEvaluator {
	total := newCPUTimeBudget(jsonnetTotal, "Jsonnet")
	return jsonnet.SubprocessEvaluator{
		Start: func() (subprocess.Process, error) {
			self, err := os.Executable()
			if err != nil {
				return nil, err
			}
			return startJsonnet(self, os.Args[0], JsonnetSeconds, total)
		},
		Limits: processLimits{seconds: JsonnetSeconds, memory: jsonnetMemory}.String(),
	}
}

// startJsonnet starts this program once more, under the name that it was started with.
func startJsonnet(self, name string, seconds uint64, total *cpuTimeBudget) (subprocess.Process, error) {
	args := []string{name, JsonnetWorker, "--seconds", strconv.FormatUint(seconds, 10)}
	w, err := startWorker(self, args, processLimits{seconds: seconds, memory: jsonnetMemory}, total)
	if err != nil {
		return nil, err
	}
	return w, nil
}

// ServeJsonnet evaluates what arrives until the input ends, within limits that the process cannot leave any more: seconds are those of
// processor time.
func ServeJsonnet(seconds uint64, in io.Reader, out io.Writer) error {
	debug.SetMaxStack(jsonnetStack)
	if err := rlimit.SetLimits(seconds, jsonnetMemory); err != nil {
		return fmt.Errorf("limit the process: %w", err)
	}
	// Where the kernel has no such filters the limits remain, and that evaluators open nothing by themselves.
	_ = seccomp.Confine()
	return jsonnet.Serve(in, out)
}
