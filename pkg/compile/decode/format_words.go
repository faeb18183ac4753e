package decode

import (
	"net/url"
	"path"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/validation"
)

// The tests of formats that are more than one call.

// code is what package diag calls one: LS and four digits.
func code(s string) bool {
	return len(s) == 6 && strings.HasPrefix(s, "LS") && only(s[2:], "0123456789")
}

func date(s string) bool {
	_, err := time.Parse(time.DateOnly, s)
	return err == nil
}

// device takes an adapter with or without port, as NCCL_IB_HCA and UCX_NET_DEVICES spell them.
func device(s string) bool {
	name, port, hasPort := strings.Cut(s, ":")
	return len(name) <= 64 && only(name, letters+digitChars+"_.-") && (!hasPort || len(port) <= 3 && only(port, digitChars))
}

func duration(s string) bool {
	d, err := time.ParseDuration(s)
	return err == nil && d > 0 && d%time.Second == 0
}

func gitURL(s string) bool {
	u, err := url.Parse(s)
	if err != nil || u.Host == "" || len(u.Path) < 2 || u.RawQuery != "" || u.Fragment != "" {
		return false
	}
	// The user of an SSH URL is an account name, that of others half a credential.
	_, password := u.User.Password()
	return !password && (u.Scheme == "ssh" || u.User == nil && (u.Scheme == "https" || u.Scheme == "http"))
}

func httpsURL(s string) bool {
	u, err := url.Parse(s)
	return err == nil && (u.Scheme == "https" || u.Scheme == "http") && u.Host != "" && u.User == nil && u.RawQuery == "" && u.Fragment == ""
}

// imagePrefix is an image reference without tag and digest.
func imagePrefix(s string) bool {
	last := s[strings.LastIndex(s, "/")+1:]
	if !strings.Contains(s, "/") {
		return image.MatchString(s + "/x")
	}
	return !strings.ContainsAny(last, ":@") && image.MatchString(s)
}

func mountPath(s string) bool {
	return strings.HasPrefix(s, "/") && s != "/" && path.Clean(s) == s && !strings.Contains(s, ":")
}

func network(s string) bool {
	namespace, name, found := strings.Cut(s, "/")
	return found && len(validation.IsDNS1123Label(namespace)) == 0 && len(validation.IsDNS1123Subdomain(name)) == 0
}

func sha256(s string) bool {
	hex, found := strings.CutPrefix(s, "sha256:")
	return found && len(hex) == 64 && only(hex, digitChars+"abcdef")
}

const (
	letters    = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
	digitChars = "0123456789"
)

// only reports whether s has characters, and no others than the given ones.
func only(s, allowed string) bool { return s != "" && strings.Trim(s, allowed) == "" }
