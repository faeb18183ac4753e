// Package platform brings Lockstep up on a real cluster the way an admin would: the bundle is compiled, the cluster
// started, images are made and loaded, the CRDs installed, and the compiled tree applied. The demo and the end-to-end
// tests stand on it.
//
// With KUBECONFIG set it uses that cluster and neither starts nor stops one; images must then be where that cluster can
// pull them, and JobSet must be installed. A local cluster that was already up is used and left up.
package platform
