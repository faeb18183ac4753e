package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
	corev1 "k8s.io/api/core/v1"
)

// process is a process of a pod, as this machine numbers it.
type process struct {
	pid  int
	name string
	// first is true for the first process of a container.
	first bool
}

// processes finds the processes of a pod by its control group; the pause container's is left out.
func processes(pod corev1.Pod) ([]process, error) {
	groups, err := filepath.Glob("/proc/[0-9]*/cgroup")
	if err != nil {
		return nil, err
	}
	var found []process
	for _, path := range groups {
		content, err := os.ReadFile(path)
		if err != nil || !strings.Contains(string(content), "pod"+string(pod.UID)) {
			continue
		}
		if p, ok := readProcess(filepath.Base(filepath.Dir(path))); ok && p.name != "pause" {
			found = append(found, p)
		}
	}
	return found, nil
}

func readProcess(pid string) (process, bool) {
	status, err := os.ReadFile(filepath.Join("/proc", pid, "status"))
	number, convErr := strconv.Atoi(pid)
	if err != nil || convErr != nil {
		return process{}, false
	}
	p := process{pid: number}
	for line := range strings.Lines(string(status)) {
		field, value, _ := strings.Cut(strings.TrimSpace(line), ":")
		switch field {
		case "Name":
			p.name = strings.TrimSpace(value)
		case "NSpid":
			inside := strings.Fields(value)
			p.first = inside[len(inside)-1] == "1"
		}
	}
	return p, true
}

// chosen returns some processes of a pod, and fails when it has none of them.
func chosen(pod corev1.Pod, which func(process) bool) ([]process, error) {
	all, err := processes(pod)
	if err != nil {
		return nil, err
	}
	chosen := slices.DeleteFunc(slices.Clone(all), func(p process) bool { return !which(p) })
	if len(chosen) == 0 {
		return nil, fmt.Errorf("pod %s has no such process: it has %v", pod.Name, all)
	}
	return chosen, nil
}

// sendSignal sends a signal to processes of a pod, and fails when it has none of them.
func sendSignal(pod corev1.Pod, number unix.Signal, which func(process) bool) error {
	chosen, err := chosen(pod, which)
	if err != nil {
		return err
	}
	for _, p := range chosen {
		if err := p.signal(pod, number); err != nil {
			return err
		}
	}
	return nil
}

// signal sends a signal to a process of a pod. One that has ended is not an error.
func (p process) signal(pod corev1.Pod, number unix.Signal) error {
	if err := unix.Kill(p.pid, number); err != nil && !errors.Is(err, unix.ESRCH) {
		return fmt.Errorf("signal process %s of pod %s: %w", p.name, pod.Name, err)
	}
	return nil
}

func isFirst(p process) bool  { return p.first }
func anyProcess(process) bool { return true }
func named(name string) func(process) bool {
	return func(p process) bool { return p.name == name }
}

// onMachines runs a command in the network namespace of each of the cluster's machines.
func (c *cluster) onMachines(ctx context.Context, command ...string) error {
	machines, err := c.LocalMachines(ctx)
	if err != nil {
		return err
	}
	for _, m := range machines {
		args := append([]string{"--net=/proc/" + strconv.Itoa(m.PID) + "/ns/net"}, command...)
		if out, err := exec.CommandContext(ctx, "nsenter", args...).CombinedOutput(); err != nil {
			return fmt.Errorf("%s on %s: %w: %s", strings.Join(command, " "), m.Name, err, out)
		}
	}
	return nil
}

// drop makes all machines drop arriving packets that match, as a firewall or a cluster-wide policy does. A
// NetworkPolicy cannot: what another policy allows, such as that of the job, stays allowed. The table raw comes before
// connections are tracked, and nothing else in a cluster writes to it.
func drop(match ...string) step {
	return filter("iptables", "raw", "PREROUTING", append(slices.Clone(match), "-j", "DROP"))
}

// reject answers connections that match with a reset, as if nobody listened. That is possible in the table filter only,
// which kube-router writes back as it has read it before: a rule of ours would be lost, or come again. It does not know
// the older tables of the kernel.
func reject(match ...string) step {
	return filter("iptables-legacy", "filter", "FORWARD", append(slices.Clone(match), "-j", "REJECT", "--reject-with", "tcp-reset"))
}

// filter puts a rule before all others of a chain of all machines.
func filter(program, table, chain string, rule []string) step {
	return func(ctx context.Context, t *attempt) (func(context.Context) error, error) {
		undo := func(ctx context.Context) error {
			return t.onMachines(ctx, append([]string{program, "-t", table, "-D", chain}, rule...)...)
		}
		return undo, t.onMachines(ctx, append([]string{program, "-t", table, "-I", chain}, rule...)...)
	}
}
