package schema

import (
	"net/url"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"

	"lockstep.dev/lockstep/pkg/compile/object"
)

// webhooks checks the configuration of mutating or validating webhooks. That their names differ is in the schema.
func (c *check) webhooks() {
	list := c.root.Get("webhooks")
	for i := range children(list) {
		c.webhook(&list.Children[i])
	}
}

func (c *check) webhook(n *object.Node) {
	c.requireFields(n, "name", "sideEffects")
	if name := n.Get("name"); name.StringAt() != "" {
		c.refuseInvalid(name, validation.IsDNS1123Subdomain(name.Text))
		if strings.Count(name.Text, ".") < 2 {
			c.refuse(name, "", "found `%s`, needed are at least three parts with dots between them", name.Text)
		}
	}
	for i := range children(n.Get("rules")) {
		c.resourceRule(&n.Get("rules").Children[i])
	}
	c.oneOf(n.Get("failurePolicy"), "Fail", "Ignore")
	c.oneOf(n.Get("matchPolicy"), "Exact", "Equivalent")
	c.oneOf(n.Get("reinvocationPolicy"), "Never", "IfNeeded")
	if effects := n.Get("sideEffects"); effects.StringAt() != "" {
		c.oneOf(effects, "None", "NoneOnDryRun")
	}
	if seconds := n.Get("timeoutSeconds"); seconds != nil && (portNumber(seconds) < 1 || portNumber(seconds) > 30) {
		c.refuse(seconds, "", "found %s, allowed are 1 to 30", seconds.Text)
	}
	c.reviewVersions(n)
	c.webhookClient(n.Get("clientConfig"), n)
	c.matchConditions(n.Get("matchConditions"))
}

// reviewVersions checks in which versions a webhook is asked.
func (c *check) reviewVersions(hook *object.Node) {
	versions := hook.Get("admissionReviewVersions")
	if !listContains(versions, "v1") && !listContains(versions, "v1beta1") {
		c.refuse(hook, "admissionReviewVersions", "v1 or v1beta1 is required, but missing")
	}
	for i := range children(versions) {
		version := &versions.Children[i]
		c.refuseInvalid(version, validation.IsDNS1035Label(version.Text))
		if slices.ContainsFunc(versions.Children[:i], func(other object.Node) bool { return other.Text == version.Text }) {
			c.refuse(version, "", "an item before it is the same, all must differ")
		}
	}
}

// webhookClient checks where a webhook is asked: at an address, or at a Service.
func (c *check) webhookClient(n, hook *object.Node) {
	if n == nil || (n.Get("url") == nil) == (n.Get("service") == nil) {
		c.refuse(hook, "clientConfig", "exactly one of url and service is required")
		return
	}
	if address := n.Get("url"); address != nil {
		if parsed, err := url.Parse(address.Text); err != nil || parsed.Scheme != "https" || parsed.Host == "" || parsed.User != nil || parsed.Fragment != "" || parsed.RawQuery != "" {
			c.refuse(address, "", "found `%s`, needed is https://<host>/<path>", address.Text)
		}
		return
	}
	service := n.Get("service")
	c.requireFields(service, "name", "namespace")
	c.portNumberOrName(service.Get("port"))
	if path := service.Get("path"); path.StringAt() != "" && path.Text != "/" {
		c.servicePath(path)
	}
}

// servicePath checks a path, whose parts are DNS names.
func (c *check) servicePath(path *object.Node) {
	inside, rooted := strings.CutPrefix(path.Text, "/")
	parts := strings.Split(strings.TrimSuffix(inside, "/"), "/")
	if !rooted || slices.ContainsFunc(parts, func(part string) bool { return len(validation.IsDNS1123Subdomain(part)) > 0 }) {
		c.refuse(path, "", "found `%s`, needed is a / and DNS names with / between them", path.Text)
	}
}
