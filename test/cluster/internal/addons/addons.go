// Package addons installs what a cluster needs besides Kubernetes itself:
// CoreDNS from a manifest of our own, and the JobSet controller from the
// manifests in its pinned module.
//
// Flow: Render makes the objects, without a cluster → Define applies the
// definitions of kinds, before anything looks at which kinds there are →
// Install applies what needs no node → Start applies the workloads, once nodes
// take pods (a pod that finds no node waits for the scheduler's back-off) →
// Wait returns when both really answer.
package addons

import (
	"bytes"
	"context"
	_ "embed" // the manifest
	"errors"
	"fmt"
	"io"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/yaml"

	"lockstep.dev/lockstep/test/cluster/internal/api"
)

//go:embed coredns.yaml
var coreDNS []byte

// Addons are the objects to install.
type Addons struct {
	kinds     []*unstructured.Unstructured
	ground    []*unstructured.Unstructured
	workloads []*unstructured.Unstructured
	// hooks are webhooks and aggregated APIs of an extra.
	hooks []*unstructured.Unstructured
	// made are objects that workloads make and leave behind.
	made []*unstructured.Unstructured
}

// Render reads JobSet's manifests from the folder of its module, and more
// definitions of kinds from folders that each have a kustomization.yaml.
func Render(jobSetModule string, definitions []string, now time.Time) (*Addons, error) {
	dns, err := decode(coreDNS)
	if err != nil {
		return nil, fmt.Errorf("read the manifest of CoreDNS: %w", err)
	}
	jobSet, err := renderJobSet(jobSetModule, now)
	if err != nil {
		return nil, err
	}
	a := split(append(dns, jobSet...))
	more, err := Definitions(definitions)
	if err != nil {
		return nil, err
	}
	a.kinds = append(a.kinds, more.kinds...)
	return a, nil
}

func split(objects []*unstructured.Unstructured) *Addons {
	var a Addons
	for _, object := range objects {
		switch object.GetKind() {
		case "Deployment":
			a.workloads = append(a.workloads, object)
		case kindOfKinds:
			a.kinds = append(a.kinds, object)
		default:
			a.ground = append(a.ground, object)
		}
	}
	return &a
}

const kindOfKinds = "CustomResourceDefinition"

// Definitions reads definitions of kinds from folders that each have a
// kustomization.yaml.
func Definitions(folders []string) (*Addons, error) {
	var a Addons
	for _, folder := range folders {
		objects, err := kustomize(folder)
		if err != nil {
			return nil, fmt.Errorf("read definitions from %s: %w", folder, err)
		}
		for _, object := range objects {
			if object.GetKind() != kindOfKinds {
				return nil, fmt.Errorf("read definitions from %s: %s %s is not a %s", folder, object.GetKind(), object.GetName(), kindOfKinds)
			}
		}
		a.kinds = append(a.kinds, objects...)
	}
	return &a, nil
}

func decode(manifest []byte) ([]*unstructured.Unstructured, error) {
	decoder := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(manifest), 4096)
	var objects []*unstructured.Unstructured
	for {
		object := &unstructured.Unstructured{}
		err := decoder.Decode(&object.Object)
		if errors.Is(err, io.EOF) {
			return objects, nil
		}
		if err != nil {
			return nil, err
		}
		if len(object.Object) > 0 {
			objects = append(objects, object)
		}
	}
}

// Define applies the definitions of kinds and returns when all are served.
func (a *Addons) Define(ctx context.Context, client *api.Client) error {
	if err := client.Apply(ctx, a.kinds); err != nil {
		return err
	}
	for _, kind := range a.kinds {
		if err := api.Until(ctx, limit, "the API server does not serve "+kind.GetName(), func(ctx context.Context) error {
			return client.Established(ctx, kind.GetName())
		}); err != nil {
			return err
		}
	}
	return nil
}

// Install applies everything but definitions and workloads.
func (a *Addons) Install(ctx context.Context, client *api.Client) error {
	return client.Apply(ctx, a.ground)
}

// Start applies the workloads.
func (a *Addons) Start(ctx context.Context, client *api.Client) error {
	return client.Apply(ctx, a.workloads)
}

// limit is generous: a cold and busy machine takes a while.
const limit = 3 * time.Minute

// Wait returns when CoreDNS is available and JobSet's webhook answers.
func Wait(ctx context.Context, client *api.Client) error {
	if err := api.Until(ctx, limit, "JobSet's webhook does not answer", func(ctx context.Context) error { return probeJobSet(ctx, client) }); err != nil {
		return err
	}
	return api.Until(ctx, limit, "CoreDNS does not start", func(ctx context.Context) error {
		return client.Available(ctx, "kube-system", "coredns")
	})
}

// Answers asks once whether the add-ons are at work.
func Answers(ctx context.Context, client *api.Client) error {
	return errors.Join(client.Available(ctx, "kube-system", "coredns"), probeJobSet(ctx, client))
}
