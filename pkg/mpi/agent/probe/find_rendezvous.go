package probe

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"lockstep.dev/lockstep/pkg/mpi"
	"lockstep.dev/lockstep/pkg/mpi/agent/client"
	"lockstep.dev/lockstep/pkg/mpi/agent/identity"
	"lockstep.dev/lockstep/pkg/mpi/agent/state"
)

// FindRendezvous finds where the ranks of a probe meet: at the first node, whose agent always runs, or at the launcher when
// it is the only host. It returns the way to bring something there, and our own address on that way.
func FindRendezvous(s state.Settings, key identity.Key, dial client.Dial) (
	meet func(context.Context, mpi.ProbeRequest) (mpi.ProbeReply, error), address string, err error,
) {
	table, err := state.ReadHostTable(s.HostTablePath())
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, "", fmt.Errorf("the addresses of the pods are not known here: the probe runs under mpirun in a job whose launcher has passed its gate (%w)", err)
	case err != nil:
		return nil, "", err
	}
	host := mpi.HostAddress{Name: "localhost", Address: "127.0.0.1"} // of a job that is one pod
	if len(table.Hosts) > 0 {
		host = table.Hosts[min(1, len(table.Hosts)-1)]
	}
	place, err := client.AgentAddress(host, s.Port)
	if err != nil {
		return nil, "", fmt.Errorf("find the place where the ranks meet: %w", err)
	}
	return func(ctx context.Context, request mpi.ProbeRequest) (mpi.ProbeReply, error) {
		return client.ExchangeProbe(ctx, dial, key, place, request)
	}, client.LocalAddress(host.Address), nil
}
