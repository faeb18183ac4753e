package schema

import (
	"strings"

	"k8s.io/apimachinery/pkg/api/validate/content"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/util/validation"

	"lockstep.dev/lockstep/pkg/compile/object"
)

// metadata checks names, namespace, labels and annotations, which API servers check in Go code for all kinds.
func (c *check) metadata() {
	metadata := c.root.Get("metadata")
	if metadata == nil {
		c.refuse(c.root, "metadata", "required, but missing")
		return
	}
	c.name(metadata)
	c.namespace(metadata)
	c.labels(metadata.Get("labels"))
	c.annotations(metadata.Get("annotations"))
	if finalizers := metadata.Get("finalizers"); finalizers != nil {
		for i := range finalizers.Children {
			c.refuseInvalid(&finalizers.Children[i], validation.IsQualifiedName(finalizers.Children[i].Text))
		}
	}
}

// refuseInvalid reports what a validation function found wrong with a value.
func (c *check) refuseInvalid(n *object.Node, wrong []string) {
	for _, reason := range wrong {
		c.refuse(n, "", "found `%s`: %s", n.Text, reason)
	}
}

func (c *check) name(metadata *object.Node) {
	name, prefix := metadata.Get("name"), metadata.Get("generateName")
	switch {
	case name.StringAt() != "":
		c.refuseInvalid(name, c.table.validName(name.Text))
	case prefix.StringAt() != "":
		c.refuseInvalid(prefix, c.table.validName(prefix.Text+"x"))
	default:
		c.refuse(metadata, "name", "required, but missing")
	}
}

// namespace checks the namespace of kinds that have one. On others an API server takes it away without a word.
func (c *check) namespace(metadata *object.Node) {
	namespace := metadata.Get("namespace")
	switch {
	case !c.table.Namespaced:
	case namespace.StringAt() == "":
		c.refuse(metadata, "namespace", "required, but missing: a %s lives in a namespace", c.table.name.kind)
	case !isLabel(namespace.Text):
		c.refuseInvalid(namespace, validation.IsDNS1123Label(namespace.Text))
	}
}

// nameRule returns what says what is wrong with a name of a kind. Nearly all names are plain, which takes no regular expression to see.
func nameRule(k objectKind, minor int) func(string) []string {
	group, _, _ := strings.Cut(k.apiVersion, "/")
	switch {
	case group == "rbac.authorization.k8s.io":
		return content.IsPathSegmentName
	case k == objectKind{"v1", "Namespace"}:
		return unlessPlain(validation.IsDNS1123Label)
	case k == objectKind{"v1", "Service"} && minor < 36:
		return validation.IsDNS1035Label
	case k == objectKind{"v1", "Service"}:
		return unlessPlain(validation.IsDNS1123Label)
	case k == objectKind{"batch/v1", "CronJob"}:
		return cronJobName
	}
	return unlessPlain(validation.IsDNS1123Subdomain)
}

func unlessPlain(wrong func(string) []string) func(string) []string {
	return func(name string) []string {
		if isLabel(name) {
			return nil
		}
		return wrong(name)
	}
}

// cronJobName leaves 11 characters for what is appended to the names of its jobs.
func cronJobName(name string) []string {
	wrong := validation.IsDNS1123Subdomain(name)
	if len(name) > validation.DNS1035LabelMaxLength-11 {
		wrong = append(wrong, "must be no more than 52 characters")
	}
	return wrong
}

// isLabel reports whether a text is a DNS label: at most 63 small letters, digits and dashes, no dash at an end.
func isLabel(text string) bool {
	if text == "" || len(text) > validation.DNS1123LabelMaxLength || text[0] == '-' || text[len(text)-1] == '-' {
		return false
	}
	for i := range len(text) {
		if letter := text[i]; letter != '-' && (letter < 'a' || letter > 'z') && (letter < '0' || letter > '9') {
			return false
		}
	}
	return true
}

func (c *check) labels(labels *object.Node) {
	if labels == nil {
		return
	}
	for i := range labels.Children {
		label := &labels.Children[i]
		c.labelKey(label, label.Key)
		c.labelValue(label)
	}
}

func (c *check) annotations(annotations *object.Node) {
	if annotations == nil {
		return
	}
	size := 0
	for i := range annotations.Children {
		annotation := &annotations.Children[i]
		c.labelKey(annotation, strings.ToLower(annotation.Key))
		size += len(annotation.Key) + len(annotation.Text)
	}
	if size > apivalidation.TotalAnnotationSizeLimitB {
		c.refuse(annotations, "", "found %d bytes of annotations, at most %d are allowed", size, apivalidation.TotalAnnotationSizeLimitB)
	}
}

// labelKey checks the key of a label or an annotation.
func (c *check) labelKey(n *object.Node, key string) {
	if isPlainKey(key) {
		return
	}
	for _, reason := range validation.IsQualifiedName(key) {
		c.refuse(n, "", "the key `%s` is not valid: %s", n.Key, reason)
	}
}

func (c *check) labelValue(n *object.Node) {
	if n.Text != "" && !isLabelWord(n.Text) {
		c.refuseInvalid(n, validation.IsValidLabelValue(n.Text))
	}
}

// isPlainKey says of most valid keys that they are: a word, or a word after a domain and a slash.
func isPlainKey(key string) bool {
	domain, name, prefixed := strings.Cut(key, "/")
	if !prefixed {
		return isLabelWord(key)
	}
	for rest, more := domain, true; more; {
		var label string
		label, rest, more = strings.Cut(rest, ".")
		if !isLabel(label) {
			return false
		}
	}
	return isLabelWord(name) && len(domain) <= validation.DNS1123SubdomainMaxLength
}

// isLabelWord reports whether a text is at most 63 letters, digits, dashes, underscores and dots, with a letter or digit at both ends.
func isLabelWord(text string) bool {
	if text == "" || len(text) > validation.LabelValueMaxLength || !isAlphanumeric(rune(text[0])) || !isAlphanumeric(rune(text[len(text)-1])) {
		return false
	}
	for i := range len(text) {
		if letter := text[i]; !isAlphanumeric(rune(letter)) && letter != '-' && letter != '_' && letter != '.' {
			return false
		}
	}
	return true
}

// labelSelector checks a selector, wherever it is in a native kind.
func (c *check) labelSelector(n *object.Node) {
	if len(n.Children) == 0 {
		return
	}
	c.labels(n.Get("matchLabels"))
	expressions := n.Get("matchExpressions")
	if expressions == nil {
		return
	}
	for i := range expressions.Children {
		c.requirement(&expressions.Children[i])
	}
}

func (c *check) requirement(n *object.Node) {
	values := children(n.Get("values"))
	switch operator := n.StringAt("operator"); operator {
	case "In", "NotIn":
		if len(values) == 0 {
			c.refuse(n, "values", "required with the operator %s, but missing", operator)
		}
	case "Exists", "DoesNotExist":
		if len(values) > 0 {
			c.refuse(n.Get("values"), "", "not allowed with the operator %s", operator)
		}
	default:
		c.refuse(n, "operator", "found `%s`, allowed are In, NotIn, Exists, DoesNotExist", operator)
	}
	if key := n.Get("key"); key != nil {
		for _, reason := range validation.IsQualifiedName(key.StringAt()) {
			c.refuse(key, "", "found `%s`: %s", key.StringAt(), reason)
		}
	} else if c.table.Native { // schemas of custom resources say it themselves
		c.refuse(n, "key", "required, but missing")
	}
	for i := range values {
		c.labelValue(&values[i])
	}
}

func children(n *object.Node) []object.Node {
	if n == nil {
		return nil
	}
	return n.Children
}
