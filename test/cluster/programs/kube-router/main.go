// Command kube-router is the part of kube-router that makes NetworkPolicies rules of the kernel. The project's program also routes and
// proxies services, and so would bring the clients of a cloud and a BGP speaker into each first build of a cluster.
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"sync"
	"syscall"

	"github.com/cloudnativelabs/kube-router/v2/pkg/controllers/netpol"
	"github.com/cloudnativelabs/kube-router/v2/pkg/healthcheck"
	"github.com/cloudnativelabs/kube-router/v2/pkg/options"
	"github.com/spf13/pflag"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/klog/v2"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run() error {
	klog.InitFlags(nil)
	config := options.NewKubeRouterConfig()
	config.AddFlags(pflag.CommandLine)
	pflag.Parse()
	if err := errors.Join(flag.Set("logtostderr", "true"), flag.Set("v", config.VLevel)); err != nil {
		return err
	}
	access, err := clientcmd.BuildConfigFromFlags(config.Master, config.Kubeconfig)
	if err != nil {
		return err
	}
	client, err := kubernetes.NewForConfig(access)
	if err != nil {
		return err
	}
	stop := make(chan struct{})
	var running sync.WaitGroup
	if err := start(client, config, stop, &running); err != nil {
		return err
	}
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM)
	<-signals
	close(stop)
	running.Wait()
	return nil
}

// start wires the controller of policies as kube-router's own command does.
func start(client kubernetes.Interface, config *options.KubeRouterConfig, stop chan struct{}, running *sync.WaitGroup) error {
	health, err := healthcheck.NewHealthController(config)
	if err != nil {
		return err
	}
	beats := make(chan *healthcheck.ControllerHeartbeat, 10)
	running.Add(1)
	go health.RunServer(stop, running)

	factory := informers.NewSharedInformerFactory(client, 0)
	pods, namespaces := factory.Core().V1().Pods().Informer(), factory.Core().V1().Namespaces().Informer()
	policies := factory.Networking().V1().NetworkPolicies().Informer()
	factory.Start(stop)
	factory.WaitForCacheSync(stop)
	health.SetAlive()
	running.Add(1)
	go health.RunCheck(beats, stop, running)

	tables, sets, err := netpol.NewIPTablesHandlers(config)
	if err != nil {
		return err
	}
	for family, table := range tables {
		tables[family] = remember(table)
	}
	var lock sync.Mutex
	controller, err := netpol.NewNetworkPolicyController(client, config, pods, policies, namespaces, &lock, tables, sets)
	if err != nil {
		return err
	}
	for _, watch := range []struct {
		informer cache.SharedIndexInformer
		handler  cache.ResourceEventHandler
	}{{pods, controller.PodEventHandler}, {namespaces, controller.NamespaceEventHandler}, {policies, controller.NetworkPolicyEventHandler}} {
		if _, err := watch.informer.AddEventHandler(watch.handler); err != nil {
			return err
		}
	}
	running.Add(1)
	go controller.Run(beats, stop, running)
	return nil
}
