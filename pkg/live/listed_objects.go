package live

import (
	"context"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic"

	"lockstep.dev/lockstep/pkg/compile/object"
)

// listedKind are the objects of a kind that have our label, as they were when the first of them was asked for: some pages instead of a
// request for each. Each is kept encoded, without the fields' managers, until it is asked for.
type listedKind struct {
	once    sync.Once
	mu      sync.Mutex
	objects map[objectKey]encodedObject
}

// objectKey is what an object is called among those of its kind.
type objectKey struct{ namespace, name string }

type encodedObject []byte

// kindVersion is a kind of a version.
type kindVersion struct{ version, kind string }

// readObject returns an object as it is, or as it was a while ago: stale says so. Who compares it must see that it has not changed since.
func (c *Cluster) readObject(ctx context.Context, o *object.Object, objects dynamic.ResourceInterface) (u *unstructured.Unstructured, stale bool, err error) {
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
	kind := kindVersion{o.Root.Get("apiVersion").Text, o.ID.Kind}
	l := c.listedKindOf(kind)
	l.once.Do(func() { l.objects = c.listKind(ctx, kind) })
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

func (c *Cluster) listedKindOf(kind kindVersion) *listedKind {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.lists[kind] == nil {
		c.lists[kind] = &listedKind{}
	}
	return c.lists[kind]
}

// listKind reads the pages of a kind. What it does not return is asked for one by one, so that it is no matter why.
func (c *Cluster) listKind(ctx context.Context, kind kindVersion) map[objectKey]encodedObject {
	objects := map[objectKey]encodedObject{}
	_, _ = c.readPages(ctx, kind.version, kind.kind, func(u *unstructured.Unstructured) {
		u.SetAPIVersion(kind.version)
		u.SetKind(kind.kind)
		u.SetManagedFields(nil)
		if data, err := u.MarshalJSON(); err == nil {
			objects[objectKey{u.GetNamespace(), u.GetName()}] = data
		}
	})
	return objects
}
