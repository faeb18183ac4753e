package overlay

import (
	"regexp"
	"strings"

	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/kustomize/api/types"

	"lockstep.dev/lockstep/pkg/compile/object"
)

// objectSelector picks objects as types.Selector of kustomize does: every part is empty or a regular expression for the whole text, except
// for labels and annotations.
type objectSelector struct {
	group, version, kind, name, namespace textPattern
	labels, annotations                   labels.Selector
}

// textPattern matches texts; without an expression it is the text itself, and an empty one matches all.
type textPattern struct {
	text string
	rx   *regexp.Regexp
}

func newPattern(text string) (textPattern, error) {
	if text == regexp.QuoteMeta(text) {
		return textPattern{text: text}, nil
	}
	rx, err := regexp.Compile("^(?:" + text + ")$")
	return textPattern{text: text, rx: rx}, err
}

func (p *textPattern) matches(text string) bool {
	switch {
	case p.text == "":
		return true
	case p.rx == nil:
		return p.text == text
	}
	return p.rx.MatchString(text)
}

func newSelector(s *types.Selector) (result objectSelector, err error) {
	for _, part := range []struct {
		to   *textPattern
		text string
	}{{&result.group, s.Group}, {&result.version, s.Version}, {&result.kind, s.Kind}, {&result.name, s.Name}, {&result.namespace, s.Namespace}} {
		if *part.to, err = newPattern(part.text); err != nil {
			return result, err
		}
	}
	if s.LabelSelector != "" {
		if result.labels, err = labels.Parse(s.LabelSelector); err != nil {
			return result, err
		}
	}
	if s.AnnotationSelector != "" {
		result.annotations, err = labels.Parse(s.AnnotationSelector)
	}
	return result, err
}

func (s *objectSelector) matches(o *object.Object) bool {
	return s.kind.matches(o.ID.Kind) && s.name.matches(o.ID.Name) && s.namespace.matches(o.ID.Namespace) && s.group.matches(o.ID.Group) &&
		(s.version.text == "" || s.version.matches(apiVersionOf(&o.Root))) &&
		matchesLabels(s.labels, o, "labels") && matchesLabels(s.annotations, o, "annotations")
}

func apiVersionOf(root *object.Node) string {
	version := root.Get("apiVersion")
	if version == nil {
		return ""
	}
	return version.Text[strings.LastIndexByte(version.Text, '/')+1:]
}

func matchesLabels(wanted labels.Selector, o *object.Object, key string) bool {
	if wanted == nil {
		return true
	}
	set := labels.Set{}
	if marks := o.Root.At("metadata", key); marks != nil {
		for _, mark := range marks.Children {
			set[mark.Key] = mark.Text
		}
	}
	return wanted.Matches(set)
}

// selectsExactly picks the one object that a patch without target is for.
func selectsExactly(patch *object.Node) func(*object.Object) bool {
	id, version := patch.ID(), apiVersionOf(patch)
	return func(o *object.Object) bool { return o.ID == id && apiVersionOf(&o.Root) == version }
}
