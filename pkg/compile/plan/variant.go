package plan

import (
	"cmp"
	"slices"
	"strconv"

	"lockstep.dev/lockstep/api/v1alpha1"
	"lockstep.dev/lockstep/pkg/compile/decode"
)

// endpointVariable is where the SDKs of S3 look for the address of another store
// (https://docs.aws.amazon.com/sdkref/latest/guide/feature-ss-endpoints.html).
const endpointVariable = "AWS_ENDPOINT_URL"

// variantBases are the places where variants name the runtimes that they change.
func variantBases(d *decode.Document, list []v1alpha1.Variant) []Value[string] {
	result := make([]Value[string], 0, len(list))
	for i := range list {
		result = append(result, writtenValue(d, &list[i].Runtime))
	}
	return result
}

// planVariants are the tenant's changes of runtimes that are compiled for the cluster, sorted by name.
func planVariants(d *decode.Document, list []v1alpha1.Variant, c *Cluster, store *ObjectStore) []*Variant {
	var result []*Variant
	for i := range list {
		own := &list[i]
		of := slices.IndexFunc(c.Runtimes, func(r *Runtime) bool { return r.Name.V == own.Runtime })
		if of >= 0 {
			result = append(result, &Variant{Base: c.Runtimes[of], Runtime: planVariant(d, own, c.Runtimes[of], &c.Images, store)})
		}
	}
	slices.SortStableFunc(result, func(a, b *Variant) int { return cmp.Compare(a.Runtime.Name.V, b.Runtime.Name.V) })
	return result
}

// planVariant is a runtime with some values changed; what it loses is remembered.
func planVariant(d *decode.Document, own *v1alpha1.Variant, of *Runtime, sources *ImageRewrites, store *ObjectStore) *Runtime {
	r := *of
	r.Name, r.Default, r.Tenants, r.Waivers = writtenValue(d, &own.Name), Value[bool]{}, nil, nil
	if own.Image != "" {
		image := writtenValue(d, &own.Image)
		image.Origin = image.Overriding(of.Image.Spec.V, &of.Image.Spec.Origin)
		r.Image = sources.pulledImageOf(image)
	}
	if own.Nodes != nil {
		r.boundNodes(d, own.Nodes)
	}
	r.Env = slices.Concat(of.Env, store.variables(), variables(d, own.Env))
	if store != nil {
		r.SecretEnv = store.Secret
	}
	r.Volumes = append(slices.Clone(of.Volumes), volumes(d, own.Volumes)...)
	return &r
}

// boundNodes replaces the numbers of nodes that are written; the others stay, as far as they are possible.
func (r *Runtime) boundNodes(d *decode.Document, own *v1alpha1.Nodes) {
	replace := func(bound *Value[int32], field *int32) {
		if d.Written(field) {
			value, lost := writtenValue(d, field), *bound
			value.Origin = value.Overriding(strconv.Itoa(int(lost.V)), &lost.Origin)
			*bound = value
		}
	}
	replace(&r.MinNodes, &own.Min)
	replace(&r.MaxNodes, &own.Max)
	replace(&r.DefaultNodes, &own.Default)
	if !d.Written(&own.Default) && (r.DefaultNodes.V < r.MinNodes.V || r.DefaultNodes.V > r.MaxNodes.V) {
		r.DefaultNodes = inheritedValue(r.MinNodes, r.MinNodes.V, "a job that asks for nothing gets the least number of nodes")
	}
}

// variables tell jobs where the store is; what is in its Secret they read themselves.
func (o *ObjectStore) variables() []Variable {
	if o == nil || o.Endpoint.V == "" {
		return nil
	}
	const why = "the tenant's object store"
	name := o.Endpoint
	name.V, name.Why = endpointVariable, why
	return []Variable{{Name: name, Value: o.Endpoint, Why: why}}
}
