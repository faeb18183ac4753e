package decode

import (
	"encoding/binary"
	"fmt"
	"math/bits"
	"net/netip"
	"net/url"
	"path"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode"

	"lockstep.dev/lockstep/pkg/compile/decode/syntax"
	"lockstep.dev/lockstep/pkg/compile/diag"
)

// reportBadFormat reports text that has not the form of its field, with what was meant where that can be computed.
func (d *decoder) reportBadFormat(at syntax.Place, text string, t decodeTarget) {
	format := t.rule.format
	report := d.errorf(diag.BadFormat, at, "`%s` in `%s` must be %s", shortenQuoted(text), t.name, formats[format].allowed)
	if what := firstLookalike(text); what != "" {
		report.Notef("%s", what)
	} else if what := wrongCharacter(format, text); what != "" {
		report.Notef("%s", what)
	}
	if correct := formatAdvice[format]; correct != nil && correct(text) != "" {
		report.Helpf("%s", correct(text))
		return
	}
	if meant := correctedValue(format, text); meant != "" {
		report.Meant(text, meant)
	}
}

// wrongCharacter names the first character that a name must not have, or what else is wrong with it, or "".
func wrongCharacter(format, text string) string {
	allowed := "abcdefghijklmnopqrstuvwxyz0123456789-"
	switch format {
	case "dns-label":
	case "dns-name":
		allowed += "."
	default:
		return ""
	}
	column := 0
	for _, r := range text {
		switch column++; {
		case strings.ContainsRune(allowed, r):
		case r >= 'A' && r <= 'Z':
			return fmt.Sprintf("character %d is `%c`, a capital letter", column, r)
		case unicode.IsPrint(r):
			return fmt.Sprintf("character %d is `%c`, which is none of them", column, r)
		default:
			return fmt.Sprintf("character %d is %U, which is none of them", column, r)
		}
	}
	switch {
	case len(text) > maxDNSLabel && format == "dns-label":
		return fmt.Sprintf("it has %d characters", len(text))
	case strings.Trim(text, "-.") != text:
		return "it begins or ends with a character that is neither letter nor digit"
	}
	return ""
}

// corrections compute what was meant, by the name of a format. What they return may have another form still.
var corrections = map[string]func(string) string{
	"cidr":         intendedCIDR,
	"date":         intendedDate,
	"dns-label":    IntendedName,
	"dns-name":     correctEachLabel,
	"duration":     intendedDuration,
	"env-name":     func(s string) string { return strings.NewReplacer(" ", "_", "-", "_").Replace(s) },
	"git-url":      intendedGitURL,
	"https-url":    intendedURL,
	"image":        intendedImage,
	"image-prefix": func(s string) string { return strings.TrimRight(intendedImage(s), "/") },
	"mount-path":   func(s string) string { return path.Clean("/" + strings.ReplaceAll(s, `\`, "/")) },
	"mpi-version":  func(s string) string { return strings.TrimPrefix(strings.ToLower(s), "v") },
	"namespace-pattern": func(s string) string {
		return strings.TrimSuffix(IntendedName(s)+"*", strings.Repeat("*", 1-strings.Count(s, "*")))
	},
	"path":               func(s string) string { return strings.TrimPrefix(path.Clean(strings.ReplaceAll(s, `\`, "/")), "/") },
	"sha256":             func(s string) string { return "sha256:" + strings.TrimPrefix(strings.ToLower(s), "sha256:") },
	"kubernetes-version": intendedMinorVersion,
	"minor-version":      intendedMinorVersion,
}

// intendedMinorVersion leaves the first two numbers of a version.
func intendedMinorVersion(s string) string {
	parts := strings.Split(strings.TrimPrefix(strings.ToLower(s), "v"), ".")
	return strings.Join(parts[:min(2, len(parts))], ".")
}

// maxCorrected is how long a text may be that is corrected, in bytes: longer ones are not written by people.
const maxCorrected = 300

// correctedValue returns the value that was probably meant and has the format, or "".
func correctedValue(format, text string) string {
	if len(text) > maxCorrected {
		return ""
	}
	plain := strings.TrimSpace(asciiOf(text))
	if formats[format].valid(plain) {
		return plain
	}
	if correct := corrections[format]; correct != nil {
		if meant := correct(plain); meant != "" && meant != text && formats[format].valid(meant) {
			return meant
		}
	}
	return ""
}

func correctEachLabel(s string) string {
	parts := strings.Split(s, ".")
	for i := range parts {
		parts[i] = IntendedName(parts[i])
	}
	return strings.Join(parts, ".")
}

// intendedCIDR takes addresses, host bits, masks in dots, missing zeros and brackets.
func intendedCIDR(s string) string {
	s = strings.NewReplacer("[", "", "]", "", " ", "").Replace(s)
	address, length, hasLength := strings.Cut(s, "/")
	if n := strings.Count(address, "."); n > 0 && n < 3 && hasLength && !strings.Contains(address, ":") {
		address = strings.TrimSuffix(address, ".") + strings.Repeat(".0", 3-strings.Count(strings.TrimSuffix(address, "."), "."))
	}
	ip, err := netip.ParseAddr(address)
	if err != nil {
		return ""
	}
	ones := ip.Unmap().BitLen()
	if hasLength {
		if ones, err = maskLength(length); err != nil {
			return ""
		}
		if ip.Is4In6() && ones >= 96 {
			ones -= 96
		}
	}
	prefix, err := ip.Unmap().Prefix(ones)
	if err != nil {
		return ""
	}
	return prefix.String()
}

// maskLength reads 16 and 255.255.0.0.
func maskLength(s string) (int, error) {
	mask, err := netip.ParseAddr(s)
	if err != nil || !mask.Is4() {
		return strconv.Atoi(s)
	}
	four := mask.As4()
	number := binary.BigEndian.Uint32(four[:])
	ones := bits.LeadingZeros32(^number)
	if number<<ones != 0 {
		return 0, strconv.ErrRange
	}
	return ones, nil
}

// dateLayouts are other ways to write a day. Of two that take a text in different ways none counts.
var dateLayouts = []string{"2006-1-2", "2006/1/2", "2006.1.2", "20060102", "2.1.2006", "1/2/2006", "2/1/2006", "2-1-2006", "2 Jan 2006", "January 2, 2006", "2 January 2006", "Jan 2, 2006", time.RFC3339, time.DateTime}

func intendedDate(s string) string {
	meant := ""
	for _, form := range dateLayouts {
		day, err := time.Parse(form, s)
		if err != nil {
			continue
		}
		if found := day.Format(time.DateOnly); meant == "" {
			meant = found
		} else if meant != found {
			return ""
		}
	}
	return meant
}

// durationParts finds the numbers and the units of a length of time.
var durationParts = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^(\d{1,6}(?:[.,]\d{1,3})?)([a-z]+)`) })

var durationUnits = map[string]time.Duration{
	"s": time.Second, "sec": time.Second, "secs": time.Second, "second": time.Second, "seconds": time.Second,
	"m": time.Minute, "min": time.Minute, "mins": time.Minute, "minute": time.Minute, "minutes": time.Minute,
	"h": time.Hour, "hr": time.Hour, "hrs": time.Hour, "hour": time.Hour, "hours": time.Hour,
	"d": 24 * time.Hour, "day": 24 * time.Hour, "days": 24 * time.Hour,
	"w": 7 * 24 * time.Hour, "wk": 7 * 24 * time.Hour, "week": 7 * 24 * time.Hour, "weeks": 7 * 24 * time.Hour,
}

// intendedDuration takes days and weeks, words for units, blanks, and the form of ISO 8601.
func intendedDuration(s string) string {
	rest := strings.ToLower(strings.NewReplacer(" ", "", "_", "", ",", ".").Replace(s))
	if iso, found := strings.CutPrefix(rest, "p"); found {
		rest = strings.ReplaceAll(iso, "t", "")
	}
	rest = strings.ReplaceAll(rest, "and", "")
	var total time.Duration
	for rest != "" {
		part := durationParts().FindStringSubmatch(rest)
		if part == nil || durationUnits[part[2]] == 0 {
			return ""
		}
		number, _ := strconv.ParseFloat(part[1], 64) // digits
		total += time.Duration(number * float64(durationUnits[part[2]]))
		rest = rest[len(part[0]):]
	}
	switch {
	case total <= 0:
		return ""
	case total%time.Hour == 0:
		return fmt.Sprintf("%dh", total/time.Hour)
	case total%time.Minute == 0:
		return fmt.Sprintf("%dm", total/time.Minute)
	}
	return fmt.Sprintf("%ds", total/time.Second)
}

// intendedGitURL takes the form of scp, which git knows and URLs do not, and what intendedURL takes.
func intendedGitURL(s string) string {
	if user, rest, found := strings.Cut(s, "@"); found && !strings.Contains(s, "://") && !strings.ContainsAny(user, "/:") {
		host, where, found := strings.Cut(rest, ":")
		if !found || host == "" {
			return ""
		}
		return "ssh://" + user + "@" + host + "/" + strings.TrimPrefix(where, "/")
	}
	if rest, found := strings.CutPrefix(s, "git://"); found {
		s = "https://" + rest
	}
	return intendedURL(strings.TrimPrefix(s, "git+"))
}

// intendedURL adds what is missing, and removes credentials, query and fragment.
func intendedURL(s string) string {
	if !strings.Contains(s, "://") {
		s = "https://" + strings.TrimLeft(strings.TrimPrefix(strings.TrimPrefix(s, "https:"), "http:"), "/")
	}
	u, err := url.Parse(s)
	if err != nil || !strings.ContainsAny(u.Host, ".:") && u.Host != "localhost" {
		return ""
	}
	if u.Scheme != "ssh" {
		u.User = nil
	} else if u.User != nil {
		u.User = url.User(u.User.Username())
	}
	u.RawQuery, u.Fragment, u.ForceQuery = "", "", false
	return u.String()
}

// intendedImage takes schemes, blanks and capitals outside of the tag, and a blank before a version.
func intendedImage(s string) string {
	if _, rest, found := strings.Cut(s, "://"); found {
		s = rest
	}
	name, version, found := strings.Cut(s, " ")
	if found && leadingDigits(version) > 0 && !strings.ContainsAny(version, " :/@") &&
		!strings.Contains(path.Base(name), ":") {
		s = name + ":" + version
	}
	s = strings.ReplaceAll(s, " ", "")
	tag := ""
	if at := strings.LastIndexAny(s, ":@"); at > strings.LastIndexByte(s, '/') {
		s, tag = s[:at], strings.TrimRight(s[at:], ":@")
	}
	return strings.ToLower(s) + tag
}
