package launch

import (
	"context"
	"net/netip"
	"testing"

	"lockstep.dev/lockstep/pkg/mpi"
	"lockstep.dev/lockstep/pkg/mpi/agent/hosts"
)

// FuzzHostTableReceiver pushes anything: a table that is taken has an IP address for every entry, and all hosts of the job.
func FuzzHostTableReceiver(f *testing.F) {
	f.Add([]byte(`{"hosts":[{"name":"a.demo","address":"10.0.0.1"}]}`))
	f.Add([]byte(`{"hosts":[{"name":"a","address":"evil.example"}]}`))
	f.Add([]byte(`{"hosts":null}`))
	f.Add([]byte(`[`))
	f.Fuzz(func(t *testing.T, request []byte) {
		r := newHostTableReceiver([]mpi.Host{{Name: "a.demo"}})
		taken := make(chan mpi.HostTable, 1)
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		go func() {
			select {
			case table := <-r.tables:
				taken <- table
				r.answerAllPushes(mpi.GateResult{Passed: true})
			case <-ctx.Done():
			}
		}()
		if _, err := r.answerPush(ctx, request); err != nil {
			return
		}
		table := <-taken
		if _, found := hosts.FindHost(table, "a.demo"); !found {
			t.Errorf("%q was taken without the host of the job", request)
		}
		for _, host := range table.Hosts {
			if _, err := netip.ParseAddr(host.Address); err != nil {
				t.Errorf("%q was taken with the address %q", request, host.Address)
			}
		}
	})
}
