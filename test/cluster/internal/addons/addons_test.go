package addons

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"lockstep.dev/lockstep/test/cluster/internal/images"
	"lockstep.dev/lockstep/test/cluster/internal/programs"
)

func rendered(t *testing.T) *Addons {
	t.Helper()
	builder, err := programs.Open(context.Background(), "../..", t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	module, err := builder.ModuleDir(t.Context(), "jobset")
	if err != nil {
		t.Fatal(err)
	}
	a, err := Render(module, nil, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func find(t *testing.T, objects []*unstructured.Unstructured, kind, name string) *unstructured.Unstructured {
	t.Helper()
	for _, o := range objects {
		if o.GetKind() == kind && o.GetName() == name {
			return o
		}
	}
	t.Fatalf("no %s %s", kind, name)
	return nil
}

func text(t *testing.T, o *unstructured.Unstructured) string {
	t.Helper()
	content, err := o.MarshalJSON()
	if err != nil {
		t.Fatal(err)
	}
	return string(content)
}

// TestVolumes: a claim without a class finds a volume that pods of any user may write to.
func TestVolumes(t *testing.T) {
	var a Addons
	root := filepath.Join(t.TempDir(), "volumes")
	if err := a.AddVolumes(root); err != nil {
		t.Fatal(err)
	}
	volume := find(t, a.ground, "PersistentVolume", "shared-0")
	path, _, _ := unstructured.NestedString(volume.Object, "spec", "hostPath", "path")
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o777 || !strings.HasPrefix(path, root) {
		t.Errorf("%s: %v, %v", path, info, err)
	}
	if _, found, _ := unstructured.NestedString(volume.Object, "spec", "storageClassName"); found {
		t.Error("a volume with a class is not for claims without")
	}
}

func TestRender(t *testing.T) {
	a := rendered(t)
	if len(a.workloads) != 2 {
		t.Errorf("%d workloads, want CoreDNS and JobSet", len(a.workloads))
	}
	if first := a.ground[0].GetKind(); first != "ServiceAccount" && first != "Namespace" {
		t.Errorf("the first object is a %s", first)
	}
	manager := text(t, find(t, a.workloads, "Deployment", "jobset-controller-manager"))
	for _, part := range []string{`"image":"` + images.JobSet + `"`, `"imagePullPolicy":"IfNotPresent"`} {
		if !strings.Contains(manager, part) {
			t.Errorf("the JobSet deployment lacks %s", part)
		}
	}
	if !strings.Contains(text(t, find(t, a.workloads, "Deployment", "coredns")), images.CoreDNS) {
		t.Error("the CoreDNS deployment does not use the image that is loaded")
	}
}

// The API server only talks to a webhook whose certificate it can verify.
func TestRenderGivesEveryWebhookItsAuthority(t *testing.T) {
	a := rendered(t)
	for _, name := range []string{"MutatingWebhookConfiguration jobset-mutating-webhook-configuration", "ValidatingWebhookConfiguration jobset-validating-webhook-configuration"} {
		kind, name, _ := strings.Cut(name, " ")
		hooks, _, _ := unstructured.NestedSlice(find(t, a.ground, kind, name).Object, "webhooks")
		if len(hooks) != 2 {
			t.Errorf("%s has %d webhooks, the overlay knows 2", name, len(hooks))
		}
		for _, hook := range hooks {
			if bundle, _, _ := unstructured.NestedString(hook.(map[string]any), "clientConfig", "caBundle"); bundle == "" {
				t.Errorf("%s: a webhook has no caBundle", name)
			}
		}
	}
	secret := find(t, a.ground, "Secret", "jobset-webhook-server-cert")
	if data, _, _ := unstructured.NestedStringMap(secret.Object, "data"); data["tls.crt"] == "" || data["tls.key"] == "" {
		t.Error("the webhook's Secret has no certificate")
	}
}

func TestDefinitions(t *testing.T) {
	cases := map[string]struct {
		manifest string
		want     int
		fails    bool
	}{
		"Definition": {"apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: xs.example.org}\n", 1, false},
		"SomethingElse": {
			"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x}\n", 0, true,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			write(t, filepath.Join(dir, "x.yaml"), tc.manifest)
			write(t, filepath.Join(dir, "kustomization.yaml"), "resources: [x.yaml]\n")
			a, err := Definitions([]string{dir})
			if (err != nil) != tc.fails || err == nil && len(a.kinds) != tc.want {
				t.Errorf("Definitions() = %+v, %v", a, err)
			}
		})
	}
	if _, err := Definitions([]string{t.TempDir()}); err == nil {
		t.Error("a folder without kustomization.yaml must be an error")
	}
}

func write(t *testing.T, path, content string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}
