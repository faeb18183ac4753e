package state

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"strings"
	"syscall"

	"lockstep.dev/lockstep/pkg/mpi"
	"lockstep.dev/lockstep/pkg/mpi/agent/hosts"
)

// The lines around our part of the file.
const (
	hostsBegin = "# begin: pods of the job, by mpi-agent"
	hostsEnd   = "# end: pods of the job"
)

// PublishHosts lets every program of the pod resolve the names of the job without DNS, where the pod template mounts a
// file of its own at /etc/hosts. Anything else there is somebody else's: the image's, or kubelet's.
func PublishHosts(table mpi.HostTable) error {
	mounts, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return fmt.Errorf("look for a file of the pod at %s: %w", mpi.HostsPath, err)
	}
	if !isVolumeMount(string(mounts), mpi.HostsPath) {
		return nil
	}
	err = updateHostsFile(mpi.HostsPath, table)
	if errors.Is(err, fs.ErrPermission) || errors.Is(err, syscall.EROFS) {
		return nil // a ConfigMap, or a file of another user
	}
	return err
}

// isVolumeMount reports whether a file comes from a volume of the pod, by the mounts of the process (proc(5), mountinfo).
// Kubelet's own file is a mount too; it is called etc-hosts.
func isVolumeMount(mounts, file string) bool {
	owns := false
	for line := range strings.Lines(mounts) {
		fields := strings.Fields(line)
		if len(fields) > 4 && fields[4] == file {
			owns = path.Base(fields[3]) != "etc-hosts" // the last mount covers those before it
		}
	}
	return owns
}

// updateHostsFile writes our part of a hosts file and leaves the rest alone. The file is a mount and cannot be replaced, so
// it is overwritten in place: in one piece first, cut to its length afterwards.
func updateHostsFile(file string, table mpi.HostTable) error {
	hosts, err := os.OpenFile(file, os.O_RDWR, 0)
	if err != nil {
		return fmt.Errorf("write the names of the pods: %w", err)
	}
	old, err := io.ReadAll(hosts)
	if err == nil {
		text := ReplaceHostsPart(string(old), table)
		_, err = hosts.WriteAt([]byte(text), 0)
		err = errors.Join(err, hosts.Truncate(int64(len(text))))
	}
	if err = errors.Join(err, hosts.Close()); err != nil {
		return fmt.Errorf("write the names of the pods: %w", err)
	}
	return nil
}

// ReplaceHostsPart returns the content of a hosts file with our part replaced.
func ReplaceHostsPart(old string, table mpi.HostTable) string {
	var b strings.Builder
	ours := false
	for line := range strings.Lines(old) {
		switch text := strings.TrimSpace(line); {
		case text == hostsBegin:
			ours = true
		case text == hostsEnd:
			ours = false
		case !ours && text != "":
			b.WriteString(strings.TrimRight(line, "\n") + "\n")
		}
	}
	if b.Len() == 0 {
		b.WriteString("127.0.0.1 localhost\n::1 localhost\n")
	}
	b.WriteString(hostsBegin + "\n")
	for _, host := range table.Hosts {
		fmt.Fprintf(&b, "%s %s", host.Address, host.Name)
		if short := hosts.FirstLabel(host.Name); short != host.Name {
			b.WriteString(" " + short)
		}
		b.WriteString("\n")
	}
	b.WriteString(hostsEnd + "\n")
	return b.String()
}
