package main

import (
	"os"
	"testing"

	"lockstep.dev/lockstep/pkg/compile"
	"lockstep.dev/lockstep/pkg/compile/patch/chart/helm"
)

// TestApplierOf: drift asks in the name of whoever applies the tree of a cluster.
func TestApplierOf(t *testing.T) {
	for cluster, want := range map[string]string{"local": "kubectl", "onprem": "kustomize-controller", "openshift-ai": "argocd-controller"} {
		var units []compile.Unit
		list, err := compile.Stream(os.DirFS("../.."), compile.Options{Cluster: cluster, Charts: helm.Renderer{}}, func(u compile.Unit) error {
			units = append(units, u)
			return nil
		})
		if err != nil || list.Errors() > 0 {
			t.Fatal(err, list.Errors())
		}
		if got := fieldManagerOf(units); got != want {
			t.Errorf("%s: got %s, want %s", cluster, got, want)
		}
	}
}
