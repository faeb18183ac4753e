package addons

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

// adaptation is what must change about upstream's manifests, and why:
//   - the image is ours, and never pulled, because there is no registry;
//   - probes ask every second from the start, as nobody likes to wait;
//   - webhooks have certificates from the start: when a manager makes them
//     itself it must wait until kubelet refreshes the mounted Secret.
type adaptation struct {
	image string
	// secret holds the certificate of the webhook server behind service.
	secret, service string
	// mounts are more folders where the program looks for that certificate;
	// what upstream mounts there gives way.
	mounts []string
	// without are resources to leave out of the kustomization of a folder.
	without map[string][]string
	// more are folders beside the target that are installed too.
	more []string
	// config replaces, in the manager's configuration, the first text and, if
	// that is the start of a list, the list; empty for no change.
	config [2]string
	// hooks are the resources whose webhooks stay; all without any.
	hooks []string
}

// folder changes the copied manifests before kustomize reads them. A folder of
// bare manifests gets a kustomization.
func (a adaptation) folder(dir string) error {
	for folder, unwanted := range a.without {
		if err := removeResources(filepath.Join(dir, folder, "kustomization.yaml"), unwanted); err != nil {
			return err
		}
	}
	manifests, err := filepath.Glob(filepath.Join(dir, "*.yaml"))
	if err != nil || len(manifests) == 0 {
		return err
	}
	var resources []string
	for _, manifest := range manifests {
		resources = append(resources, filepath.Base(manifest))
	}
	if slices.Contains(resources, "kustomization.yaml") {
		return nil
	}
	return writeYAML(filepath.Join(dir, "kustomization.yaml"), map[string]any{"resources": resources})
}

func removeResources(path string, unwanted []string) error {
	content, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	var kustomization struct {
		Resources []string       `json:"resources"`
		Rest      map[string]any `json:"-"`
	}
	if err := errors.Join(yaml.Unmarshal(content, &kustomization), yaml.Unmarshal(content, &kustomization.Rest)); err != nil {
		return err
	}
	for _, name := range unwanted {
		if !slices.Contains(kustomization.Resources, name) {
			return fmt.Errorf("%s has no resource %s", filepath.Base(path), name)
		}
	}
	kustomization.Rest["resources"] = slices.DeleteFunc(kustomization.Resources, func(name string) bool { return slices.Contains(unwanted, name) })
	return writeYAML(path, kustomization.Rest)
}

func writeYAML(path string, value any) error {
	content, err := yaml.Marshal(value)
	if err != nil {
		return err
	}
	return os.WriteFile(path, content, 0o644)
}

// objects changes what kustomize made.
func (a adaptation) objects(objects []*unstructured.Unstructured, namespace string, now time.Time) ([]*unstructured.Unstructured, error) {
	if a.image == "" {
		return objects, nil
	}
	secret, authority, err := certificate(a.service, namespace, now)
	if err != nil {
		return nil, err
	}
	configured := a.config[0] == ""
	for _, object := range objects {
		switch object.GetKind() {
		case "Deployment":
			err = a.deployment(object)
		case "Secret":
			if object.GetName() == a.secret {
				object.Object["data"] = secret
			}
		case "ConfigMap":
			configured = a.configure(object) || configured
		case kindOfKinds:
			if hook, ok, _ := unstructured.NestedMap(object.Object, "spec", "conversion", "webhook", "clientConfig"); ok {
				hook["caBundle"] = authority
				err = unstructured.SetNestedMap(object.Object, hook, "spec", "conversion", "webhook", "clientConfig")
			}
		case "MutatingWebhookConfiguration", "ValidatingWebhookConfiguration":
			err = a.webhooks(object, authority)
		}
		if err != nil {
			return nil, fmt.Errorf("%s %s: %w", object.GetKind(), object.GetName(), err)
		}
	}
	if !configured {
		return nil, fmt.Errorf("no ConfigMap holds %q", a.config[0])
	}
	return objects, nil
}

func (a adaptation) deployment(object *unstructured.Unstructured) error {
	containers, _, err := unstructured.NestedSlice(object.Object, "spec", "template", "spec", "containers")
	if err != nil || len(containers) != 1 {
		return fmt.Errorf("%d containers, one is expected: %w", len(containers), err)
	}
	container, ok := containers[0].(map[string]any)
	if !ok {
		return errors.New("its container is no mapping")
	}
	container["image"], container["imagePullPolicy"] = a.image, "IfNotPresent"
	delete(container, "startupProbe")
	mounted, _ := container["volumeMounts"].([]any)
	mounted = slices.DeleteFunc(mounted, func(mount any) bool {
		path, _, _ := unstructured.NestedString(mount.(map[string]any), "mountPath")
		return slices.Contains(a.mounts, path)
	})
	for _, path := range a.mounts {
		mounted = append(mounted, map[string]any{"name": "cert", "mountPath": path, "readOnly": true})
	}
	container["volumeMounts"] = mounted
	if probe, ok := container["readinessProbe"].(map[string]any); ok {
		probe["initialDelaySeconds"], probe["periodSeconds"] = int64(0), int64(1)
	}
	return unstructured.SetNestedSlice(object.Object, containers, "spec", "template", "spec", "containers")
}

// configure reports whether the ConfigMap holds what was to be replaced.
func (a adaptation) configure(object *unstructured.Unstructured) bool {
	data, _, _ := unstructured.NestedStringMap(object.Object, "data")
	for name, text := range data {
		before, after, found := strings.Cut(text, a.config[0])
		if !found || a.config[0] == "" {
			continue
		}
		if strings.HasSuffix(a.config[0], ":") {
			after = afterList(after)
		}
		data[name] = before + a.config[1] + after
		_ = unstructured.SetNestedStringMap(object.Object, data, "data")
		return true
	}
	return false
}

// afterList cuts off the indented lines and comments that follow.
func afterList(text string) string {
	lines := strings.SplitAfter(strings.TrimPrefix(text, "\n"), "\n")
	end := slices.IndexFunc(lines, func(line string) bool {
		return strings.TrimSpace(line) != "" && !strings.HasPrefix(line, " ") && !strings.HasPrefix(line, "#")
	})
	if end < 0 {
		return ""
	}
	return strings.Join(lines[end:], "")
}

func (a adaptation) webhooks(object *unstructured.Unstructured, authority string) error {
	hooks, _, err := unstructured.NestedSlice(object.Object, "webhooks")
	if err != nil {
		return err
	}
	hooks = slices.DeleteFunc(hooks, func(hook any) bool { return !a.keeps(hook) })
	for _, hook := range hooks {
		if err := unstructured.SetNestedField(hook.(map[string]any), authority, "clientConfig", "caBundle"); err != nil {
			return err
		}
	}
	return unstructured.SetNestedSlice(object.Object, hooks, "webhooks")
}

func (a adaptation) keeps(hook any) bool {
	if len(a.hooks) == 0 {
		return true
	}
	rules, _, _ := unstructured.NestedSlice(hook.(map[string]any), "rules")
	for _, rule := range rules {
		resources, _, _ := unstructured.NestedStringSlice(rule.(map[string]any), "resources")
		for _, resource := range resources {
			resource, _, _ = strings.Cut(resource, "/")
			if slices.Contains(a.hooks, resource) {
				return true
			}
		}
	}
	return false
}
