package main

import (
	"fmt"
	"maps"
	"os"
	"path"
	"regexp"
	"slices"
	"strings"
)

// ownLicence is that of Lockstep.
const ownLicence = "Apache-2.0"

// legal are names of files with licences and notices of code. A licence of documents (LICENSE.docs) is not one of what is linked.
var legal = regexp.MustCompile(`(?i)^(licen[cs]e|copying|notice|copyright)([.-](md|txt|bsd|mit|mpl-2\.0|apache|apache-2\.0|apache2|libyaml))?$`)

func isNotice(name string) bool {
	base := strings.ToLower(path.Base(name))
	return strings.HasPrefix(base, "notice") || strings.HasPrefix(base, "copyright")
}

// licences are known by words that only they have.
var licences = []struct {
	id    string
	words *regexp.Regexp
}{
	{"Apache-2.0", regexp.MustCompile(`Apache License,? Version 2\.0|www\.apache\.org/licenses/LICENSE-2\.0`)},
	{"MIT", regexp.MustCompile(`Permission is hereby granted, free of charge, to any person obtaining a copy`)},
	{"ISC", regexp.MustCompile(`Permission to use, copy, modify, and(/or)? distribute this software for any purpose with or without fee`)},
	{"BSD-3-Clause", regexp.MustCompile(`Redistribution and use in source and binary forms.*(Neither the names? of|names of its contributors may not be used)`)},
	{"BSD-2-Clause", regexp.MustCompile(`Redistribution and use in source and binary forms`)},
	{"MPL-2.0", regexp.MustCompile(`Mozilla Public License,? [Vv]ersion 2\.0`)},
}

// identifyLicences returns the SPDX names of the licences that a text has, all of which allow to pass on what is linked with their texts.
func identifyLicences(text string) []string {
	words := strings.Join(strings.Fields(text), " ")
	var found []string
	for _, licence := range licences {
		if licence.id == "BSD-2-Clause" && slices.Contains(found, "BSD-3-Clause") {
			continue
		}
		if licence.words.MatchString(words) {
			found = append(found, licence.id)
		}
	}
	return found
}

// licenceFiles returns LICENSE, which is ours, and NOTICE, which has those of all modules.
func licenceFiles(modules []*module) ([]archiveFile, error) {
	own, err := os.ReadFile("LICENSE")
	if err != nil {
		return nil, err
	}
	return []archiveFile{{name: "LICENSE", mode: 0o644, data: own}, {name: "NOTICE", mode: 0o644, data: []byte(noticeText(modules))}}, nil
}

// noticeText names modules with their licences, and has each text once.
func noticeText(modules []*module) string {
	var out strings.Builder
	out.WriteString("Lockstep is licensed under the Apache License, Version 2.0: see LICENSE. Its programs contain code of the modules below,\n" +
		"and tables made of the schemas of those marked with *. Their licences and notices follow.\n\n")
	holders := map[string][]string{}
	for _, m := range modules {
		mark := ""
		if m.schemas {
			mark = " *"
		}
		fmt.Fprintf(&out, "%s: %s%s\n", m, m.licence, mark)
		for _, name := range slices.Sorted(maps.Keys(m.texts)) {
			text := strings.TrimSpace(strings.ReplaceAll(m.texts[name], "\r\n", "\n"))
			holders[text] = append(holders[text], m.String()+": "+name)
		}
	}
	texts := slices.SortedFunc(maps.Keys(holders), func(a, b string) int { return strings.Compare(holders[a][0], holders[b][0]) })
	for _, text := range texts {
		fmt.Fprintf(&out, "\n%s\n%s\n\n%s\n", strings.Repeat("=", 80), strings.Join(holders[text], "\n"), text)
	}
	return out.String()
}
