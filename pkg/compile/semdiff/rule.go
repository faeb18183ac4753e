package semdiff

// Rule understands some kinds of changes.
type Rule struct {
	// Name is how entries and its page, docs/changes/<name>.md, call it.
	Name string
	// Title and Doc are the heading and the text of its page: what it looks at, what it says, and how it knows.
	Title, Doc string
	// Says are the consequences that it may state.
	Says []Consequence
	// claims says whether a change is the rule's. The first rule that claims a change has it.
	claims func(*Change) bool
	// unit says what changes of one unit mean that the rule claimed; nil for rules that look at whole clusters only.
	unit func(*scope, []*Change) []Effect
	// cluster says what all changes of a cluster mean that the rule claimed; nil for rules that look at units. A rule that has both gets
	// none there: it looks at objects that are new, whichever rule tells that they are.
	cluster func(*cluster, []*Change) []Effect
}

// Rules returns all rules in the order in which they are asked. The last one claims everything that is left.
func Rules() []*Rule { return rules }

// DocsURL is the folder of the pages, one per rule.
const DocsURL = "https://lockstep.dev/changes/"

// Page is the address of the page about a rule.
func Page(rule string) string { return DocsURL + rule }
