package rule

import (
	"cmp"
	"slices"
	"strings"

	"lockstep.dev/lockstep/pkg/compile/object"
	"lockstep.dev/lockstep/pkg/compile/origin"
	"lockstep.dev/lockstep/pkg/compile/semdiff/match"
)

// podSettings are fields of pods by which they are run, or find others, in another way, whatever their program is.
var podSettings = []struct {
	keys  []string
	words string
}{
	{[]string{"hostAliases", "dnsConfig", "dnsPolicy"}, "find other hosts under the same names"},
	{[]string{"runtimeClassName"}, "are run by another program of their machine"},
	{[]string{"schedulerName"}, "are placed by another scheduler"},
	{[]string{"priorityClassName", "priority"}, "have another priority: they may stop others, or be stopped"},
}

// otherPods says what of some changes makes pods others than they were: what they get of their namespace, and how they are run; "" for
// nothing that a reviewer must know, and for what the compiler decides.
func otherPods(part []*match.Change) string {
	part = slices.DeleteFunc(slices.Clone(part), isMadeByCompiler)
	if len(part) == 0 {
		return ""
	}
	first := part[0]
	var found []string
	if has := missingFrom(usedOfNamespace(&first.After.Root), usedOfNamespace(&first.Before.Root)); len(has) > 0 && slices.ContainsFunc(part, usesChange) {
		found = append(found, "get what they did not have: "+severalText(has))
	}
	for _, setting := range podSettings {
		if slices.ContainsFunc(part, func(c *match.Change) bool { return c.New != nil && slices.ContainsFunc(setting.keys, c.Path.Has) }) {
			found = append(found, setting.words)
		}
	}
	return strings.Join(found, ", and ")
}

// isMadeByCompiler reports whether a value is one that the compiler makes, or that it makes of others: no spec, patch or chart has it.
func isMadeByCompiler(c *match.Change) bool {
	return c.New != nil && c.To != nil && !patchOverridesCompiler(c) && (c.To.Kind == origin.Constant || c.To.Kind == origin.Derived)
}

// usesChange reports whether a change is about what usedOfNamespace reads.
func usesChange(c *match.Change) bool {
	return c.Path.Has("volumes") || slices.Contains([]string{"volumes", "serviceAccountName"}, c.Path.Last()) || c.New != nil && c.New.Get("volumes") != nil
}

// placement are fields that say on which machines pods may start.
var placement = []string{"nodeSelector", "affinity", "nodeName", "topologySpreadConstraints"}

// changesPlacement reports whether pods may start on other machines, or on none.
func changesPlacement(c *match.Change) bool {
	return slices.ContainsFunc(placement, c.Path.Has) && (!c.Path.Has("topologySpreadConstraints") || hasText(c.New, "DoNotSchedule"))
}

// hasText reports whether some text of a value is another one.
func hasText(n *object.Node, text string) bool {
	return n != nil && (n.Text == text || slices.ContainsFunc(n.Children, func(child object.Node) bool { return hasText(&child, text) }))
}

// secretsOfVolume is what a volume has of Secrets and tokens.
func secretsOfVolume(v *object.Node) []string {
	var found []string
	if secret := v.Scalar("secret", "secretName"); secret != "" {
		found = append(found, "the secret "+secret)
	}
	for source := range v.At("projected", "sources").Items() {
		if secret := source.Scalar("secret", "name"); secret != "" {
			found = append(found, "the secret "+secret)
		}
		if token := source.Get("serviceAccountToken"); token != nil {
			found = append(found, "a token of its service account for "+cmp.Or(token.Scalar("audience"), "the API server"))
		}
	}
	return found
}
