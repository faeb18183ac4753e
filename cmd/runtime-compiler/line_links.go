package main

import (
	"cmp"
	"fmt"
	"os"
	"strings"

	"lockstep.dev/lockstep/internal/gitfs"
	"lockstep.dev/lockstep/pkg/compile/semdiff/render"
)

// placeholders are what an address of a line is made of.
var placeholders = []string{"{revision}", "{path}", "{line}"}

// pipelineLinkTemplate is the address of a line on the forge whose pipeline runs, "" for none.
func pipelineLinkTemplate(getenv func(string) string) string {
	switch {
	case getenv("GITHUB_SERVER_URL") != "" && getenv("GITHUB_REPOSITORY") != "":
		return getenv("GITHUB_SERVER_URL") + "/" + getenv("GITHUB_REPOSITORY") + "/blob/{revision}/{path}#L{line}"
	case getenv("CI_PROJECT_URL") != "":
		return getenv("CI_PROJECT_URL") + "/-/blob/{revision}/{path}#L{line}"
	}
	return ""
}

// validateLinkTemplate refuses an address that is not made of all placeholders. None is fine.
func validateLinkTemplate(template string) error {
	for _, placeholder := range placeholders {
		if template != "" && !strings.Contains(template, placeholder) {
			return fmt.Errorf("--link `%s` has no %s in it: an address is made of %s", template, placeholder, strings.Join(placeholders, ", "))
		}
	}
	return nil
}

// lineLinks are the addresses of both sides' lines. Sides that are not commits have none, but the working tree has those of its HEAD.
func lineLinks(template, root, full string, before, after comparedState) render.Links {
	l := render.Links{Full: full}
	if template = cmp.Or(template, pipelineLinkTemplate(os.Getenv)); template != "" {
		l.Before, l.After = lineAddressOf(template, root, before), lineAddressOf(template, root, after)
	}
	return l
}

func lineAddressOf(template, root string, of comparedState) string {
	hash, prefix := of.hash, ""
	if hash == "" && of.name != workingTree {
		return ""
	}
	if opened, err := gitfs.Open(root); err == nil {
		prefix = opened.Prefix()
		if head, err := opened.Revision("HEAD"); err == nil {
			hash = cmp.Or(hash, head.Hash())
		}
	}
	if hash == "" {
		return ""
	}
	return strings.NewReplacer("{revision}", hash, "{path}", prefix+"{path}").Replace(template)
}
