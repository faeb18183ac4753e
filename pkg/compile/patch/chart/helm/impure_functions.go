package helm

import (
	"maps"
	"slices"
	"strings"
	"text/template/parse"

	"helm.sh/helm/v3/pkg/chart"
)

// impure are the template functions of Helm (sprig) that read the clock, a random source or the time zone of the machine. Those that
// format a date take the current time where their argument is not a date.
var impure = map[string]bool{
	"now": true, "ago": true, "durationRound": true, "date": true, "dateInZone": true, "date_in_zone": true, "htmlDate": true,
	"htmlDateInZone": true, "toDate": true, "mustToDate": true,
	"uuidv4": true, "shuffle": true, "bcrypt": true, "htpasswd": true, "encryptAES": true,
	"randAlphaNum": true, "randAlpha": true, "randAscii": true, "randNumeric": true, "randBytes": true, "randInt": true,
	"genPrivateKey": true, "genCA": true, "genCAWithKey": true, "genSelfSignedCert": true,
	"genSelfSignedCertWithKey": true, "genSignedCert": true, "genSignedCertWithKey": true,
}

// impureCall returns the first call of an impure function in the templates of a chart and its dependencies. Where a template calls
// `tpl`, which renders text, the texts that it may be given count too: values, files and literals, not what is put together from them.
func impureCall(c *chart.Chart, values map[string]any) (where, function string, found bool) {
	texts := append(textsOf(c, ""), stringsIn("values", values)...)
	var literals []renderableText
	usesTpl := false
	for _, t := range texts {
		if !t.template {
			continue
		}
		nodes := nodesIn(t)
		if name := firstCallIn(nodes, impure); name != "" {
			return t.name, name, true
		}
		usesTpl = usesTpl || firstCallIn(nodes, map[string]bool{"tpl": true}) != ""
		literals = append(literals, literalsIn(t.name, nodes)...)
	}
	if !usesTpl {
		return "", "", false
	}
	for _, t := range append(texts, literals...) {
		if name := firstCallIn(nodesIn(t), impure); name != "" {
			return t.name, name, true
		}
	}
	return "", "", false
}

// unordered are the functions whose result has no order of its own, and `tpl`, which may call them.
var unordered = map[string]bool{"keys": true, "values": true, "tpl": true}

// callsUnordered reports whether a template of a chart or of its dependencies calls a function without order.
func callsUnordered(c *chart.Chart) bool {
	return slices.ContainsFunc(textsOf(c, ""), func(t renderableText) bool { return t.template && firstCallIn(nodesIn(t), unordered) != "" })
}

// firstCallIn returns the first function that is called, of some, or "".
func firstCallIn(nodes []parse.Node, functions map[string]bool) string {
	for _, node := range nodes {
		if identifier, ok := node.(*parse.IdentifierNode); ok && functions[identifier.Ident] {
			return identifier.Ident
		}
	}
	return ""
}

func literalsIn(name string, nodes []parse.Node) []renderableText {
	var literals []renderableText
	for _, node := range nodes {
		if literal, ok := node.(*parse.StringNode); ok {
			literals = append(literals, renderableText{name: name, data: literal.Text})
		}
	}
	return literals
}

// renderableText is something that may be rendered.
type renderableText struct {
	name, data string
	// template says that it is rendered for sure.
	template bool
}

// textsOf returns the templates, values and other files of a chart and its dependencies.
func textsOf(c *chart.Chart, prefix string) []renderableText {
	var texts []renderableText
	for _, t := range c.Templates {
		if strings.HasPrefix(t.Name, "templates/") {
			texts = append(texts, renderableText{name: prefix + t.Name, data: string(t.Data), template: true})
		}
	}
	for _, f := range c.Files {
		texts = append(texts, renderableText{name: prefix + f.Name, data: string(f.Data)})
	}
	texts = append(texts, stringsIn(prefix+"values.yaml", c.Values)...)
	for _, dependency := range c.Dependencies() {
		texts = append(texts, textsOf(dependency, prefix+dependency.Name()+"/")...)
	}
	return texts
}

// stringsIn returns all strings of a value that is made of maps and lists, in a stable order.
func stringsIn(name string, value any) []renderableText {
	var texts []renderableText
	switch value := value.(type) {
	case string:
		return []renderableText{{name: name, data: value}}
	case []any:
		for _, item := range value {
			texts = append(texts, stringsIn(name, item)...)
		}
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(value)) {
			texts = append(texts, stringsIn(name, value[key])...)
		}
	}
	return texts
}

// nodesIn parses a template and returns all nodes of it. One that does not parse is left to the renderer, which explains it better.
func nodesIn(t renderableText) []parse.Node {
	if !strings.Contains(t.data, "{{") {
		return nil
	}
	tree := parse.New(t.name)
	tree.Mode = parse.SkipFuncCheck
	trees := map[string]*parse.Tree{}
	if _, err := tree.Parse(t.data, "", "", trees); err != nil {
		return nil
	}
	var nodes []parse.Node
	for _, name := range slices.Sorted(maps.Keys(trees)) {
		nodes = appendDescendants(trees[name].Root, nodes)
	}
	return nodes
}

func appendDescendants(node parse.Node, nodes []parse.Node) []parse.Node {
	nodes = append(nodes, node)
	for _, child := range childNodes(node) {
		nodes = appendDescendants(child, nodes)
	}
	return nodes
}

func childNodes(node parse.Node) []parse.Node {
	switch node := node.(type) {
	case *parse.ListNode:
		if node == nil {
			return nil
		}
		return node.Nodes
	case *parse.ActionNode:
		return []parse.Node{node.Pipe}
	case *parse.IfNode:
		return []parse.Node{node.Pipe, node.List, node.ElseList}
	case *parse.RangeNode:
		return []parse.Node{node.Pipe, node.List, node.ElseList}
	case *parse.WithNode:
		return []parse.Node{node.Pipe, node.List, node.ElseList}
	case *parse.TemplateNode:
		return []parse.Node{node.Pipe}
	case *parse.ChainNode:
		return []parse.Node{node.Node}
	case *parse.CommandNode:
		return node.Args
	case *parse.PipeNode:
		if node == nil {
			return nil
		}
		var commands []parse.Node
		for _, command := range node.Cmds {
			commands = append(commands, command)
		}
		return commands
	}
	return nil
}
