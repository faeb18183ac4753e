package decode

import (
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"

	"lockstep.dev/lockstep/pkg/compile/decode/syntax"
	"lockstep.dev/lockstep/pkg/compile/diag"
)

// What somebody means who writes a value in another spelling: numbers, amounts, truth, words.

// booleanWords are the spellings of true and false that YAML 1.2 reads as text or as numbers.
var booleanWords = map[string]string{
	"true": "true", "yes": "true", "on": "true", "y": "true", "1": "true", "enabled": "true", "enable": "true",
	"false": "false", "no": "false", "off": "false", "n": "false", "0": "false", "disabled": "false", "disable": "false",
}

// portNumbers are the numbers of services that people call by their name.
var portNumbers = map[string]string{
	"https": "443", "http": "80", "ssh": "22", "dns": "53", "domain": "53", "ldap": "389", "ldaps": "636", "nfs": "2049", "ntp": "123",
	"smtp": "25", "postgres": "5432", "postgresql": "5432", "mysql": "3306", "redis": "6379", "kerberos": "88", "git": "9418", "rsync": "873",
}

// intendedNumber is the whole number that somebody means who writes "8", 8.0, 1e3, 1,000 or the name of a port, or "".
func intendedNumber(text, key string) string {
	text = strings.ToLower(strings.TrimSpace(asciiOf(text)))
	if number, found := portNumbers[text]; found && key == "port" {
		return number
	}
	if isDecimal(text) {
		return text
	}
	if whole, thousands, found := strings.Cut(text, ","); found && len(thousands) == 3 && isDecimal(whole+thousands) {
		return whole + thousands
	}
	if len(text) <= 20 && strings.Trim(text, "0123456789.e+") == "" {
		if value, err := strconv.ParseFloat(text, 64); err == nil && value == float64(int64(value)) && value < 1e15 {
			return strconv.FormatInt(int64(value), 10)
		}
	}
	return ""
}

// amountUnits are the words for units of amounts.
var amountUnits = map[string]string{
	"": "", "core": "", "cores": "", "cpu": "", "cpus": "", "vcpu": "", "vcpus": "", "m": "m", "mcpu": "m", "mcores": "m", "millicpu": "m", "millicores": "m",
	"kilobytes": "k", "megabytes": "M", "gigabytes": "G", "terabytes": "T", "kibibytes": "Ki", "mebibytes": "Mi", "gibibytes": "Gi", "tebibytes": "Ti",
}

// intendedAmount is the amount that somebody means who writes 16GB, 16 GiB, 16gi, 16,5Gi or `2 cores`, or "".
func intendedAmount(text string) string {
	written := text
	text = strings.TrimSpace(asciiOf(text))
	if whole, part, found := strings.Cut(text, ","); found && leadingDigits(part) < 3 {
		text = whole + "." + part // not a thousand
	}
	whole := strings.TrimLeft(text, "0123456789.")
	digits := text[:len(text)-len(whole)]
	unit := strings.ToLower(strings.TrimSpace(whole))
	if digits == "" || strings.Count(digits, ".") > 1 {
		return ""
	}
	meant, found := amountUnits[unit]
	if !found {
		meant = intendedUnit(unit)
	} else if unit == "m" {
		meant = strings.TrimSpace(whole) // M is a million
	}
	meant = digits + meant
	if meant == written || meant == digits && unit != "" && !found || !isAmount(meant) {
		return ""
	}
	if _, err := resource.ParseQuantity(meant); err != nil {
		return ""
	}
	return meant
}

// intendedUnit is the unit of an amount for one in other letters, such as gb, GiB or gi; "" for another.
func intendedUnit(unit string) string {
	if unit == "" || strings.IndexByte("kmgtpe", unit[0]) < 0 {
		return ""
	}
	prefix := strings.ToUpper(unit[:1])
	switch unit[1:] {
	case "b", "":
		if prefix == "K" {
			prefix = "k"
		}
		return prefix
	case "i", "ib":
		return prefix + "i"
	}
	return ""
}

// intendedEnumValue returns the allowed word that is meant: in other letters, without what is between its parts, or nearly the same.
func intendedEnumValue(text string, words []string) (string, bool) {
	bare := strings.NewReplacer("-", "", "_", "", " ", "").Replace(strings.ToLower(asciiOf(text)))
	for _, word := range words {
		if strings.ToLower(word) == bare {
			return word, true
		}
	}
	return diag.Nearest(text, words)
}

// lookalikeHint tells of a character that is not what it looks like.
func lookalikeHint(report *diag.Diagnostic, text string) {
	if what := firstLookalike(text); what != "" {
		report.Notef("%s", what)
	}
}

// singleItemHint helps where one value of a name is wanted and a list or keys are written.
func singleItemHint(report *diag.Diagnostic, node *syntax.Node, name string) {
	switch {
	case node.Kind == syntax.Sequence && node.Len() == 1 && node.First.Follow().Kind == syntax.Scalar:
		report.Helpf("write `%s`, without a list around it", shortenQuoted(node.First.Follow().Value))
	case node.Kind == syntax.Sequence:
		report.Helpf("write one value, without a list around it")
	case node.Kind == syntax.Mapping && node.First != nil:
		value := node.First.Next.Follow()
		if node.First.Next.Next == nil && value.Kind == syntax.Scalar && value.Tag != syntax.Null {
			report.Helpf("write `%s` alone, without the key `%s`", shortenQuoted(value.Value), shortenQuoted(node.First.Value))
			return
		}
		report.Helpf("write one value: `%s` has no keys such as `%s`", name, shortenQuoted(node.First.Value))
	}
}
