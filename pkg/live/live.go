// Package live compares compiled objects with those of a cluster, and changes nothing there.
//
// For each compiled object the API server is asked what applying it would make of the one that exists: a dry run of a server-side apply,
// in the name of the field manager that applies the tree. So defaults, conversions and the fields of others are the API server's business:
// what others own stays in the answer as it is, and is not a difference. Where the dry run is not allowed, because it needs the right to
// patch, or is refused, the fields that are compiled or owned by the field manager are compared instead (compare_by_fields.go). What exists is read
// in pages, and one by one only where no page has it (listed_objects.go).
//
// The flow is Connect, CompareUnit for each unit of a compiled cluster, ExtraObjects at the end. The units that come back are pairs for semdiff:
// before is what is there, after is what applying would leave.
package live

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"lockstep.dev/lockstep/pkg/compile/object"
)

// Cluster is a cluster that is looked at.
type Cluster struct {
	// Manager is the field manager that applies the tree.
	Manager string
	// Context names the cluster as the kubeconfig does.
	Context string

	objects dynamic.Interface
	served  *servedKinds

	mu    sync.Mutex
	found Findings
	// compiled are the objects that CompareUnit was asked for.
	compiled map[object.ID]bool
	lists    map[kindVersion]*listedKind
}

// Findings is what was found, each list sorted.
type Findings struct {
	// Missing are compiled and not there; Extra are there, have our label, and are not compiled.
	Missing, Extra []object.ID
	// Refused are what applying would end with an error, Unreadable what nobody may read here.
	Refused, Unreadable []Problem
	// ByFields counts objects that were compared field by field, because a dry run was not allowed.
	ByFields int
}

// Problem is an object, or a kind, that could not be compared, and why.
type Problem struct {
	What, Why string
}

// A cluster of a thousand tenants has fifteen thousand objects, and the API server has other things to do. What protects it is that few
// requests are on their way at one time, and API Priority and Fairness, which queues them behind those of others
// (https://kubernetes.io/docs/concepts/cluster-administration/flow-control/): of the some hundred requests that an API server works on at
// one time we ask for 16. The limit in a second is for servers that answer at once.
const (
	requestsPerSecond = 1000
	burst             = 1000
	// workers is how many objects are asked for at one time.
	workers = 16
)

// Connect opens the cluster that a kubeconfig names; empty names are kubectl's defaults.
func Connect(kubeconfig, contextName, manager string) (*Cluster, error) {
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = kubeconfig
	loader := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, &clientcmd.ConfigOverrides{CurrentContext: contextName})
	config, err := loader.ClientConfig()
	if clientcmd.IsEmptyConfig(err) {
		return nil, errors.New("there is no kubeconfig that names a cluster: " +
			"give one with --kubeconfig or $KUBECONFIG, or log in")
	}
	if err != nil {
		return nil, fmt.Errorf("read the kubeconfig: %w", err)
	}
	if contextName == "" {
		if raw, err := loader.RawConfig(); err == nil {
			contextName = raw.CurrentContext
		}
	}
	return NewCluster(config, contextName, manager)
}

// NewCluster opens the cluster of a configuration.
func NewCluster(config *rest.Config, contextName, manager string) (*Cluster, error) {
	config = rest.CopyConfig(config)
	config.QPS, config.Burst, config.UserAgent = requestsPerSecond, burst, "runtime-compiler"
	config.WarningHandler = rest.NoWarnings{}
	objects, err := dynamic.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("open the cluster: %w", err)
	}
	kinds, err := newServedKinds(config)
	if err != nil {
		return nil, fmt.Errorf("open the cluster: %w", err)
	}
	return &Cluster{Manager: manager, Context: contextName, objects: objects, served: kinds, compiled: map[object.ID]bool{}, lists: map[kindVersion]*listedKind{}}, nil
}

// Findings returns what was found so far.
func (c *Cluster) Findings() Findings {
	c.mu.Lock()
	defer c.mu.Unlock()
	f := c.found
	for _, ids := range []*[]object.ID{&f.Missing, &f.Extra} {
		*ids = slices.Clone(*ids)
		slices.SortFunc(*ids, func(a, b object.ID) int { return strings.Compare(a.String(), b.String()) })
	}
	for _, problems := range []*[]Problem{&f.Refused, &f.Unreadable} {
		*problems = slices.Clone(*problems)
		slices.SortFunc(*problems, func(a, b Problem) int { return strings.Compare(a.What, b.What) })
	}
	return f
}

// CompareUnit asks for the objects of a unit. Before is what is there, after what applying would leave; objects that nobody may read are on
// neither side.
func (c *Cluster) CompareUnit(ctx context.Context, compiled []object.Object) (before, after []object.Object, err error) {
	pairs := make([]objectPair, len(compiled))
	errs := make([]error, len(compiled))
	var all sync.WaitGroup
	free := make(chan struct{}, workers)
	for i := range compiled {
		c.compiled[compiled[i].ID] = true
		free <- struct{}{}
		all.Go(func() {
			pairs[i], errs[i] = c.compareObject(ctx, &compiled[i])
			<-free
		})
	}
	all.Wait()
	for i := range pairs {
		if errs[i] != nil {
			return nil, nil, fmt.Errorf("compare %s: %w", compiled[i].ID, errs[i])
		}
		if pairs[i].before != nil {
			before = append(before, *pairs[i].before)
		}
		if pairs[i].after != nil {
			after = append(after, *pairs[i].after)
		}
	}
	return before, after, nil
}

// objectPair is an object as it is, and as applying would leave it; nil is none.
type objectPair struct{ before, after *object.Object }

func (c *Cluster) compareObject(ctx context.Context, o *object.Object) (objectPair, error) {
	client, known, err := c.clientFor(ctx, o)
	if err != nil {
		return objectPair{}, err
	}
	if !known {
		// Its kind comes with a CRD that is not installed.
		return c.pairOfMissing(o), nil
	}
	there, stale, err := c.readObject(ctx, o, client)
	if err != nil {
		return c.pairOfUnreadable(o, err)
	}
	content, _ := o.Root.Value().(map[string]any)
	applied, refused := client.Apply(ctx, o.ID.Name, &unstructured.Unstructured{Object: plainJSON(content)}, metav1.ApplyOptions{
		FieldManager: c.Manager, Force: true, DryRun: []string{metav1.DryRunAll}})
	// A page has no managers of fields, and somebody may have changed the object since: a dry run has the version of what is there.
	if stale && (refused != nil || applied.GetResourceVersion() != there.GetResourceVersion()) {
		if there, err = client.Get(ctx, o.ID.Name, metav1.GetOptions{}); err != nil {
			return c.pairOfUnreadable(o, err)
		}
	}
	switch {
	case refused == nil:
		return objectPair{before: withCompiledOrigins(o, there), after: withCompiledOrigins(o, applied)}, nil
	case apierrors.IsForbidden(refused) && !isAdmissionRefusal(refused):
		c.noteFinding(func(f *Findings) { f.ByFields++ })
	case isRefusal(refused):
		c.noteFinding(func(f *Findings) { f.Refused = append(f.Refused, Problem{o.ID.String(), oneLineReason(refused)}) })
	default:
		return objectPair{}, refused
	}
	return compareByFields(o, there, c.Manager), nil
}

// pairOfUnreadable is the pair of an object that could not be read: the error says whether it is there.
func (c *Cluster) pairOfUnreadable(o *object.Object, err error) (objectPair, error) {
	switch {
	case apierrors.IsNotFound(err):
		return c.pairOfMissing(o), nil
	case apierrors.IsForbidden(err):
		c.noteFinding(func(f *Findings) { f.Unreadable = append(f.Unreadable, Problem{o.ID.String(), oneLineReason(err)}) })
		return objectPair{}, nil
	}
	return objectPair{}, err
}

func (c *Cluster) pairOfMissing(o *object.Object) objectPair {
	c.noteFinding(func(f *Findings) { f.Missing = append(f.Missing, o.ID) })
	return objectPair{after: o}
}

func (c *Cluster) noteFinding(add func(*Findings)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	add(&c.found)
}

// isAdmissionRefusal reports whether a policy or a quota refuses, not the lack of a right: those name themselves.
func isAdmissionRefusal(err error) bool {
	return strings.Contains(err.Error(), "ValidatingAdmissionPolicy") || strings.Contains(err.Error(), "denied the request") || strings.Contains(err.Error(), "exceeded quota")
}

// isRefusal reports whether the API server has understood a request and does not want it.
func isRefusal(err error) bool {
	return apierrors.IsInvalid(err) || apierrors.IsForbidden(err) || apierrors.IsBadRequest(err) || apierrors.IsConflict(err)
}

func oneLineReason(err error) string { return strings.Join(strings.Fields(err.Error()), " ") }

// bookkeeping are fields of the API server that say nothing about an object.
var bookkeeping = []string{"managedFields", "resourceVersion", "uid", "generation", "creationTimestamp", "selfLink"}

// engineMarks are the labels and annotations by which GitOps engines know again what they applied. No tree has them, and each sync writes them.
var engineMarks = map[string][]string{
	"labels":      {"kustomize.toolkit.fluxcd.io/name", "kustomize.toolkit.fluxcd.io/namespace"},
	"annotations": {"argocd.argoproj.io/tracking-id"},
}

// withoutBookkeeping is the content of an object without bookkeeping, the marks of engines and status.
func withoutBookkeeping(u *unstructured.Unstructured) map[string]any {
	content := u.DeepCopy().Object
	delete(content, "status")
	if metadata, ok := content["metadata"].(map[string]any); ok {
		for _, field := range bookkeeping {
			delete(metadata, field)
		}
		for field, keys := range engineMarks {
			withoutKeys(metadata, field, keys)
		}
	}
	return content
}

// withoutKeys deletes keys of a map in a map, and the map itself where nothing else is in it.
func withoutKeys(metadata map[string]any, field string, keys []string) {
	values, ok := metadata[field].(map[string]any)
	if !ok {
		return
	}
	for _, key := range keys {
		delete(values, key)
	}
	if len(values) == 0 {
		delete(metadata, field)
	}
}

// withCompiledOrigins returns an object of the cluster with the origins of what was compiled.
func withCompiledOrigins(compiled *object.Object, u *unstructured.Unstructured) *object.Object {
	root := object.FromValue("", withoutBookkeeping(u), nil)
	setOrigins(&root, &compiled.Root)
	made := object.New(root, compiled.Place, compiled.Rule)
	return &made
}

// setOrigins says where values come from, as far as they are compiled.
func setOrigins(n, compiled *object.Node) {
	n.From = compiled.From
	switch {
	case n.Kind == object.MapNode:
		for i := range n.Children {
			if own := compiled.Get(n.Children[i].Key); own != nil {
				setOrigins(&n.Children[i], own)
			}
		}
	case n.Kind == object.ListNode && len(n.Children) == len(compiled.Children):
		for i := range n.Children {
			setOrigins(&n.Children[i], &compiled.Children[i])
		}
	}
}
