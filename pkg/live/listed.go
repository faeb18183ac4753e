package live

import (
	"context"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic"

	"lockstep.dev/lockstep/pkg/compile/object"
)

// listed are the objects of a kind that have our label, as they were when the first of them was asked for: some pages instead of a
// request for each. Each is kept encoded, without the fields' managers, until it is asked for.
type listed struct {
	once    sync.Once
	mu      sync.Mutex
	objects map[objectKey]encoded
}

// objectKey is what an object is called among those of its kind.
type objectKey struct{ namespace, name string }

type encoded []byte

// kindOf is a kind of a version.
type kindOf struct{ version, kind string }

// there returns an object as it is, or as it was a while ago: stale says so. Who compares it must see that it has not changed since.
func (c *Cluster) there(ctx context.Context, o *object.Object, objects dynamic.ResourceInterface) (u *unstructured.Unstructured, stale bool, err error) {
	if u := c.takeListed(ctx, o); u != nil {
		return u, true, nil
	}
	u, err = objects.Get(ctx, o.ID.Name, metav1.GetOptions{})
	return u, false, err
}

// takeListed takes an object out of the pages of its kind, or returns nil: it is not there, has no label, or may not be listed. Then a
// request of its own says why.
func (c *Cluster) takeListed(ctx context.Context, o *object.Object) *unstructured.Unstructured {
	if labels := o.Root.At("metadata", "labels", labelKey); labels == nil || labels.Text != labelValue {
		return nil
	}
	kind := kindOf{o.Root.Get("apiVersion").Text, o.ID.Kind}
	l := c.listOf(kind)
	l.once.Do(func() { l.objects = c.list(ctx, kind) })
	l.mu.Lock()
	data, found := l.objects[objectKey{o.ID.Namespace, o.ID.Name}]
	delete(l.objects, objectKey{o.ID.Namespace, o.ID.Name})
	l.mu.Unlock()
	u := &unstructured.Unstructured{}
	if !found || u.UnmarshalJSON(data) != nil {
		return nil
	}
	return u
}

func (c *Cluster) listOf(kind kindOf) *listed {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.lists[kind] == nil {
		c.lists[kind] = &listed{}
	}
	return c.lists[kind]
}

// list reads the pages of a kind. What it does not return is asked for one by one, so that it is no matter why.
func (c *Cluster) list(ctx context.Context, kind kindOf) map[objectKey]encoded {
	objects := map[objectKey]encoded{}
	_, _ = c.pages(ctx, kind.version, kind.kind, func(u *unstructured.Unstructured) {
		u.SetAPIVersion(kind.version)
		u.SetKind(kind.kind)
		u.SetManagedFields(nil)
		if data, err := u.MarshalJSON(); err == nil {
			objects[objectKey{u.GetNamespace(), u.GetName()}] = data
		}
	})
	return objects
}
