package addons

import (
	"context"
	"encoding/base64"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"
	"sigs.k8s.io/yaml"

	"lockstep.dev/lockstep/test/cluster/internal/api"
	"lockstep.dev/lockstep/test/cluster/internal/images"
	"lockstep.dev/lockstep/test/cluster/internal/pki"
	"lockstep.dev/lockstep/test/cluster/internal/timescale"
)

const jobSetNamespace = "jobset-system"

// overlay is laid over upstream's config/default. What it changes, and why:
//   - the image is ours, and never pulled, because there is no registry;
//   - the probes start at once and repeat every second: upstream waits 5 s
//     before it asks for the first time and 10 s between questions;
//   - the webhook has its certificates from the start, as with upstream's
//     cert-manager variant. When the manager makes them itself it must wait
//     until kubelet refreshes the mounted Secret, up to a minute.
//
// %[1]s is the image, %[2]s the Secret's data, %[3]s the authority that signed
// the certificate.
const overlay = `apiVersion: kustomize.config.k8s.io/v1beta1
kind: Kustomization
resources: [../default]
patches:
- target: {kind: Deployment, name: jobset-controller-manager}
  patch: |-
    - {op: replace, path: /spec/template/spec/containers/0/image, value: "%[1]s"}
    - {op: add, path: /spec/template/spec/containers/0/imagePullPolicy, value: IfNotPresent}
    - {op: replace, path: /spec/template/spec/containers/0/readinessProbe/initialDelaySeconds, value: 0}
    - {op: replace, path: /spec/template/spec/containers/0/readinessProbe/periodSeconds, value: 1}
- target: {kind: Secret, name: jobset-webhook-server-cert}
  patch: |-
    - {op: add, path: /data, value: %[2]s}
- target: {kind: ConfigMap, name: jobset-manager-config}
  patch: |-
    - op: replace
      path: /data/controller_manager_config.yaml
      value: |
        apiVersion: config.jobset.x-k8s.io/v1alpha1
        kind: Configuration
        leaderElection: {leaderElect: true}
        internalCertManagement: {enable: false}
- target: {kind: "(Mutating|Validating)WebhookConfiguration"}
  patch: |-
    - {op: add, path: /webhooks/0/clientConfig/caBundle, value: %[3]s}
    - {op: add, path: /webhooks/1/clientConfig/caBundle, value: %[3]s}
`

// renderJobSet runs kustomize over a copy of the module's config folder: an
// overlay must lie beside what it builds on, and the module cache is
// read-only.
func renderJobSet(module string, now time.Time) ([]*unstructured.Unstructured, error) {
	dir, err := os.MkdirTemp("", "lockstep-jobset-")
	if err != nil {
		return nil, fmt.Errorf("render JobSet: %w", err)
	}
	defer func() { _ = os.RemoveAll(dir) }()
	if err := copyWritable(dir, filepath.Join(module, "config")); err != nil {
		return nil, fmt.Errorf("copy JobSet's manifests: %w", err)
	}
	if err := modernise(filepath.Join(dir, "default", "kustomization.yaml")); err != nil {
		return nil, fmt.Errorf("render JobSet: %w", err)
	}
	secret, authority, err := certificate("jobset-webhook-service", jobSetNamespace, now)
	if err != nil {
		return nil, err
	}
	target := filepath.Join(dir, "lockstep")
	if err := os.Mkdir(target, 0o755); err != nil {
		return nil, fmt.Errorf("render JobSet: %w", err)
	}
	content := fmt.Sprintf(overlay, images.JobSet, inline(secret), authority)
	if err := os.WriteFile(filepath.Join(target, "kustomization.yaml"), []byte(content), 0o644); err != nil {
		return nil, fmt.Errorf("render JobSet: %w", err)
	}
	objects, err := kustomize(target)
	if err != nil {
		return nil, fmt.Errorf("render JobSet: %w", err)
	}
	return objects, nil
}

// inline writes a mapping of texts on one line of YAML.
func inline(data map[string]any) string {
	return fmt.Sprintf("{tls.crt: %q, tls.key: %q}", data["tls.crt"], data["tls.key"])
}

// modernise does what `kustomize edit fix` does about the deprecated field
// commonLabels; kustomize would complain about it on our standard error.
func modernise(path string) error {
	content, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	var kustomization map[string]any
	if err := yaml.Unmarshal(content, &kustomization); err != nil {
		return err
	}
	if common := kustomization["commonLabels"]; common != nil {
		delete(kustomization, "commonLabels")
		kustomization["labels"] = []any{map[string]any{"includeSelectors": true, "pairs": common}}
	}
	if content, err = yaml.Marshal(kustomization); err != nil {
		return err
	}
	return os.WriteFile(path, content, 0o644)
}

func kustomize(dir string) ([]*unstructured.Unstructured, error) {
	options := krusty.MakeDefaultOptions()
	options.Reorder = krusty.ReorderOptionLegacy // namespaces and definitions first
	resources, err := krusty.MakeKustomizer(options).Run(filesys.MakeFsOnDisk(), dir)
	if err != nil {
		return nil, err
	}
	manifest, err := resources.AsYaml()
	if err != nil {
		return nil, err
	}
	return decode(manifest)
}

// certificate makes the data of the Secret of the webhook server behind a
// service, with the file names that controller-runtime's webhook server reads,
// and the authority for the API server, in base64.
func certificate(service, namespace string, now time.Time) (secret map[string]any, authority string, err error) {
	ca, err := pki.NewAuthority(service+"-ca", now)
	if err != nil {
		return nil, "", err
	}
	host := service + "." + namespace + ".svc"
	server, err := ca.Issue(pki.Subject{CommonName: host, DNSNames: []string{host}}, now)
	if err != nil {
		return nil, "", err
	}
	b64 := base64.StdEncoding.EncodeToString
	return map[string]any{"tls.crt": b64(server.Cert), "tls.key": b64(server.Key)}, b64(ca.Cert), nil
}

// copyWritable copies a folder without the read-only modes of the module cache.
func copyWritable(to, from string) error {
	source := os.DirFS(from)
	return fs.WalkDir(source, ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		target := filepath.Join(to, path)
		if d.IsDir() {
			return os.MkdirAll(target, 0o755)
		}
		content, err := fs.ReadFile(source, path)
		if err != nil {
			return err
		}
		return os.WriteFile(target, content, 0o644)
	})
}

var jobSets = schema.GroupVersionResource{Group: "jobset.x-k8s.io", Version: "v1alpha2", Resource: "jobsets"}

// probeJobSet creates a JobSet without keeping it: that only works when the
// definition is served and both webhooks answer.
func probeJobSet(ctx context.Context, client *api.Client) error {
	ctx, cancel := context.WithTimeout(ctx, timescale.Of(3*time.Second))
	defer cancel()
	container := map[string]any{"name": "c", "image": images.Pause}
	pod := map[string]any{"spec": map[string]any{"restartPolicy": "Never", "containers": []any{container}}}
	job := map[string]any{"name": "probe", "template": map[string]any{"spec": map[string]any{"template": pod}}}
	return client.DryRun(ctx, jobSets, &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": jobSets.GroupVersion().String(), "kind": "JobSet",
		"metadata": map[string]any{"name": "probe", "namespace": "default"},
		"spec":     map[string]any{"replicatedJobs": []any{job}},
	}})
}
