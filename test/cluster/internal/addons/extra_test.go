package addons

import (
	"context"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"lockstep.dev/lockstep/test/cluster/internal/programs"
)

// Every extra renders from its pinned module, with our image, certificates for all webhooks, and what it needs to start.
func TestExtras(t *testing.T) {
	builder, err := programs.Open(context.Background(), "../..", t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range Extras() {
		t.Run(e.Name, func(t *testing.T) {
			module, err := builder.ModuleDir(t.Context(), e.Module)
			if err != nil {
				t.Fatal(err)
			}
			a, err := e.Render(module, time.Now())
			if err != nil {
				t.Fatal(err)
			}
			if len(a.kinds) == 0 {
				t.Error("no kind is defined")
			}
			if e.Program == "" {
				return
			}
			manager := text(t, find(t, a.workloads, "Deployment", e.deployment))
			for _, part := range []string{`"image":"` + e.adapt.image + `"`, `"imagePullPolicy":"IfNotPresent"`} {
				if !strings.Contains(manager, part) {
					t.Errorf("the deployment lacks %s", part)
				}
			}
			checkWebhooks(t, a.hooks)
			if e.adapt.secret == "" {
				return
			}
			data, _, _ := unstructured.NestedStringMap(find(t, a.ground, "Secret", e.adapt.secret).Object, "data")
			if data["tls.crt"] == "" || data["tls.key"] == "" {
				t.Error("the webhook's Secret has no certificate")
			}
		})
	}
}

func checkWebhooks(t *testing.T, objects []*unstructured.Unstructured) {
	t.Helper()
	for _, object := range objects {
		hooks, _, _ := unstructured.NestedSlice(object.Object, "webhooks")
		for _, hook := range hooks {
			if bundle, _, _ := unstructured.NestedString(hook.(map[string]any), "clientConfig", "caBundle"); bundle == "" {
				t.Errorf("%s has a webhook without caBundle", object.GetName())
			}
		}
	}
}

func TestFindExtraNamesTheKnownOnes(t *testing.T) {
	if _, err := FindExtra("kueu"); err == nil || !strings.Contains(err.Error(), "kueue") {
		t.Errorf("error = %v", err)
	}
}

func TestAfterList(t *testing.T) {
	if got := afterList("\n  - a\n# - b\n  - c\nnext: 1\n"); got != "next: 1\n" {
		t.Errorf("afterList = %q", got)
	}
	if got := afterList("\n  - a\n"); got != "" {
		t.Errorf("afterList = %q", got)
	}
}
