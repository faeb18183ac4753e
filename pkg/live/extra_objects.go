package live

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"lockstep.dev/lockstep/pkg/compile/object"
)

// Label is on every object that the compiler makes itself; objects of charts have labels of their own.
const (
	Label      = labelKey + "=" + labelValue
	labelKey   = "app.kubernetes.io/managed-by"
	labelValue = "lockstep"
)

// kinds are those that the compiler can make, by version: an object of a kind that is no longer compiled at all is extra, too.
var compiledKinds = map[string][]string{
	"v1":                           {"Namespace", "ResourceQuota", "LimitRange", "ServiceAccount", "PersistentVolumeClaim", "ConfigMap"},
	"networking.k8s.io/v1":         {"NetworkPolicy"},
	"rbac.authorization.k8s.io/v1": {"Role", "RoleBinding", "ClusterRole", "ClusterRoleBinding"},
	"scheduling.k8s.io/v1":         {"PriorityClass"},
	"admissionregistration.k8s.io/v1": {
		"MutatingAdmissionPolicy", "MutatingAdmissionPolicyBinding",
		"ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding",
	},
	"kueue.x-k8s.io/v1beta2":         {"ClusterQueue", "LocalQueue", "Cohort", "ResourceFlavor", "Topology", "WorkloadPriorityClass"},
	"trainer.kubeflow.org/v1alpha1":  {"ClusterTrainingRuntime", "TrainingRuntime"},
	"security.openshift.io/v1":       {"SecurityContextConstraints"},
	"monitoring.coreos.com/v1":       {"PrometheusRule", "ServiceMonitor"},
	"monitoring.coreos.com/v1alpha1": {"AlertmanagerConfig"},
	"kustomize.toolkit.fluxcd.io/v1": {"Kustomization"},
	"source.toolkit.fluxcd.io/v1":    {"GitRepository"},
	"argoproj.io/v1alpha1":           {"AppProject", "Application"},
}

// ExtraObjects returns the objects that have our label and were not among those of any unit. Objects that belong to another, which made
// them, and those that are on their way out are none.
func (c *Cluster) ExtraObjects(ctx context.Context) ([]object.Object, error) {
	var extra []object.Object
	for _, version := range slices.Sorted(maps.Keys(compiledKinds)) {
		for _, kind := range compiledKinds[version] {
			found, err := c.extraOfKind(ctx, version, kind)
			if err != nil {
				return nil, fmt.Errorf("list objects of kind %s: %w", kind, err)
			}
			extra = append(extra, found...)
		}
	}
	slices.SortFunc(extra, func(a, b object.Object) int { return strings.Compare(a.ID.String(), b.ID.String()) })
	c.noteFinding(func(f *Findings) {
		for i := range extra {
			f.Extra = append(f.Extra, extra[i].ID)
		}
	})
	return extra, nil
}

// pageSize is how many objects one answer has.
const pageSize = 500

func (c *Cluster) extraOfKind(ctx context.Context, version, kind string) ([]object.Object, error) {
	var extra []object.Object
	resource, err := c.readPages(ctx, version, kind, func(u *unstructured.Unstructured) {
		if o := c.extraOrNil(u, version, kind); o != nil {
			extra = append(extra, *o)
		}
	})
	if apierrors.IsForbidden(err) {
		c.noteFinding(func(f *Findings) { f.Unreadable = append(f.Unreadable, Problem{"all " + resource, oneLineReason(err)}) })
		return nil, nil
	}
	return extra, err
}

// readPages reads all objects of a kind that have our label, page by page, and returns what the kind is called in addresses. A kind that is
// not served has none.
func (c *Cluster) readPages(ctx context.Context, version, kind string, take func(*unstructured.Unstructured)) (string, error) {
	resource, known, err := c.served.resourceOf(ctx, version, kind)
	if err != nil || !known {
		return "", err
	}
	all, err := c.clientOfResource(version, resource)
	if err != nil {
		return resource.Name, err
	}
	for next := ""; ; {
		page, err := all.List(ctx, metav1.ListOptions{LabelSelector: Label, Limit: pageSize, Continue: next})
		if err != nil {
			return resource.Name, err
		}
		for i := range page.Items {
			take(&page.Items[i])
		}
		if next = page.GetContinue(); next == "" {
			return resource.Name, nil
		}
	}
}

// extraOrNil is an object that nobody compiles, or nil.
func (c *Cluster) extraOrNil(u *unstructured.Unstructured, version, kind string) *object.Object {
	u.SetAPIVersion(version)
	u.SetKind(kind)
	o := object.New(object.FromValue("", withoutBookkeeping(u), nil), object.Place{}, nil)
	if c.compiled[o.ID] || len(u.GetOwnerReferences()) > 0 || u.GetDeletionTimestamp() != nil {
		return nil
	}
	return &o
}
