package platform

import (
	"fmt"

	"k8s.io/client-go/tools/clientcmd"
)

// Handle is what another process needs to know of a platform that is up.
type Handle struct {
	Kubeconfig, Kubectl string
	Machines            int
	Started, External   bool
}

// Handle returns the platform's own.
func (p *Platform) Handle() Handle {
	return Handle{Kubeconfig: p.Kubeconfig, Kubectl: p.Kubectl, Machines: p.Machines, Started: p.started, External: p.external}
}

// Join returns the platform that another process has brought up and will close.
func Join(tools Tools, h Handle) (*Platform, error) {
	p := &Platform{tools: tools, Kubeconfig: h.Kubeconfig, Kubectl: h.Kubectl, Machines: h.Machines, started: h.Started, external: h.External}
	return p, p.connect()
}

// connect reads the client configuration of the admin.
func (p *Platform) connect() error {
	config, err := clientcmd.BuildConfigFromFlags("", p.Kubeconfig)
	if err != nil {
		return fmt.Errorf("read %s: %w", p.Kubeconfig, err)
	}
	// The default of 5 requests a second would be what is measured.
	config.QPS, config.Burst = 200, 400
	p.Config = config
	return nil
}
