package rootfs

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
)

// Source is one place that apt fetches binary packages from: a "deb" line of sources.list(5), or one combination
// of URI and suite of a deb822 stanza.
type Source struct {
	URI        string
	Suite      string
	Components []string
	// SignedBy holds paths of keyrings (or fingerprints), separated by commas; empty means apt's default, or a key written into the stanza.
	SignedBy string
	// Options are the further options that decide whether apt trusts the archive, such as trusted or
	// check-valid-until, sorted, as name=value.
	Options []string
}

// ErrNoDebian is returned when the machine's apt configuration names no Debian archive.
var ErrNoDebian = errors.New("no source of Debian packages among the machine's apt sources")

// releases are the suites by which a source of the Debian archive is recognised: a machine follows its release by
// code name or by role. Other vendors use these names too; Archive tells them apart.
var releases = []string{
	"bullseye", "bookworm", "trixie", "forky", "sid", "oldoldstable", "oldstable", "stable", "testing", "unstable",
}

// carried are the options that a source for another suite of the same archive needs as well.
var carried = []string{"trusted", "check-valid-until", "check-date", "allow-insecure"}

// ReadSources reads every source that apt would use on a machine whose /etc/apt is etcApt: sources.list, and
// sources.list.d/*.list and *.sources. Entries that apt itself would reject are errors that name file and line.
func ReadSources(etcApt fs.FS) ([]Source, error) {
	var sources []Source
	for _, pattern := range []string{"sources.list", "sources.list.d/*.list", "sources.list.d/*.sources"} {
		files, err := fs.Glob(etcApt, pattern)
		if err != nil {
			return nil, err
		}
		for _, file := range files {
			raw, err := fs.ReadFile(etcApt, file)
			if err != nil {
				return nil, fmt.Errorf("read apt sources: %w", err)
			}
			parse := parseList
			if path.Ext(file) == ".sources" {
				parse = parseStanzas
			}
			found, err := parse(string(raw))
			if err != nil {
				return nil, fmt.Errorf("read apt sources: %s: %w", file, err)
			}
			sources = append(sources, found...)
		}
	}
	return sources, nil
}

// Archive returns the source for suite on the archive that the machine's own Debian packages come from. Among
// several candidates one signed by Debian's own keys (or by none in particular) wins, then one whose URI ends in
// /debian, then the first; a wrong guess is harmless, because the archive's signature is checked.
func Archive(sources []Source, suite string) (Source, error) {
	var best *Source
	for i, s := range sources {
		if !slices.Contains(releases, s.Suite) || !slices.Contains(s.Components, "main") {
			continue
		}
		if best == nil || rank(s) > rank(*best) {
			best = &sources[i]
		}
	}
	if best == nil {
		return Source{}, fmt.Errorf("%w: found %s; want one for a release such as bookworm with component main: "+
			"build these images on a Debian machine", ErrNoDebian, describe(sources))
	}
	found := *best
	found.Suite = suite
	return found, nil
}

func rank(s Source) int {
	rank := 0
	if s.SignedBy == "" || strings.Contains(s.SignedBy, "debian-archive") {
		rank += 2
	}
	if path.Base(strings.TrimRight(s.URI, "/")) == "debian" {
		rank++
	}
	return rank
}

func describe(sources []Source) string {
	if len(sources) == 0 {
		return "no sources at all"
	}
	var suites []string
	for _, s := range sources {
		suites = append(suites, s.Suite)
	}
	slices.Sort(suites)
	return "suites " + strings.Join(slices.Compact(suites), ", ")
}

// line is the source as a line of sources.list(5), signed by keyring where the source itself names no key file.
func (s Source) line(keyring string) string {
	if path.IsAbs(s.SignedBy) {
		keyring = s.SignedBy
	}
	options := append([]string{"signed-by=" + keyring}, s.Options...)
	return fmt.Sprintf("deb [%s] %s %s %s", strings.Join(options, " "), s.URI, s.Suite, strings.Join(s.Components, " "))
}

// parseList reads the one-line format: deb [ option=value … ] uri suite [component …], with # comments.
func parseList(text string) ([]Source, error) {
	var sources []Source
	number := 0
	for line := range strings.Lines(text) {
		number++
		line, _, _ = strings.Cut(line, "#")
		s, err := parseLine(strings.Fields(line))
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", number, err)
		}
		if s != nil {
			sources = append(sources, *s)
		}
	}
	return sources, nil
}

func parseLine(words []string) (*Source, error) {
	if len(words) == 0 || words[0] == "deb-src" {
		return nil, nil // nothing to fetch binary packages from, and nothing wrong
	}
	if words[0] != "deb" {
		return nil, fmt.Errorf("type %q: want deb or deb-src", words[0])
	}
	options, words, err := parseOptions(words[1:])
	if err != nil {
		return nil, err
	}
	if len(words) < 2 {
		return nil, errors.New("want deb [options] URI SUITE [COMPONENT…]")
	}
	s := newSource(words[0], words[1], words[2:], options)
	return &s, nil
}

// parseOptions takes the bracketed options off the front of a line; the brackets may stand alone or touch a word.
func parseOptions(words []string) (options map[string]string, rest []string, err error) {
	options = map[string]string{}
	if len(words) == 0 || !strings.HasPrefix(words[0], "[") {
		return options, words, nil
	}
	for i, word := range words {
		last := strings.HasSuffix(word, "]")
		name, value, _ := strings.Cut(strings.Trim(word, "[]"), "=")
		options[strings.ToLower(name)] = value
		if last {
			return options, words[i+1:], nil
		}
	}
	return nil, nil, errors.New("options are not closed by ]")
}

func newSource(uri, suite string, components []string, options map[string]string) Source {
	keys := strings.Join(strings.FieldsFunc(options["signed-by"], func(r rune) bool { return r == ',' || r == ' ' }), ",")
	s := Source{URI: uri, Suite: suite, Components: components, SignedBy: keys}
	for _, name := range carried {
		if value := options[name]; value != "" {
			s.Options = append(s.Options, name+"="+value)
		}
	}
	slices.Sort(s.Options)
	return s
}

// parseStanzas reads the deb822 format: stanzas of "Field: value" lines, continued by indented lines.
func parseStanzas(text string) ([]Source, error) {
	var sources []Source
	fields, last, number := map[string]string{}, "", 0
	finish := func() error {
		found, err := stanzaSources(fields)
		sources = append(sources, found...)
		fields, last = map[string]string{}, ""
		return err
	}
	for line := range strings.Lines(text + "\n\n") {
		number++
		line = strings.TrimRight(line, " \t\r\n")
		name, value, isField := strings.Cut(line, ":")
		switch {
		case strings.HasPrefix(line, "#"):
		case line == "":
			if err := finish(); err != nil {
				return nil, fmt.Errorf("stanza before line %d: %w", number, err)
			}
		case line[0] == ' ' || line[0] == '\t':
			if last == "" {
				return nil, fmt.Errorf("line %d: continues a field, but none came before", number)
			}
			fields[last] += "\n" + strings.TrimSpace(line)
		case !isField:
			return nil, fmt.Errorf("line %d: %q: want Field: value", number, line)
		default:
			last = strings.ToLower(strings.TrimSpace(name))
			fields[last] = strings.TrimSpace(value)
		}
	}
	return sources, nil
}

// stanzaSources are the sources of one stanza: every URI with every suite.
func stanzaSources(fields map[string]string) ([]Source, error) {
	enabled := !slices.Contains([]string{"no", "false", "without", "off", "disable", "0"}, strings.ToLower(fields["enabled"]))
	if len(fields) == 0 || !enabled || !slices.Contains(strings.Fields(fields["types"]), "deb") {
		return nil, nil
	}
	uris, suites := strings.Fields(fields["uris"]), strings.Fields(fields["suites"])
	if len(uris) == 0 || len(suites) == 0 {
		return nil, errors.New("want URIs and Suites")
	}
	if strings.Contains(fields["signed-by"], "\n") {
		fields["signed-by"] = "" // a whole key, which no line can hold; it is Debian's own, or not our archive
	}
	var sources []Source
	for _, uri := range uris {
		for _, suite := range suites {
			sources = append(sources, newSource(uri, suite, strings.Fields(fields["components"]), fields))
		}
	}
	return sources, nil
}
