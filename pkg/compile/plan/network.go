package plan

import (
	"slices"

	"lockstep.dev/lockstep/api/v1alpha1"
	"lockstep.dev/lockstep/pkg/compile/decode"
	"lockstep.dev/lockstep/pkg/compile/origin"
	"lockstep.dev/lockstep/pkg/compile/source"
)

// egress returns the destinations of a tenant. A service that the cluster does not have keeps its name only.
func egress(d *decode.Document, list []v1alpha1.Egress, services []Service) []Egress {
	result := make([]Egress, len(list))
	for i := range list {
		e := &list[i]
		result[i] = Egress{
			At: d.At(e), CIDR: writtenValue(d, &e.CIDR), Service: writtenValue(d, &e.Service),
			Pods: pods(d, &e.Namespace, &e.PodLabels, e.Ports),
		}
		at := slices.IndexFunc(services, func(s Service) bool { return s.Name.V == e.Service })
		if at >= 0 && e.Namespace == "" && len(e.PodLabels) == 0 && len(e.Ports) == 0 {
			result[i].Pods = services[at].reachedBy(&result[i].Service)
		}
	}
	return result
}

func ingress(d *decode.Document, of *v1alpha1.TenantNetwork) []Pods {
	var result []Pods
	for i := range of.Ingress {
		one := &of.Ingress[i]
		result = append(result, pods(d, &one.Namespace, &one.PodLabels, one.Ports))
	}
	for i := range of.IngressFromNamespaces {
		result = append(result, Pods{Namespace: writtenValue(d, &of.IngressFromNamespaces[i])})
	}
	return result
}

// NamedNamespaces returns the namespaces with whose pods the tenant may speak, as its network names them.
func (t *Tenant) NamedNamespaces() []*Value[string] {
	var named []*Value[string]
	for i := range t.Egress {
		named = append(named, &t.Egress[i].Namespace)
	}
	for i := range t.Ingress {
		named = append(named, &t.Ingress[i].Namespace)
	}
	return named
}

func services(d *decode.Document, list []v1alpha1.Service) []Service {
	result := make([]Service, len(list))
	for i := range list {
		s := &list[i]
		result[i] = Service{Name: writtenValue(d, &s.Name), Pods: pods(d, &s.Namespace, &s.PodLabels, s.Ports)}
	}
	return result
}

func pods(d *decode.Document, namespace *string, labels *map[string]string, ports []v1alpha1.Port) Pods {
	p := Pods{Namespace: writtenValue(d, namespace), PodLabels: namedEntries(d, labels)}
	for i := range ports {
		p.Ports = append(p.Ports, Port{
			Protocol: orDefault(d, &ports[i].Protocol, "most services speak TCP"), Port: writtenValue(d, &ports[i].Port),
		})
	}
	return p
}

// reachedBy returns the pods of the service, as values that follow from the line of a tenant that names it.
func (s *Service) reachedBy(name *Value[string]) Pods {
	p := Pods{Namespace: ofService(s.Namespace, name)}
	for _, label := range s.PodLabels {
		p.PodLabels = append(p.PodLabels, Named[string]{Name: label.Name, Value: ofService(label.Value, name)})
	}
	for _, port := range s.Ports {
		p.Ports = append(p.Ports, Port{Protocol: ofService(port.Protocol, name), Port: ofService(port.Port, name)})
	}
	return p
}

func ofService[T any](v Value[T], name *Value[string]) Value[T] {
	why := "the cluster has the service `" + name.V + "` there"
	return Value[T]{V: v.V, Origin: origin.Origin{At: name.At, Kind: origin.Derived, Why: why, Also: []source.Span{v.At}}}
}
