package check

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"lockstep.dev/lockstep/pkg/compile/diag"
	"lockstep.dev/lockstep/pkg/compile/plan"
)

// groupNamesInOneScript warns of names of groups whose letters come from several scripts. A `а` of the Cyrillic script looks like the
// Latin one, so that a reviewer takes the group for another: who may do what is not what the spec shows.
func groupNamesInOneScript(c *plan.Cluster, list *diag.List) {
	for _, t := range c.Tenants {
		for _, who := range t.SubjectsOfRoles() {
			groupNameInOneScript(who, list)
		}
	}
}

func groupNameInOneScript(group *plan.Value[plan.Subject], list *diag.List) {
	if odd, script, mixed := oddLetter(group.V.Name); mixed {
		list.Warnf(diag.GroupMixesScripts, group.At, "`%s` mixes scripts: `%c` (%U) is %s", group.V.Name, odd, odd, script).
			Notef("to a reviewer the name looks like that of another group").
			Helpf("write the name as the identity provider has it, with letters of one script")
	}
}

// scriptsOfOneLanguage are scripts that one language is written in beside Latin (UTS #39, section 5.2, "highly restrictive").
var scriptsOfOneLanguage = [][]string{{"Latin", "Han", "Hiragana", "Katakana"}, {"Latin", "Han", "Bopomofo"}, {"Latin", "Han", "Hangul"}}

// oddLetter returns the first letter of another script than those before it, unless one language is written in all of them.
func oddLetter(name string) (odd rune, script string, mixed bool) {
	if strings.IndexFunc(name, func(r rune) bool { return r >= utf8.RuneSelf }) < 0 {
		return 0, "", false
	}
	var seen []string
	for _, r := range name {
		if !unicode.IsLetter(r) {
			continue
		}
		if script = scriptOf(r); script == "" || slices.Contains(seen, script) {
			continue
		}
		if seen = append(seen, script); len(seen) > 1 && !haveCommonLanguage(seen) {
			return r, script, true
		}
	}
	return 0, "", false
}

// scriptOf is the script of a letter, "" for one that several have (Common and Inherited of UAX #24).
func scriptOf(r rune) string {
	if r < utf8.RuneSelf {
		return "Latin"
	}
	for name, table := range unicode.Scripts {
		if name != "Common" && name != "Inherited" && unicode.Is(table, r) {
			return name
		}
	}
	return ""
}

func haveCommonLanguage(scripts []string) bool {
	return slices.ContainsFunc(scriptsOfOneLanguage, func(set []string) bool {
		return !slices.ContainsFunc(scripts, func(s string) bool { return !slices.Contains(set, s) })
	})
}
