package images

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	cri "k8s.io/cri-api/pkg/apis/runtime/v1"

	"lockstep.dev/lockstep/test/cluster/internal/timescale"
)

// Socket is containerd's, inside a node.
const Socket = "/run/containerd/containerd.sock"

// SocketOf is the way to containerd of the node with this first process, from
// outside.
func SocketOf(pid int) string { return fmt.Sprintf("/proc/%d/root%s", pid, Socket) }

// Store is the image store of one running node.
type Store struct {
	node   string
	socket string
	ctr    string
	conn   *grpc.ClientConn
	cri    cri.ImageServiceClient
}

// Connect makes a connection to containerd of a node; it need not be up yet.
// ctr is the path of containerd's client program.
func Connect(node string, pid int, ctr string) (*Store, error) {
	socket := SocketOf(pid)
	conn, err := grpc.NewClient("unix://"+socket, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return nil, fmt.Errorf("connect to containerd of %s: %w", node, err)
	}
	return &Store{node: node, socket: socket, ctr: ctr, conn: conn, cri: cri.NewImageServiceClient(conn)}, nil
}

// Close ends the connection.
func (s *Store) Close() error { return s.conn.Close() }

// Wait returns when containerd answers.
func (s *Store) Wait(ctx context.Context) error {
	return poll(ctx, func() error {
		short, cancel := context.WithTimeout(ctx, timescale.Of(time.Second))
		defer cancel()
		_, err := s.cri.ListImages(short, &cri.ListImagesRequest{})
		return err
	}, "containerd of "+s.node+" does not answer")
}

// Load imports an archive, unless all its images are there. It reports whether
// it had to.
func (s *Store) Load(ctx context.Context, a Archive) (imported bool, err error) {
	missing, err := s.lacks(ctx, a)
	if err != nil || !missing {
		return false, err
	}
	if err := s.forgetOld(ctx, a); err != nil {
		return false, err
	}
	// containerd's own client streams the archive and unpacks it.
	cmd := exec.CommandContext(ctx, s.ctr, "--address", s.socket, "--namespace", "k8s.io", "images", "import", "--local", a.Path)
	if out, err := cmd.CombinedOutput(); err != nil {
		return false, fmt.Errorf("import %s into %s: %w\n%s", a.Path, s.node, err, strings.TrimSpace(string(out)))
	}
	// The part of containerd that kubelet talks to hears of the image by an
	// event.
	return true, poll(ctx, func() error {
		if missing, err := s.lacks(ctx, a); err != nil || !missing {
			return err
		}
		return errors.New("not there yet")
	}, fmt.Sprintf("the images of %s do not show in %s after their import", a.Path, s.node))
}

// forgetOld removes images whose names the archive takes over. containerd
// gives a new image its identity as a second name, but not an image that it
// already manages under that name, and image volumes are found by identity.
func (s *Store) forgetOld(ctx context.Context, a Archive) error {
	for _, image := range a.Images {
		spec := &cri.ImageSpec{Image: image.Name}
		if _, err := s.cri.RemoveImage(ctx, &cri.RemoveImageRequest{Image: spec}); err != nil {
			return fmt.Errorf("remove the old image %s from %s: %w", image.Name, s.node, err)
		}
	}
	return nil
}

func (s *Store) lacks(ctx context.Context, a Archive) (bool, error) {
	for _, image := range a.Images {
		status, err := s.cri.ImageStatus(ctx, &cri.ImageStatusRequest{Image: &cri.ImageSpec{Image: image.Name}})
		if err != nil {
			return false, fmt.Errorf("ask %s for image %s: %w", s.node, image.Name, err)
		}
		if status.GetImage().GetId() != image.ID {
			return true, nil
		}
	}
	return false, nil
}

// poll calls until it succeeds, the context ends, or two minutes are over,
// more on a slow machine.
func poll(ctx context.Context, try func() error, failure string) error {
	ctx, cancel := context.WithTimeout(ctx, timescale.Of(2*time.Minute))
	defer cancel()
	tick := time.NewTicker(timescale.Of(20 * time.Millisecond))
	defer tick.Stop()
	for {
		err := try()
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%s: %w", failure, err)
		case <-tick.C:
		}
	}
}
