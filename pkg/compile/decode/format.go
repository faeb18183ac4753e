package decode

import (
	"fmt"
	"io/fs"
	"net/netip"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"k8s.io/apimachinery/pkg/util/validation"
)

// formats holds, per format name of a rule, the test and the sentence that says what is allowed. Tests of text that every tenant has
// are written by hand, because a regular expression costs ten times as much.
var formats = map[string]struct {
	valid   func(string) bool
	allowed string
}{
	"code":         {isDiagnosticCode, "the code of a diagnostic such as `LS4009`"},
	"date":         {isDate, "a day such as `2027-03-31`"},
	"device":       {isNetworkDevice, "the name of an adapter such as `mlx5_0` or `mlx5_0:1`"},
	"duration":     {isDuration, "a length of time such as `90s`, `15m` or `72h`, in whole seconds and longer than nothing"},
	"email":        {isEmail, "an address such as `ml-oncall@example.com`, without a name and brackets"},
	"git-url":      {isGitURL, "the URL of a git repository such as `https://git.example.com/platform.git`, without credentials"},
	"https-url":    {isHTTPSURL, "a URL such as `https://s3.example.com`, without credentials, query and fragment"},
	"image-prefix": {isImagePrefix, "the beginning of an image reference up to a `/`, such as `registry.example.com/team`"},
	"logs-url":     {isLogsURL, "a URL such as `https://grafana.example.com/explore?job={job}&in={namespace}`, with https, both names, and no braces but those of `{from}` and `{to}`"},
	"mount-path":   {isMountPath, "an absolute path below `/`, such as `/data`, without `..` and `:`"},
	"namespace-pattern": {
		func(s string) bool {
			return isDNSLabel(s) || len(s) > 1 && strings.HasSuffix(s, "*") && isDNSLabel(s[:len(s)-1]+"x")
		},
		"the name of a namespace, or the beginning of names with `*` behind it, such as `gpu-*`",
	},
	"network": {isNetworkAttachment, "a Multus network as `namespace/name`"},
	"secret-key": {
		func(s string) bool { return len(validation.IsConfigMapKey(s)) == 0 },
		"a key of a Secret: at most 253 of letters, digits, `-`, `_` and `.`",
	},
	"sha256": {isSHA256, "a digest: `sha256:` and 64 of 0-9 and a-f"},
	"dns-name": {
		func(s string) bool { return isDNSLabel(s) || len(validation.IsDNS1123Subdomain(s)) == 0 },
		"at most 253 of a-z, 0-9, `-` and `.`, each part beginning and ending with a letter or digit",
	},
	"dns-label": {
		isDNSLabel,
		"at most 63 of a-z, 0-9 and `-`, beginning and ending with a letter or digit",
	},
	"label-name": {
		func(s string) bool { return len(validation.IsQualifiedName(s)) == 0 },
		"a label name such as `node.example.com/kind`",
	},
	"label-value": {
		func(s string) bool { return isDNSLabel(s) || len(validation.IsValidLabelValue(s)) == 0 },
		"at most 63 of letters, digits, `-`, `_` and `.`, beginning and ending with a letter or digit",
	},
	"env-name": {
		func(s string) bool { return len(validation.IsEnvVarName(s)) == 0 },
		"letters, digits, `_`, `-` and `.`, not beginning with a digit",
	},
	"cidr": {
		func(s string) bool {
			p, err := netip.ParsePrefix(s)
			// The API server refuses IPv4 in the clothes of IPv6.
			return err == nil && p == p.Masked() && !p.Addr().Is4In6()
		},
		"an address range such as `10.20.0.0/16`, without bits set after the prefix",
	},
	"group": {
		isGroupName,
		"the name of a group: at most 256 printable characters, without blanks around it, not beginning with `system:`, which is Kubernetes' own, and not ending with `*`, because groups have no patterns",
	},
	"service-account": {
		isServiceAccount,
		"a ServiceAccount as `namespace/name`, such as `ci/robot`",
	},
	"user": {
		isGroupName,
		"the name of a user: at most 256 printable characters, without blanks around it, not beginning with `system:`, which is Kubernetes' own, and not ending with `*`",
	},
	"image": {
		func(s string) bool { return len(s) <= 512 && image.MatchString(s) },
		"an image reference such as `registry.example.com/team/mpi:5.0.7`",
	},
	"interface-name": {
		func(s string) bool { return s != "." && s != ".." && interfaceName.MatchString(s) },
		"the name of a network interface such as `eth0`: 1 to 15 of letters, digits, `_`, `.` and `-`",
	},
	"kubernetes-version": {
		kubernetesVersion.MatchString,
		"a Kubernetes minor version such as `1.36`",
	},
	"minor-version": {
		minorVersion.MatchString,
		"a minor version such as `3.4`",
	},
	"mpi-version": {
		func(s string) bool { return len(s) <= 63 && mpiVersion.MatchString(s) },
		"numbers with dots such as `5.0.7`",
	},
	"path": {
		func(s string) bool { return s != "." && fs.ValidPath(s) },
		"a path below the root of the repository, such as `charts/mpi-controller`",
	},
	"resource-name": {
		func(s string) bool { return strings.Contains(s, "/") && len(validation.IsQualifiedName(s)) == 0 },
		"an extended resource such as `nvidia.com/gpu`",
	},
}

// isDNSLabel is validation.IsDNS1123Label.
func isDNSLabel(s string) bool {
	if s == "" || len(s) > validation.DNS1123LabelMaxLength || s[0] == '-' || s[len(s)-1] == '-' {
		return false
	}
	for i := range len(s) {
		if c := s[i]; (c < 'a' || c > 'z') && (c < '0' || c > '9') && c != '-' {
			return false
		}
	}
	return true
}

// lazyRegexp is a regular expression that is compiled when it is needed first, so that starting the program does not pay for it.
type lazyRegexp struct{ compiled func() *regexp.Regexp }

func newLazyRegexp(text string) lazyRegexp {
	return lazyRegexp{sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(text) })}
}

// MatchString reports whether text matches.
func (p lazyRegexp) MatchString(text string) bool { return p.compiled().MatchString(text) }

// maxGroup is the longest name of a group, in characters: that of Microsoft Entra ID, whose names are among the longest.
const maxGroup = 256

// isGroupName keeps out names with which a spec would give rights to more people than its reader sees, or to nobody: RBAC knows no patterns.
func isGroupName(s string) bool {
	hidden := func(r rune) bool { return !unicode.IsPrint(r) }
	return utf8.RuneCountInString(s) <= maxGroup && !strings.HasSuffix(s, "*") && strings.TrimSpace(s) == s && !strings.HasPrefix(strings.ToLower(s), "system:") && !strings.ContainsFunc(s, hidden)
}

func isServiceAccount(s string) bool {
	namespace, name, both := strings.Cut(s, "/")
	return both && isDNSLabel(namespace) && (isDNSLabel(name) || len(validation.IsDNS1123Subdomain(name)) == 0)
}

// interfaceName is what Linux takes (dev_valid_name), less what would need quotes in a command line.
var interfaceName = newLazyRegexp(`^[A-Za-z0-9_.-]{1,15}$`)

var kubernetesVersion = newLazyRegexp(`^1\.(0|[1-9][0-9]{0,2})$`)

// minorVersion is a major and a minor number.
var minorVersion = newLazyRegexp(`^(0|[1-9][0-9]{0,2})\.(0|[1-9][0-9]{0,2})$`)

// formatAdvice says, by the name of a format, how to correct a value where that needs words, or "".
var formatAdvice = map[string]func(string) string{
	"group": serviceAccountAdvice, "user": serviceAccountAdvice, "kubernetes-version": kubernetesOfOpenShift,
}

// serviceAccountAdvice says how a ServiceAccount, which is no group, is named.
func serviceAccountAdvice(s string) string {
	account, found := strings.CutPrefix(s, "system:serviceaccount:")
	if !found {
		return ""
	}
	return fmt.Sprintf("`%s` is a ServiceAccount, not a group: write `{serviceAccount: %s}`", account, strings.Replace(account, ":", "/", 1))
}

// kubernetesOfOpenShift reads the version of OpenShift, for which that of Kubernetes is asked: OpenShift 4.N is Kubernetes 1.(N+13)
// (https://access.redhat.com/solutions/4870701).
func kubernetesOfOpenShift(s string) string {
	minor, found := strings.CutPrefix(s, "4.")
	minor, _, _ = strings.Cut(minor, ".")
	n, err := strconv.Atoi(minor)
	if !found || err != nil || n < 0 || n > 99 {
		return ""
	}
	return fmt.Sprintf("OpenShift 4.%d is Kubernetes 1.%d: write `\"1.%d\"`", n, n+13, n+13)
}

var mpiVersion = newLazyRegexp(`^[0-9]+(\.[0-9]+)*([.-]?[a-z]+[0-9]*)?$`)

// image follows the grammar of github.com/distribution/reference: domain, path, tag, digest.
var image = newLazyRegexp(`^(?:[A-Za-z0-9][A-Za-z0-9.-]*(?::[0-9]+)?/)?` +
	`[a-z0-9]+(?:(?:\.|_|__|-+)[a-z0-9]+)*(?:/[a-z0-9]+(?:(?:\.|_|__|-+)[a-z0-9]+)*)*` +
	`(?::[A-Za-z0-9_][A-Za-z0-9_.-]{0,127})?(?:@sha256:[0-9a-f]{64})?$`)
