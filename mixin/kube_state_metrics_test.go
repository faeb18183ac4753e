package mixin

import (
	"os"
	"slices"
	"strings"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"lockstep.dev/lockstep/pkg/compile/schema/pinned"
)

// states is as much of kube-state-metrics' configuration as names fields of a TrainJob (its documentation: Custom Resource State Metrics).
type states struct {
	Kind string
	Spec struct {
		Resources []struct {
			LabelsFromPath map[string][]string
			Metrics        []struct {
				Name, Help string
				Each       struct {
					Type  string
					Info  *struct{ LabelsFromPath map[string][]string }
					Gauge *struct {
						Path, ValueFrom []string
						LabelsFromPath  map[string][]string
					}
				}
			}
		}
	}
}

// A path that does not exist is a metric that never has a series, and nobody says so.
func TestKubeStateMetricsReadFieldsThatExist(t *testing.T) {
	var file states
	read(t, os.DirFS("."), "kube-state-metrics.yaml", &file)
	trainJob := trainJobSchema(t)
	exists := func(metric string, from *apiextensionsv1.JSONSchemaProps, path []string) *apiextensionsv1.JSONSchemaProps {
		t.Helper()
		found := field(from, path)
		if found == nil {
			t.Errorf("%s: a TrainJob has no %s", metric, strings.Join(path, "."))
		}
		return found
	}
	for _, resource := range file.Spec.Resources {
		for _, metric := range resource.Metrics {
			if metric.Help == "" || (metric.Each.Info == nil) == (metric.Each.Gauge == nil) {
				t.Errorf("%s wants a text, and one kind: %+v", metric.Name, metric)
			}
			if info := metric.Each.Info; info != nil {
				for _, path := range info.LabelsFromPath {
					exists(metric.Name, trainJob, path)
				}
			}
			if gauge := metric.Each.Gauge; gauge != nil {
				at := exists(metric.Name, trainJob, gauge.Path)
				if at != nil && at.Items != nil {
					at = at.Items.Schema
				}
				for _, path := range gauge.LabelsFromPath {
					exists(metric.Name, at, path)
				}
				exists(metric.Name, at, gauge.ValueFrom)
			}
		}
	}
}

// field follows a path through a schema; what metadata has is Kubernetes' own.
func field(from *apiextensionsv1.JSONSchemaProps, path []string) *apiextensionsv1.JSONSchemaProps {
	if len(path) > 0 && path[0] == "metadata" {
		known := slices.Contains([]string{"name", "namespace", "labels", "creationTimestamp"}, path[1])
		return map[bool]*apiextensionsv1.JSONSchemaProps{true: {}}[known]
	}
	for _, name := range path {
		if from == nil {
			return nil
		}
		next, found := from.Properties[name]
		if !found {
			return nil
		}
		from = &next
	}
	return from
}

// trainJobSchema comes from the pinned module of Kubeflow Trainer.
func trainJobSchema(t *testing.T) *apiextensionsv1.JSONSchemaProps {
	t.Helper()
	folders, err := pinned.CRDs(pinned.Trainer)
	if err != nil {
		t.Fatal(err)
	}
	var definition apiextensionsv1.CustomResourceDefinition
	read(t, os.DirFS(folders[0]), "trainer.kubeflow.org_trainjobs.yaml", &definition)
	return definition.Spec.Versions[0].Schema.OpenAPIV3Schema
}
