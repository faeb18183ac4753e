package lower

import (
	"strings"

	"lockstep.dev/lockstep/pkg/compile/object"
	"lockstep.dev/lockstep/pkg/compile/origin"
	"lockstep.dev/lockstep/pkg/compile/plan"
)

var receiverRule = origin.Rule("receivers of alerts",
	"who is told of alerts of our rules whose label `namespace` is this one: Prometheus' operator adds that matcher itself. Each receiver is an object of its own, so that a Secret that is missing silences nobody else")

// slackText is what a message of Slack says below its title, which names alert and labels only.
const slackText = "{{ range .Alerts }}{{ .Annotations.summary }}\n{{ .Annotations.description }}\n{{ or .Annotations.runbook_url .Annotations.runbook }}\n{{ with .Annotations.logs_url }}{{ . }}\n{{ end }}{{ end }}"

// alertReceivers compiles who is told of the alerts of a namespace, by the ways that the cluster has.
func (b *builder) alertReceivers(c *plan.Cluster, t *plan.Tenant, namespace *plan.Value[string]) {
	for i := range t.Receivers {
		r := &t.Receivers[i]
		told := receiverConfigs(c.Monitoring, r)
		if len(told) == 0 {
			continue
		}
		metadata := tenantMeta(t, namespace, object.Text("", "lockstep-"+r.Name.V, derivedOrigin(&r.Name.Origin, "the name of the receiver")))
		for j := range c.Monitoring.Labels {
			metadata.Get("labels").Put(planText(c.Monitoring.Labels[j].Name, &c.Monitoring.Labels[j].Value))
		}
		b.add(receiverRule, "monitoring.coreos.com/v1alpha1", "AlertmanagerConfig", metadata,
			object.Map("spec",
				object.List("receivers", object.Map("", append(told, planText("name", &r.Name))...)),
				object.Map("route",
					object.Texts("groupBy", nil, "alertname"), // jobs that fail together are one message
					object.List("matchers", alertMatcher("alertname", "TrainJobMPI.*", nil), severityMatcher(r)),
					planText("receiver", &r.Name))))
	}
}

func severityMatcher(r *plan.Receiver) object.Node {
	words := make([]string, len(r.Severities))
	for i := range r.Severities {
		words[i] = r.Severities[i].V
	}
	return alertMatcher("severity", strings.Join(words, "|"), derivedOrigin(&r.Severities[0].Origin, "any of the severities"))
}

func alertMatcher(label, expression string, from *origin.Origin) object.Node {
	return object.Map("", object.Text("matchType", "=~", nil), object.Text("name", label, nil), object.Text("value", expression, from))
}

// receiverConfigs are the addresses of a receiver, by the ways that the cluster has.
func receiverConfigs(m *plan.Monitoring, r *plan.Receiver) []object.Node {
	var told []object.Node
	if len(r.Email) > 0 && m.Notifies(plan.Email) {
		all := make([]object.Node, len(r.Email))
		for i := range r.Email {
			all[i] = object.Map("", planText("to", &r.Email[i]))
		}
		told = append(told, object.List("emailConfigs", all...))
	}
	if r.Slack != nil && m.Notifies(plan.Slack) {
		told = append(told, object.List("slackConfigs", object.Map("", secretKeyRef("apiURL", r.Slack), object.Text("text", slackText, nil))))
	}
	if r.Webhook != nil && m.Notifies(plan.Webhook) {
		url := planText("url", &r.Webhook.URL)
		if r.Webhook.Secret.V != "" {
			url = secretKeyRef("urlSecret", r.Webhook)
		}
		told = append(told, object.List("webhookConfigs", object.Map("", url)))
	}
	return told
}

// secretKeyRef selects the key of a Secret that holds a URL.
func secretKeyRef(key string, where *plan.ReceiverURL) object.Node {
	return object.Map(key, planText("key", &where.Key), planText("name", &where.Secret))
}
