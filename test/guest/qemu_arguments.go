package main

import (
	"fmt"
	"strings"
)

// emulated is the command line of QEMU. Nothing is emulated that the guest does not need; the port `lockstep` is our standard output.
func (m machine) emulated() []string {
	args := []string{
		"-name", "lockstep-guest", "-machine", "q35", "-accel", "tcg,thread=multi", "-cpu", "max",
		"-smp", fmt.Sprint(m.processors), "-m", fmt.Sprint(m.memory),
		"-nodefaults", "-display", "none", "-no-reboot",
		"-kernel", m.disk.kernel(), "-initrd", m.disk.initrd(),
		// A kernel that panics ends the machine instead of waiting for somebody. What guards against a real processor's leaks only costs time:
		// the isolation of page tables flushes the emulated ones with each system call.
		"-append", "root=/dev/vda rw console=ttyS0 panic=-1 mitigations=off quiet systemd.show_status=1",
		// What is written goes to a nameless file that ends with QEMU.
		"-drive", "file=" + escape(m.disk.image()) + ",format=raw,if=virtio,snapshot=on,cache=unsafe",
		"-serial", "file:" + m.console,
		"-device", "virtio-rng-pci",
		"-device", "virtio-serial-pci", "-chardev", "stdio,id=words,signal=off", "-device", "virtserialport,chardev=words,name=lockstep",
	}
	if m.network {
		args = append(args, "-nic", "user,model=virtio-net-pci")
	} else {
		args = append(args, "-nic", "none")
	}
	for _, s := range append([]share{{"task", m.task}}, m.shares...) {
		args = append(args, "-virtfs", fmt.Sprintf("local,path=%s,mount_tag=%s,security_model=none,readonly=on,multidevs=remap", escape(s.path), s.tag))
	}
	return args
}

// escape doubles commas, which separate QEMU's options.
func escape(path string) string { return strings.ReplaceAll(path, ",", ",,") }
