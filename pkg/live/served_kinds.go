package live

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	"lockstep.dev/lockstep/pkg/compile/object"
)

// servedKinds knows which kinds the API server has. It asks for a version of a group when its first object comes: client-go's discovery
// asks for all, and costs every run of the compiler a millisecond.
type servedKinds struct {
	http *http.Client
	host string

	mu       sync.Mutex
	versions map[string]map[string]metav1.APIResource
}

func newServedKinds(config *rest.Config) (*servedKinds, error) {
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		return nil, err
	}
	isTLS := config.CAData != nil || config.CAFile != "" || config.Insecure
	host, _, err := rest.DefaultServerURL(config.Host, config.APIPath, schema.GroupVersion{}, isTLS)
	if err != nil {
		return nil, err
	}
	return &servedKinds{http: client, host: strings.TrimSuffix(host.String(), "/"), versions: map[string]map[string]metav1.APIResource{}}, nil
}

// resourceOf returns what a kind is called in addresses; false where it is not served.
func (s *servedKinds) resourceOf(ctx context.Context, version, kind string) (metav1.APIResource, bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	known, asked := s.versions[version]
	if !asked {
		var err error
		if known, err = s.fetchKinds(ctx, version); err != nil {
			return metav1.APIResource{}, false, fmt.Errorf("ask for the kinds of %s: %w", version, err)
		}
		s.versions[version] = known
	}
	found, ok := known[kind]
	return found, ok, nil
}

func (s *servedKinds) fetchKinds(ctx context.Context, version string) (map[string]metav1.APIResource, error) {
	path := "/apis/" + version
	if !strings.Contains(version, "/") {
		path = "/api/" + version
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, s.host+path, nil)
	if err != nil {
		return nil, err
	}
	request.Header.Set("Accept", "application/json")
	answer, err := s.http.Do(request)
	if err != nil {
		return nil, err
	}
	defer answer.Body.Close()
	switch answer.StatusCode {
	case http.StatusOK:
	case http.StatusNotFound:
		return nil, nil
	default:
		return nil, apierrors.NewGenericServerResponse(answer.StatusCode, "get", schema.GroupResource{}, path, "", 0, true)
	}
	var list metav1.APIResourceList
	if err := json.NewDecoder(answer.Body).Decode(&list); err != nil {
		return nil, err
	}
	kinds := map[string]metav1.APIResource{}
	for _, r := range list.APIResources {
		if !strings.Contains(r.Name, "/") {
			kinds[r.Kind] = r
		}
	}
	return kinds, nil
}

// clientFor returns the client of an object's kind and namespace; false where the kind is not served.
func (c *Cluster) clientFor(ctx context.Context, o *object.Object) (dynamic.ResourceInterface, bool, error) {
	version := o.Root.Get("apiVersion")
	if version == nil {
		return nil, false, fmt.Errorf("%s has no apiVersion", o.ID)
	}
	resource, known, err := c.served.resourceOf(ctx, version.Text, o.ID.Kind)
	if err != nil || !known {
		return nil, false, err
	}
	all, err := c.clientOfResource(version.Text, resource)
	if err != nil || !resource.Namespaced {
		return all, true, err
	}
	return all.Namespace(o.ID.Namespace), true, nil
}

func (c *Cluster) clientOfResource(version string, resource metav1.APIResource) (dynamic.NamespaceableResourceInterface, error) {
	parsed, err := schema.ParseGroupVersion(version)
	if err != nil {
		return nil, err
	}
	return c.objects.Resource(parsed.WithResource(resource.Name)), nil
}
