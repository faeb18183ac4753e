package match

import "strings"

// renaming says how names of one side are called on the other. Nil renames nothing.
type renaming struct {
	// pairs are the names, the longest first.
	pairs []renamedPair
	// namespace is what the namespace is called afterwards that the renaming was found for.
	namespace string
}

type renamedPair struct{ from, to string }

// isSameText reports whether a text is another one after all names were replaced, all together or only some of them.
func (r *renaming) isSameText(a, b string) bool {
	if r == nil {
		return false
	}
	if a == b {
		return true
	}
	for _, pair := range r.pairs {
		if replaceName(a, pair.from, pair.to) == b {
			return true
		}
	}
	return len(r.pairs) > 1 && r.renameIn(a) == b
}

// renameIn replaces all names in a text.
func (r *renaming) renameIn(text string) string {
	if r == nil {
		return text
	}
	for i := range r.pairs {
		text = replaceName(text, r.pairs[i].from, placeholderOf(i))
	}
	for i := range r.pairs {
		text = strings.ReplaceAll(text, placeholderOf(i), r.pairs[i].to)
	}
	return text
}

// placeholderOf stands for a name that was replaced already. It is in no text of Kubernetes.
func placeholderOf(i int) string { return "\x00" + string(rune('A'+i)) + "\x00" }

// replaceName replaces a name where it stands alone: `vision` in `lockstep-tenant-vision`, not in `television`.
func replaceName(text, from, to string) string {
	var b strings.Builder
	rest := 0
	for at := strings.Index(text, from); at >= 0 && from != ""; {
		end := at + len(from)
		if (at == 0 || !isNameByte(text[at-1])) && (end == len(text) || !isNameByte(text[end])) {
			b.WriteString(text[rest:at] + to)
			rest = end
		}
		next := strings.Index(text[end:], from)
		if next < 0 {
			break
		}
		at = end + next
	}
	return b.String() + text[rest:]
}

func isNameByte(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9'
}
