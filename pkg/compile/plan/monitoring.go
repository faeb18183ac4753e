package plan

import (
	"slices"

	"lockstep.dev/lockstep/api/v1alpha1"
	"lockstep.dev/lockstep/pkg/compile/decode"
	"lockstep.dev/lockstep/pkg/compile/origin"
	"lockstep.dev/lockstep/pkg/compile/source"
)

// The namespaces of OpenShift's two monitoring stacks: of the platform, and of users' projects. The second gives every
// series and alert the namespace of its target, whatever labels it had.
const (
	PlatformMonitoring = "openshift-monitoring"
	ProjectMonitoring  = "openshift-user-workload-monitoring"
)

// Monitoring is who scrapes metrics.
type Monitoring struct {
	Namespace Value[string]
	Labels    []Named[string]
	Interval  Value[string]
	// Alerts and Dashboards say whether ours are compiled.
	Alerts, Dashboards Value[bool]
	// Notify is by what Alertmanager may tell tenants, sorted; nothing where they are not told.
	Notify []Value[string]
}

// Receiver is who is told of a tenant's alerts.
type Receiver struct {
	Name       Value[string]
	Severities []Value[string]
	Email      []Value[string]
	// Slack and Webhook are nil where nobody is told by it.
	Slack, Webhook *ReceiverURL
}

// ReceiverURL is where alerts are sent: a URL, or the key of a Secret that holds one.
type ReceiverURL struct {
	// At is where the receiver is written.
	At source.Span
	// URL and Secret are "" where they are not written.
	URL, Secret, Key Value[string]
}

// By what Alertmanager may tell people, as `notify` says it.
const (
	Email   = "Email"
	Slack   = "Slack"
	Webhook = "Webhook"
)

// Notifies reports whether Alertmanager tells tenants by a way such as Slack.
func (m *Monitoring) Notifies(way string) bool {
	return m != nil && slices.ContainsFunc(m.Notify, func(own Value[string]) bool { return own.V == way })
}

func receivers(d *decode.Document, list []v1alpha1.Receiver) []Receiver {
	result := make([]Receiver, 0, len(list))
	for i := range list {
		own := &list[i]
		r := Receiver{Name: writtenValue(d, &own.Name), Severities: sortedNames(d, own.Severities), Email: sortedNames(d, own.Email)}
		if len(r.Severities) == 0 {
			why := origin.Origin{At: d.At(&own.Severities), Kind: origin.Default, Why: "nobody has to do anything about what is only worth knowing"}
			r.Severities = []Value[string]{{V: "critical", Origin: why}, {V: "warning", Origin: why}}
		}
		if slack := own.Slack; slack != nil {
			r.Slack = &ReceiverURL{At: d.Key(&own.Slack), Secret: writtenValue(d, &slack.Secret), Key: orDefault(d, &slack.Key, urlKeyReason)}
		}
		if hook := own.Webhook; hook != nil {
			r.Webhook = &ReceiverURL{At: d.Key(&own.Webhook), URL: writtenValue(d, &hook.URL), Secret: writtenValue(d, &hook.Secret), Key: orDefault(d, &hook.Key, urlKeyReason)}
		}
		result = append(result, r)
	}
	return result
}

const urlKeyReason = "the Secret holds nothing but a URL"

func monitoring(d *decode.Document, spec *v1alpha1.Monitoring) *Monitoring {
	if spec == nil {
		return nil
	}
	return &Monitoring{
		Namespace: writtenValue(d, &spec.Namespace), Labels: namedEntries(d, &spec.Labels),
		Interval:   orDefault(d, &spec.Interval, "often enough for alerts about running jobs"),
		Alerts:     boolOrDefault(d, &spec.Alerts, true, "nobody looks at metrics all the time"),
		Dashboards: boolOrDefault(d, &spec.Dashboards, false, "not every cluster has a Grafana that looks for them"),
		Notify:     sortedNames(d, spec.Notify),
	}
}
