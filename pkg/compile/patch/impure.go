package patch

import (
	"strings"
	"text/template/parse"

	"helm.sh/helm/v3/pkg/chart"
)

// impure are the template functions of Helm (sprig) that read the clock or a random source.
var impure = map[string]bool{
	"now": true, "ago": true, "uuidv4": true, "shuffle": true, "bcrypt": true, "htpasswd": true, "encryptAES": true,
	"randAlphaNum": true, "randAlpha": true, "randAscii": true, "randNumeric": true, "randBytes": true, "randInt": true,
	"genPrivateKey": true, "genCA": true, "genCAWithKey": true, "genSelfSignedCert": true,
	"genSelfSignedCertWithKey": true, "genSignedCert": true, "genSignedCertWithKey": true,
}

// impureCall returns the first call of an impure function in the templates of a chart and its dependencies. A template that
// does not parse is left to the renderer, which explains it better.
func impureCall(c *chart.Chart) (file, function string, found bool) {
	for _, t := range c.Templates {
		if !strings.HasPrefix(t.Name, "templates/") {
			continue
		}
		tree := parse.New(t.Name)
		tree.Mode = parse.SkipFuncCheck
		trees := map[string]*parse.Tree{}
		if _, err := tree.Parse(string(t.Data), "", "", trees); err != nil {
			continue
		}
		for _, defined := range trees {
			if name := impureIn(defined.Root); name != "" {
				return t.Name, name, true
			}
		}
	}
	for _, dependency := range c.Dependencies() {
		if file, function, found = impureCall(dependency); found {
			return dependency.Name() + "/" + file, function, true
		}
	}
	return "", "", false
}

// impureIn returns the first impure function below a node, or "".
func impureIn(node parse.Node) string {
	if identifier, ok := node.(*parse.IdentifierNode); ok && impure[identifier.Ident] {
		return identifier.Ident
	}
	for _, child := range children(node) {
		if name := impureIn(child); name != "" {
			return name
		}
	}
	return ""
}

func children(node parse.Node) []parse.Node {
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
