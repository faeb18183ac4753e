// Package api talks to the cluster's API server.
package api

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"
	"k8s.io/client-go/tools/clientcmd"

	"lockstep.dev/lockstep/test/cluster/internal/timescale"
)

// owner is the field owner of everything that is applied.
const owner = "lockstep-cluster"

// Client has the administrator's rights.
type Client struct {
	dynamic   dynamic.Interface
	discovery discovery.DiscoveryInterface
}

// Connect reads a kubeconfig. It sends nothing yet.
func Connect(kubeconfig string) (*Client, error) {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return nil, fmt.Errorf("read the cluster's kubeconfig: %w", err)
	}
	config.QPS = -1 // the API server is ours alone
	return newClient(config)
}

func newClient(config *rest.Config) (*Client, error) {
	dyn, err := dynamic.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	disco, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		return nil, err
	}
	return &Client{dynamic: dyn, discovery: disco}, nil
}

// Healthy asks the API server once.
func (c *Client) Healthy(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, timescale.Of(5*time.Second))
	defer cancel()
	_, err := c.discovery.RESTClient().Get().AbsPath("/readyz").DoRaw(ctx)
	return err
}

// Until calls at short intervals until there is no error; when the limit or
// the context ends first, it returns the last error. A slow machine gets more.
func Until(ctx context.Context, limit time.Duration, what string, try func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, timescale.Of(limit))
	defer cancel()
	tick := time.NewTicker(timescale.Of(25 * time.Millisecond))
	defer tick.Stop()
	var last error
	for {
		err := try(ctx)
		if err == nil {
			return nil
		}
		if last == nil || ctx.Err() == nil {
			last = err
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%s: %w", what, errors.Join(context.Cause(ctx), last))
		case <-tick.C:
		}
	}
}

var nodes = schema.GroupVersionResource{Version: "v1", Resource: "nodes"}

// RegisterNode makes a node object before its kubelet does, because the pod
// network of a node is fixed here and cannot be changed later.
func (c *Client) RegisterNode(ctx context.Context, name, podCIDR string) error {
	node := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "Node",
		"metadata": map[string]any{"name": name},
		"spec":     map[string]any{"podCIDR": podCIDR, "podCIDRs": []any{podCIDR}},
	}}
	if err := applyTo(ctx, c.dynamic.Resource(nodes), node); err != nil {
		return fmt.Errorf("register %s: %w", name, err)
	}
	return nil
}

// busyTries is how often an object is applied to an API server that is too busy. It gives a write 34 s, which no flag changes
// (k8s.io/apiserver pkg/endpoints/handlers, requestTimeoutUpperBound): the first minutes of a slow machine are longer.
const busyTries = 10

func applyTo(ctx context.Context, resource dynamic.ResourceInterface, object *unstructured.Unstructured) error {
	for try := 1; ; try++ {
		_, err := resource.Apply(ctx, object.GetName(), object, metav1.ApplyOptions{FieldManager: owner, Force: true})
		if !tooBusy(err) || try == busyTries {
			return err
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(timescale.Of(100 * time.Millisecond)):
		}
	}
}

func tooBusy(err error) bool {
	return apierrors.IsTimeout(err) || apierrors.IsServerTimeout(err) || apierrors.IsTooManyRequests(err)
}

// Node is what the API server knows about a node.
type Node struct {
	Name string
	// Ready is the node's condition, Open says that it has no taint and takes
	// pods.
	Ready, Open bool
	// Why is kubelet's message when it is not Ready.
	Why string
	// Reported is when kubelet last said so.
	Reported time.Time
}

// Nodes lists all nodes in order of their names.
func (c *Client) Nodes(ctx context.Context) ([]Node, error) {
	list, err := c.dynamic.Resource(nodes).List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, fmt.Errorf("list nodes: %w", err)
	}
	var found []Node
	for _, item := range list.Items {
		var n corev1.Node
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(item.Object, &n); err != nil {
			return nil, fmt.Errorf("read a node: %w", err)
		}
		found = append(found, node(n))
	}
	return found, nil
}

func node(n corev1.Node) Node {
	found := Node{Name: n.Name, Open: len(n.Spec.Taints) == 0, Why: "kubelet has not reported yet"}
	for _, c := range n.Status.Conditions {
		if c.Type == corev1.NodeReady {
			found.Ready, found.Why, found.Reported = c.Status == corev1.ConditionTrue, c.Message, c.LastHeartbeatTime.Time
		}
	}
	return found
}

// Apply applies objects by server-side apply, in order.
func (c *Client) Apply(ctx context.Context, objects []*unstructured.Unstructured) error {
	if len(objects) == 0 {
		return nil
	}
	groups, err := restmapper.GetAPIGroupResources(c.discovery)
	if err != nil {
		return fmt.Errorf("ask the API server for its resources: %w", err)
	}
	mapper := restmapper.NewDiscoveryRESTMapper(groups)
	for _, object := range objects {
		if err := c.apply(ctx, mapper, object); err != nil {
			return fmt.Errorf("apply %s %s: %w", object.GetKind(), object.GetName(), err)
		}
	}
	return nil
}

func (c *Client) apply(ctx context.Context, mapper meta.RESTMapper, object *unstructured.Unstructured) error {
	resource, err := c.resource(mapper, object)
	if err != nil {
		return err
	}
	return applyTo(ctx, resource, object)
}

func (c *Client) resource(mapper meta.RESTMapper, object *unstructured.Unstructured) (dynamic.ResourceInterface, error) {
	kind := object.GroupVersionKind()
	mapping, err := mapper.RESTMapping(kind.GroupKind(), kind.Version)
	if err != nil {
		return nil, err
	}
	if mapping.Scope.Name() == meta.RESTScopeNameNamespace {
		return c.dynamic.Resource(mapping.Resource).Namespace(object.GetNamespace()), nil
	}
	return c.dynamic.Resource(mapping.Resource), nil
}

// Delete deletes objects in the reverse order, each with what belongs to it,
// and returns when they are gone. Objects that are not there are no error.
func (c *Client) Delete(ctx context.Context, objects []*unstructured.Unstructured) error {
	groups, err := restmapper.GetAPIGroupResources(c.discovery)
	if err != nil {
		return fmt.Errorf("ask the API server for its resources: %w", err)
	}
	mapper := restmapper.NewDiscoveryRESTMapper(groups)
	for _, object := range slices.Backward(objects) {
		if err := c.delete(ctx, mapper, object); err != nil {
			return fmt.Errorf("delete %s %s: %w", object.GetKind(), object.GetName(), err)
		}
	}
	return nil
}

func (c *Client) delete(ctx context.Context, mapper meta.RESTMapper, object *unstructured.Unstructured) error {
	resource, err := c.resource(mapper, object)
	if meta.IsNoMatchError(err) {
		return nil
	}
	if err != nil {
		return err
	}
	foreground := metav1.DeletePropagationForeground
	err = resource.Delete(ctx, object.GetName(), metav1.DeleteOptions{PropagationPolicy: &foreground})
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return err
	}
	return Until(ctx, deletion, "it does not go away", func(ctx context.Context) error {
		_, err := resource.Get(ctx, object.GetName(), metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return nil
		}
		return errors.Join(err, errors.New("it is still there"))
	})
}

// deletion is more than the 30 s that pods may take to end.
const deletion = time.Minute

// DryRun creates an object without keeping it, which runs all admission.
func (c *Client) DryRun(ctx context.Context, resource schema.GroupVersionResource, object *unstructured.Unstructured) error {
	_, err := c.dynamic.Resource(resource).Namespace(object.GetNamespace()).
		Create(ctx, object, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}, FieldManager: owner})
	return err
}

var definitions = schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}

// Established returns an error while the API server does not serve a kind that
// it has a definition of.
func (c *Client) Established(ctx context.Context, name string) error {
	d, err := c.dynamic.Resource(definitions).Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return err
	}
	conditions, _, _ := unstructured.NestedSlice(d.Object, "status", "conditions")
	for _, condition := range conditions {
		if c, ok := condition.(map[string]any); ok && c["type"] == "Established" && c["status"] == "True" {
			return nil
		}
	}
	return fmt.Errorf("%s is not established", name)
}

var deployments = schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "deployments"}

// Available returns an error while a deployment lacks available replicas.
func (c *Client) Available(ctx context.Context, namespace, name string) error {
	d, err := c.dynamic.Resource(deployments).Namespace(namespace).Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return err
	}
	wanted, _, _ := unstructured.NestedInt64(d.Object, "spec", "replicas")
	available, _, _ := unstructured.NestedInt64(d.Object, "status", "availableReplicas")
	if available < wanted {
		return fmt.Errorf("deployment %s/%s has %d of %d replicas available", namespace, name, available, wanted)
	}
	return nil
}
