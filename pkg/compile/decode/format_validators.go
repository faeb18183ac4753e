package decode

import (
	"net/mail"
	"net/url"
	"path"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/validation"
)

// The tests of formats that are more than one call.

// isDiagnosticCode is what package diag calls one: LS and four digits.
func isDiagnosticCode(s string) bool {
	return len(s) == 6 && strings.HasPrefix(s, "LS") && hasOnly(s[2:], "0123456789")
}

func isDate(s string) bool {
	_, err := time.Parse(time.DateOnly, s)
	return err == nil
}

// isNetworkDevice takes an adapter with or without port, as NCCL_IB_HCA and UCX_NET_DEVICES spell them.
func isNetworkDevice(s string) bool {
	name, port, hasPort := strings.Cut(s, ":")
	return len(name) <= 64 && hasOnly(name, letters+digitChars+"_.-") && (!hasPort || len(port) <= 3 && hasOnly(port, digitChars))
}

func isDuration(s string) bool {
	d, err := time.ParseDuration(s)
	return err == nil && d > 0 && d%time.Second == 0
}

// isEmail takes an address that Alertmanager reads as one, and no other way: it fills in what stands in braces, and splits at commas.
func isEmail(s string) bool {
	address, err := mail.ParseAddress(s)
	return err == nil && address.Name == "" && address.Address == s && !strings.ContainsAny(s, "{}\"")
}

func isGitURL(s string) bool {
	u, err := url.Parse(s)
	if err != nil || u.Host == "" || len(u.Path) < 2 || u.RawQuery != "" || u.Fragment != "" {
		return false
	}
	// The user of an SSH URL is an account name, that of others half a credential.
	_, password := u.User.Password()
	return !password && (u.Scheme == "ssh" || u.User == nil && (u.Scheme == "https" || u.Scheme == "http"))
}

func isHTTPSURL(s string) bool {
	u, err := url.Parse(s)
	return err == nil && (u.Scheme == "https" || u.Scheme == "http") && u.Host != "" && u.User == nil && u.RawQuery == "" && u.Fragment == ""
}

// isLogsURL takes a URL that becomes one when names and numbers are put in place of what stands in braces. They are no part of the host.
func isLogsURL(s string) bool {
	filled := strings.NewReplacer("{namespace}", "x", "{job}", "x", "{from}", "1", "{to}", "1").Replace(s)
	u, err := url.Parse(filled)
	return err == nil && u.Scheme == "https" && u.Host != "" && u.User == nil && strings.HasPrefix(s, "https://"+u.Host) &&
		hasOnly(filled, letters+digitChars+"-._~:/?#[]@!$&'()*+,;=%") && strings.Contains(s, "{namespace}") && strings.Contains(s, "{job}")
}

// isImagePrefix is an image reference without tag and digest.
func isImagePrefix(s string) bool {
	last := s[strings.LastIndex(s, "/")+1:]
	if !strings.Contains(s, "/") {
		return image.MatchString(s + "/x")
	}
	return !strings.ContainsAny(last, ":@") && image.MatchString(s)
}

func isMountPath(s string) bool {
	return strings.HasPrefix(s, "/") && s != "/" && path.Clean(s) == s && !strings.Contains(s, ":")
}

func isNetworkAttachment(s string) bool {
	namespace, name, found := strings.Cut(s, "/")
	return found && len(validation.IsDNS1123Label(namespace)) == 0 && len(validation.IsDNS1123Subdomain(name)) == 0
}

func isSHA256(s string) bool {
	hex, found := strings.CutPrefix(s, "sha256:")
	return found && len(hex) == 64 && hasOnly(hex, digitChars+"abcdef")
}

const (
	letters    = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
	digitChars = "0123456789"
)

// hasOnly reports whether s has characters, and no others than the given ones.
func hasOnly(s, allowed string) bool { return s != "" && strings.Trim(s, allowed) == "" }
