package node

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"

	"lockstep.dev/lockstep/test/cluster/internal/cgroup"
	"lockstep.dev/lockstep/test/cluster/internal/network"
	"lockstep.dev/lockstep/test/cluster/internal/supervise"
	"lockstep.dev/lockstep/test/cluster/internal/sysctl"
)

// grace is how long components may take to end when the node is told to. Only
// containerd has anything to lose, and it takes a few milliseconds.
const grace = 300 * time.Millisecond

// Init is the life of a node's first process. It returns when the node was
// told to end; whatever is left then ends with it.
func Init(specFile string) error {
	if os.Getpid() != 1 {
		return errors.New("this command is the first process of a node and only started by `up`")
	}
	n, err := readSpec(specFile)
	if err != nil {
		return err
	}
	leash := bufio.NewReader(os.NewFile(3, "leash"))
	tree, err := cgroup.Find()
	if err != nil {
		return err
	}
	if err := tree.Enter(n.Name()); err != nil {
		return err
	}
	if word, err := leash.ReadString('\n'); err != nil || word != wordStart+"\n" {
		return fmt.Errorf("the command that started this node went away: %w", err)
	}
	if err := n.arrange(); err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(context.Background(), unix.SIGTERM)
	defer stop()
	go guard(leash)
	n.supervise(ctx)
	return nil
}

func readSpec(path string) (Node, error) {
	var n Node
	content, err := os.ReadFile(path)
	if err != nil {
		return n, fmt.Errorf("read the node's description: %w", err)
	}
	if err := json.Unmarshal(content, &n); err != nil {
		return n, fmt.Errorf("read the node's description in %s: %w", path, err)
	}
	return n, nil
}

// guard ends the node when the leash breaks before the word to live on.
func guard(leash *bufio.Reader) {
	word, err := leash.ReadString('\n')
	if word == wordDetach+"\n" {
		return
	}
	if !errors.Is(err, io.EOF) {
		_, _ = fmt.Fprintf(os.Stderr, "unexpected word %q on the leash: %v\n", word, err)
	}
	os.Exit(1)
}

func (n Node) supervise(ctx context.Context) {
	s := &supervise.Supervisor{
		Logs:       n.Logs,
		Stopped:    StopFile(n.Dir, ""),
		StatusFile: ComponentsFile(n.Dir),
		Env: []string{
			"PATH=" + n.Bin + ":/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
			"HOME=/var/lib", "LANG=C.UTF-8",
		},
	}
	s.Run(ctx, n.components(), grace)
}

// arrange makes the inside of the node: name, mounts, network.
func (n Node) arrange() error {
	if err := unix.Sethostname([]byte(n.Name())); err != nil {
		return fmt.Errorf("name the node: %w", err)
	}
	if err := n.mount(); err != nil {
		return err
	}
	if err := network.Configure(n.Index, n.Count); err != nil {
		return err
	}
	return forward()
}

// forward makes the node route for its pods, and makes packets between pods on
// its bridge pass iptables, where services and network policies live. All
// three sysctls belong to the network namespace.
func forward() error {
	keeper := sysctl.Keeper{Root: "/proc/sys"}
	for name, value := range map[string]string{
		"net/ipv4/ip_forward":                 "1",
		"net/bridge/bridge-nf-call-iptables":  "1",
		"net/bridge/bridge-nf-call-ip6tables": "0",
	} {
		if err := keeper.Set(name, value); err != nil {
			return err
		}
	}
	return nil
}

// mount hides the machine's /proc, /run and /var behind the node's own. First
// the node's mounts are cut off from the machine's, so that none ever shows
// there; then they are shared within the node, as kubelet wants them.
func (n Node) mount() error {
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return fmt.Errorf("separate the node's mounts: %w", err)
	}
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_SHARED, ""); err != nil {
		return fmt.Errorf("share mounts within the node: %w", err)
	}
	if err := unix.Mount("proc", "/proc", "proc", unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC, ""); err != nil {
		return fmt.Errorf("mount the node's /proc: %w", err)
	}
	if err := n.hide("/run", func() error { return unix.Mount("tmpfs", "/run", "tmpfs", unix.MS_NOSUID|unix.MS_NODEV, "mode=755") }); err != nil {
		return err
	}
	if err := n.hide("/var", func() error { return unix.Mount(n.path("var"), "/var", "", unix.MS_BIND, "") }); err != nil {
		return err
	}
	for _, dir := range []string{"/run/lock", "/run/containerd", "/run/netns"} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return err
		}
	}
	return nil
}

// hide covers a folder with a mount, and lets those folders of Keep that lie
// below it show through. Open descriptors still reach what is covered.
func (n Node) hide(target string, cover func() error) error {
	kept := map[string]int{}
	for _, dir := range n.Keep {
		if below, err := filepath.Rel(target, dir); err != nil || !filepath.IsLocal(below) {
			continue
		}
		fd, err := unix.Open(dir, unix.O_PATH|unix.O_CLOEXEC, 0)
		if err != nil {
			return fmt.Errorf("keep %s: %w", dir, err)
		}
		defer func() { _ = unix.Close(fd) }()
		kept[dir] = fd
	}
	if err := cover(); err != nil {
		return fmt.Errorf("mount the node's %s: %w", target, err)
	}
	for dir, fd := range kept {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return fmt.Errorf("keep %s: %w", dir, err)
		}
		if err := unix.Mount(fmt.Sprintf("/proc/self/fd/%d", fd), dir, "", unix.MS_BIND|unix.MS_REC, ""); err != nil {
			return fmt.Errorf("keep %s: %w", dir, err)
		}
	}
	return nil
}
