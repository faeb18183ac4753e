package check

import (
	"lockstep.dev/lockstep/pkg/compile/diag"
	"lockstep.dev/lockstep/pkg/compile/plan"
)

// networkEncrypts asks for encryption where a tenant requires it: MPI itself speaks in the clear.
func networkEncrypts(c *plan.Cluster, list *diag.List) {
	if c.Encryption.V != "None" {
		return
	}
	for _, t := range c.Tenants {
		if t.Encrypted.V {
			list.Errorf(diag.NetworkNotEncrypted, t.Encrypted.At, "the tenant `%s` requires encryption, and the network of the cluster `%s` does not encrypt", t.Name.V, c.Name.V).
				Also(c.Encryption.At, "nothing is written here, or `None`").
				Helpf("leave `%s` out of `clusters` of the tenant, or set `network.encryption` of the cluster once its network encrypts", c.Name.V)
		}
	}
}
