package workload

import (
	"cmp"
	"path"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"

	"lockstep.dev/lockstep/api/v1alpha1"
)

// Overlay returns the folder, below that of kustomize, of a tenant on a cluster.
func Overlay(cluster, tenant string) string { return path.Join("overlays", cluster, tenant) }

type object = map[string]any

// kustomize writes an overlay per sampled tenant and cluster: the bases with patches, as people write them by hand. A tenant with
// several namespaces has an overlay in the overlay for each.
func (p *peers) kustomize() {
	for _, t := range p.tenants {
		if !slices.Contains(p.sampled, t.Metadata.Name) {
			continue
		}
		for _, c := range p.clusters {
			p.tenantOverlay(KustomizeFolder+"/"+Overlay(c.Name, t.Metadata.Name), &c, &t.Tenant)
		}
	}
}

func kustomization(resources []string, fields object) object {
	fields["apiVersion"], fields["kind"], fields["resources"] = "kustomize.config.k8s.io/v1beta1", "Kustomization", resources
	return fields
}

func (p *peers) tenantOverlay(folder string, c *facts, t *v1alpha1.Tenant) {
	resources := []string{"../../../tenant"}
	patches := []any{object{
		"path": "people.yaml", "target": object{"kind": "ClusterRoleBinding"}, "options": object{"allowNameChange": true},
	}}
	fields := object{"labels": []any{object{"pairs": object{"lockstep.dev/tenant": t.Metadata.Name}}}}
	if namespaces := t.Spec.Namespaces; len(namespaces) == 1 {
		resources = append(resources, p.namespaceFiles(folder, "../../../namespace", c, t)...)
		patches = append(patches, object{"path": "patches.yaml"})
		fields["namespace"] = namespaces[0]
	} else {
		resources = append(resources, namespaces...)
		for _, namespace := range namespaces {
			p.namespaceOverlay(folder+"/"+namespace, namespace, c, t)
		}
	}
	fields["patches"] = patches
	p.writeYAML(folder+"/kustomization.yaml", kustomization(resources, fields))
	people := slices.Concat(t.Spec.People.Admins, t.Spec.People.Editors, t.Spec.People.Viewers)
	p.writeYAML(folder+"/people.yaml", patch(rbacGroup+"/v1", "ClusterRoleBinding", "lockstep-runtime-reader-"+t.Metadata.Name,
		object{"subjects": groups(groupNames(people))}))
}

const rbacGroup = "rbac.authorization.k8s.io"

func groups(names []string) []any {
	names = slices.Clone(names)
	slices.Sort(names)
	var subjects []any
	for _, name := range slices.Compact(names) {
		subjects = append(subjects, object{"apiGroup": rbacGroup, "kind": "Group", "name": name})
	}
	return subjects
}

func (p *peers) namespaceOverlay(folder, namespace string, c *facts, t *v1alpha1.Tenant) {
	p.writeYAML(folder+"/kustomization.yaml", kustomization(p.namespaceFiles(folder, "../../../../namespace", c, t), object{
		"namespace": namespace,
		"patches":   []any{object{"path": "patches.yaml"}},
	}))
}

// namespaceFiles writes the patches of a base for namespaces, and returns the resources that they belong to.
func (p *peers) namespaceFiles(folder, base string, c *facts, t *v1alpha1.Tenant) []string {
	resources := []string{base}
	if c.OpenShift {
		resources = append(resources, strings.TrimSuffix(base, "namespace")+"openshift")
	}
	if openings := openings(&t.Spec.Network); len(openings) > 0 {
		p.writeYAML(folder+"/network.yaml", openings...)
		resources = append(resources, "network.yaml")
	}
	patches := []any{namespacePatch(c, t), quotaPatch(c, t), limitsPatch(&t.Spec.Limits.Container), dnsPatch(c)}
	p.writeYAML(folder+"/patches.yaml", append(patches, bindingPatches(&t.Spec.People)...)...)
	return resources
}

func patch(apiVersion, kind, name string, fields object) object {
	fields["apiVersion"], fields["kind"] = apiVersion, kind
	metadata, _ := fields["metadata"].(object)
	if metadata == nil {
		metadata = object{}
	}
	metadata["name"] = name
	fields["metadata"] = metadata
	return fields
}

func namespacePatch(c *facts, t *v1alpha1.Tenant) object {
	level := cmp.Or(t.Spec.PodSecurity, "restricted")
	annotations := bounds(c, t)
	annotations["openshift.io/display-name"] = t.Spec.DisplayName
	return patch("v1", "Namespace", "namespace", object{"metadata": object{
		"annotations": annotations,
		"labels": object{
			"pod-security.kubernetes.io/audit": level, "pod-security.kubernetes.io/enforce": level, "pod-security.kubernetes.io/warn": level,
		},
	}})
}

// bounds are the annotations that the admission policy for TrainJobs reads.
func bounds(c *facts, t *v1alpha1.Tenant) object {
	var names, accelerators []string
	for _, r := range c.Runtimes {
		if len(t.Spec.Runtimes) > 0 && !slices.Contains(t.Spec.Runtimes, r.Name) {
			continue
		}
		names = append(names, r.Name)
		granted := t.Spec.Quota.Accelerators[r.Accelerator]
		if entry := r.Profile + "=" + granted.String(); r.Accelerator != "" && !slices.Contains(accelerators, entry) {
			accelerators = append(accelerators, entry)
		}
	}
	annotations := object{"lockstep.dev/runtimes": strings.Join(names, ",")}
	if accelerators != nil {
		annotations["lockstep.dev/max-accelerators"] = strings.Join(accelerators, ",")
	}
	if most := t.Spec.Limits.Container.Max.Memory; most != nil {
		annotations["lockstep.dev/max-container"] = "memory=" + most.String()
	}
	return annotations
}

func quotaPatch(c *facts, t *v1alpha1.Tenant) object {
	q := &t.Spec.Quota
	hard := object{
		"count/trainjobs.trainer.kubeflow.org": resource.NewQuantity(q.Jobs, resource.DecimalSI),
		"limits.memory":                        q.Memory,
		"pods":                                 resource.NewQuantity(q.Pods, resource.DecimalSI),
		"requests.cpu":                         q.CPU,
		"requests.memory":                      q.Memory,
	}
	for _, name := range c.Accelerators {
		hard["requests."+name] = q.Accelerators[name]
	}
	return patch("v1", "ResourceQuota", "lockstep-quota", object{"spec": object{"hard": hard}})
}

func limitsPatch(l *v1alpha1.ContainerLimits) object {
	memory := quantityOr(l.Default.Memory, "128Mi")
	item := object{
		"type":           "Container",
		"default":        object{"memory": memory},
		"defaultRequest": object{"cpu": quantityOr(l.Default.CPU, "100m"), "memory": memory},
	}
	if l.Max != (v1alpha1.Amounts{}) {
		item["max"] = l.Max
	}
	return patch("v1", "LimitRange", "lockstep-limits", object{"spec": object{"limits": []any{item}}})
}

func quantityOr(q resource.Quantity, standard string) string {
	if q.IsZero() {
		return standard
	}
	return q.String()
}

const networkGroup = "networking.k8s.io/v1"

func byName(namespace string) object {
	return object{"namespaceSelector": object{"matchLabels": object{"kubernetes.io/metadata.name": namespace}}}
}

func dnsPatch(c *facts) object {
	peer := byName(c.DNS.Namespace)
	peer["podSelector"] = object{"matchLabels": c.DNS.PodLabels}
	return patch(networkGroup, "NetworkPolicy", "lockstep-dns", object{"spec": object{"egress": []any{object{
		"ports": []any{object{"port": c.DNS.Port, "protocol": "UDP"}, object{"port": c.DNS.Port, "protocol": "TCP"}},
		"to":    []any{peer},
	}}}})
}

// openings returns the policies that only some tenants have.
func openings(n *v1alpha1.TenantNetwork) []any {
	var policies []any
	if len(n.Egress) > 0 {
		policies = append(policies, opening("lockstep-egress", "Egress", object{"egress": egressRules(n.Egress)}))
	}
	if len(n.Ingress) > 0 {
		var rules []any
		for _, pods := range n.Ingress {
			rules = append(rules, object{"from": []any{byName(pods.Namespace)}})
		}
		policies = append(policies, opening("lockstep-ingress", "Ingress", object{"ingress": rules}))
	}
	return policies
}

func opening(name, direction string, fields object) object {
	fields["podSelector"], fields["policyTypes"] = object{}, []any{direction}
	return patch(networkGroup, "NetworkPolicy", name, object{
		"metadata": object{"labels": object{"app.kubernetes.io/managed-by": "lockstep"}},
		"spec":     fields,
	})
}

func egressRules(allowed []v1alpha1.Egress) []any {
	var rules []any
	for _, e := range allowed {
		rule := object{"to": []any{object{"ipBlock": object{"cidr": e.CIDR}}}}
		var ports []any
		for _, p := range e.Ports {
			ports = append(ports, object{"port": p.Port, "protocol": cmp.Or(p.Protocol, "TCP")})
		}
		if ports != nil {
			rule["ports"] = ports
		}
		rules = append(rules, rule)
	}
	return rules
}

// bindingPatches name the groups of each role; a role without groups has no binding.
func bindingPatches(people *v1alpha1.People) []any {
	var patches []any
	for _, binding := range []struct {
		role   string
		groups []string
	}{{"admin", groupNames(people.Admins)}, {"editor", groupNames(people.Editors)}, {"viewer", groupNames(people.Viewers)}} {
		fields := object{"subjects": groups(binding.groups)}
		if len(binding.groups) == 0 {
			fields = object{"$patch": "delete"}
		}
		patches = append(patches, patch(rbacGroup+"/v1", "RoleBinding", "lockstep-tenant-"+binding.role, fields))
	}
	return patches
}

// groupNames are the names of subjects, which are all groups here.
func groupNames(subjects []v1alpha1.Subject) []string {
	var names []string
	for i := range subjects {
		names = append(names, subjects[i].Group)
	}
	return names
}
