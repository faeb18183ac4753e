package schema

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"lockstep.dev/lockstep/pkg/compile/diag"
)

// otherKinds are kinds of Kubernetes that the archive has no schema of, because bundles hold none; they are not misspelt ones of others.
var otherKinds = []string{
	"Binding", "CSINode", "CSIStorageCapacity", "CertificateSigningRequest", "ClusterTrustBundle", "ComponentStatus", "ControllerRevision", "DeviceTaintRule",
	"EndpointSlice", "Endpoints", "Event", "Eviction", "FlowSchema", "IPAddress", "Lease", "LeaseCandidate", "LocalSubjectAccessReview", "MutatingAdmissionPolicy",
	"MutatingAdmissionPolicyBinding", "Node", "PodCertificateRequest", "PodGroup", "PriorityLevelConfiguration", "ReplicaSet", "ReplicationController", "ResourceClaim",
	"ResourceSlice", "Scale", "SelfSubjectAccessReview", "SelfSubjectRulesReview", "ServiceCIDR", "StorageVersionMigration", "SubjectAccessReview", "TokenRequest",
	"TokenReview", "VolumeAttachment", "VolumeAttributesClass", "Workload",
}

// unservedReason returns why no API server of the version has a kind that there is no schema of, or "" where one may: CRDs are as many as their
// authors. Kubernetes' own groups are those without a dot, and those that the archive has kinds of.
func (a *schemaArchive) unservedReason(minor int, k objectKind) string {
	group, version := splitAPIVersion(k.apiVersion)
	if served := a.servedVersions(minor, group, k.kind); len(served) > 0 {
		return fmt.Sprintf("kind `%s` of `%s` is not served in version `%s`: write `%s`", k.kind, cmp.Or(group, "v1"), version, apiVersionOf(group, served[len(served)-1]))
	}
	kinds := a.kindsOf(minor, group)
	switch near, found := diag.Nearest(k.kind, kinds); {
	case strings.Contains(group, ".") && len(kinds) == 0, slices.Contains(otherKinds, k.kind):
		return ""
	case len(kinds) == 0:
		return fmt.Sprintf("there is no API group `%s`", group)
	// A name that is longer or shorter is another kind, as Prometheus beside PrometheusRule.
	case found && max(len(near)-len(k.kind), len(k.kind)-len(near)) <= 2:
		return fmt.Sprintf("there is no kind `%s` in `%s`: did you mean `%s`?", k.kind, cmp.Or(group, "v1"), near)
	}
	return ""
}

func splitAPIVersion(apiVersion string) (group, version string) {
	if group, version, found := strings.Cut(apiVersion, "/"); found {
		return group, version
	}
	return "", apiVersion
}

func apiVersionOf(group, version string) string {
	if group == "" {
		return version
	}
	return group + "/" + version
}

// servedVersions returns those in which a kind of a group is served, sorted.
func (a *schemaArchive) servedVersions(minor int, group, kind string) []string {
	var versions []string
	a.eachKind(minor, group, func(version, of string) {
		if of == kind {
			versions = append(versions, version)
		}
	})
	slices.Sort(versions)
	return versions
}

// kindsOf returns the kinds of a group, sorted.
func (a *schemaArchive) kindsOf(minor int, group string) []string {
	var kinds []string
	a.eachKind(minor, group, func(_, kind string) { kinds = append(kinds, kind) })
	slices.Sort(kinds)
	return slices.Compact(kinds)
}

func (a *schemaArchive) eachKind(minor int, group string, visit func(version, kind string)) {
	native := fmt.Sprintf("1.%d/", minor)
	for name := range a.files {
		rest, found := strings.CutPrefix(name, native)
		if !found {
			rest, found = strings.CutPrefix(name, "crd/")
		}
		slash := strings.LastIndexByte(rest, '/')
		if !found || slash < 0 {
			continue
		}
		if of, version := splitAPIVersion(rest[:slash]); of == group {
			visit(version, rest[slash+1:])
		}
	}
}
