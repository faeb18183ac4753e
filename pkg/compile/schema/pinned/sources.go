// Package pinned holds the modules of other projects that schemas are taken from, and reads files of them from the module cache.
//
// The pins are a list in Go and not a go.mod, because one go.mod cannot hold three versions of k8s.io/kubernetes, and because
// requirements would make the go command resolve the modules that these modules need, which is hundreds. The checksums that a go.sum
// would hold are beside the pins.
package pinned

// Source is a pinned module and the files in it that hold schemas.
type Source struct {
	Module, Version string
	// Sum is the module's checksum as in go.sum. It is compared with what was downloaded.
	Sum string
	// Minor is the Kubernetes minor version whose native kinds the files describe; 0 means that they hold CRDs.
	Minor int
	// Files are patterns of path.Match.
	Files []string
}

// The modules whose files others than the schemas' need, too.
const (
	Trainer = "github.com/kubeflow/trainer/v2"
	JobSet  = "sigs.k8s.io/jobset"
)

// Sources are where the schemas come from. Native kinds have one source per minor version that a cluster of ours may run.
var Sources = []Source{
	{
		Module: "k8s.io/kubernetes", Version: "v1.34.4", Minor: 34,
		Sum:   "h1:Yy6R4QB8C9kJPp25GFqEvX5XQwY5qzKeqD0Xx6oAcmk=",
		Files: []string{"api/openapi-spec/v3/api__v1_openapi.json", "api/openapi-spec/v3/apis__*_openapi.json"},
	},
	{
		Module: "k8s.io/kubernetes", Version: "v1.35.4", Minor: 35,
		Sum:   "h1:o/8dBC/pHVpYoGV4OAIytAlNPZbdYVTXJHoYvXC4qzM=",
		Files: []string{"api/openapi-spec/v3/api__v1_openapi.json", "api/openapi-spec/v3/apis__*_openapi.json"},
	},
	{
		Module: "k8s.io/kubernetes", Version: "v1.36.3", Minor: 36,
		Sum:   "h1:qDQdoMiluAE2Eab6Fa52YV+WjiGz9mZFFoagEA6cI+o=",
		Files: []string{"api/openapi-spec/v3/api__v1_openapi.json", "api/openapi-spec/v3/apis__*_openapi.json"},
	},
	{
		Module: Trainer, Version: "v2.3.0",
		Sum:   "h1:Je+e7zvTLzB4qW09J1fB7pZrqvPtWuGng2NqdN5p5QU=",
		Files: []string{"manifests/base/crds/trainer.kubeflow.org_*.yaml"},
	},
	{
		Module: JobSet, Version: "v0.12.0",
		Sum:   "h1:YYPuV0px8Ongq/RXmJg6V0w2UC67aiR+rCMD06vhQQQ=",
		Files: []string{"config/components/crd/bases/*.yaml"},
	},
	{
		Module: "sigs.k8s.io/kueue", Version: "v0.19.2",
		Sum:   "h1:mPNzr37u0nwI7ikST5QQl5gg6EgtYOAvC9ZbTgywdN8=",
		Files: []string{"config/components/crd/bases/*.yaml"},
	},
	{
		Module: "github.com/fluxcd/source-controller", Version: "v1.9.5",
		Sum:   "h1:MFPyCodUi9hZIMaKDsC/rYbNoyzpvrAdrPVixj7W9F0=",
		Files: []string{"config/crd/bases/*.yaml"},
	},
	{
		Module: "github.com/fluxcd/kustomize-controller", Version: "v1.9.5",
		Sum:   "h1:/XY2zy3K7fntyppEXIHG7oRMzmfgIt50eJzUfaPX1Kc=",
		Files: []string{"config/crd/bases/*.yaml"},
	},
	{
		Module: "github.com/fluxcd/helm-controller", Version: "v1.6.4",
		Sum:   "h1:u/Ew7LehrwDQaE/NqWdaB3XnNDCxRGDcp1FZl7RKj4g=",
		Files: []string{"config/crd/bases/*.yaml"},
	},
	{
		Module: "github.com/argoproj/argo-cd/v3", Version: "v3.5.7",
		Sum:   "h1:Xm1BF+I5OgDKUG3SDK49vn2/Y5AMyaNVko+/JT08gj0=",
		Files: []string{"manifests/crds/*-crd.yaml"},
	},
	{
		Module: "github.com/prometheus-operator/prometheus-operator", Version: "v0.93.1",
		Sum:   "h1:4Juk8v93RdG1DSGD/mGp+SeQKPmnlLIj2iq3blLZgFY=",
		Files: []string{"example/prometheus-operator-crd/*.yaml"},
	},
	{
		Module: "github.com/openshift/api", Version: "v0.0.0-20251015095338-264e80a2b6e7",
		Sum:   "h1:Ot2fbEEPmF3WlPQkyEW/bUCV38GMugH/UmZvxpWceNc=",
		Files: []string{"security/v1/zz_generated.crd-manifests/*.yaml"},
	},
	{
		Module: "github.com/external-secrets/external-secrets", Version: "v1.3.2",
		Sum:   "h1:u2J8RjlHIeF0oZCqtl92adI/uZWUwOesJIDkfql6LqQ=",
		Files: []string{"config/crds/bases/external-secrets.io_externalsecrets.yaml"},
	},
	{
		Module: "github.com/k8snetworkplumbingwg/network-attachment-definition-client", Version: "v1.7.7",
		Sum:   "h1:z4P744DR+PIpkjwXSEc6TvN3L6LVzmUquFgmNm8wSUc=",
		Files: []string{"artifacts/networks-crd.yaml"},
	},
	{
		Module: "sigs.k8s.io/scheduler-plugins", Version: "v0.35.4-devel",
		Sum:   "h1:K1/Zj+d8llWPlNz/axgOq/BirLil2fuLMW6cr7SlBv8=",
		Files: []string{"config/crd/bases/scheduling.x-k8s.io_podgroups.yaml"},
	},
}
