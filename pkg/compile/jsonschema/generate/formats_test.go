package generate

import (
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"lockstep.dev/lockstep/pkg/compile/decode"
)

// matches judges as a validator does.
func (f stringFormat) matches(text string) bool {
	short := f.maxLength == 0 || utf8.RuneCountInString(text) <= f.maxLength
	return short && regexp.MustCompile(f.pattern).MatchString(text) && (f.not == "" || !regexp.MustCompile(f.not).MatchString(text))
}

// TestSameFormats: the decoder and the schemas know the same formats.
func TestSameFormats(t *testing.T) {
	if diff := cmp.Diff(decode.Formats(), slices.Sorted(maps.Keys(forms))); diff != "" {
		t.Errorf("(-decoder +schemas):\n%s", diff)
	}
}

var long = strings.Repeat("a", 63)

// samples are good and bad strings per format, on which the decoder and the schemas must agree. Those of `wider` the decoder alone
// refuses: JSON Schema has no words for why.
var samples = map[string]struct{ good, bad, wider []string }{
	"cidr": {
		[]string{"10.20.0.0/16", "0.0.0.0/0", "192.168.1.7/32", "fd00::/8", "::/0", "2001:db8::1/128"},
		[]string{"10.20.0.0", "10.20.0.0/33", "256.0.0.0/8", "10.20.0/16", "fd00::/129", "a/8", "10.0.0.0/08", "/8", " 10.0.0.0/8"},
		[]string{"10.20.1.1/16", ":/0", "1:2/64", "::ffff:0:0/96"},
	},
	"code": {[]string{"LS0401", "LS9999"}, []string{"LS401", "ls0401", "LS04011", "LS04O1"}, nil},
	"date": {
		[]string{"2027-03-31", "2028-02-29"}, []string{"2027-3-31", "31.3.2027", "2027-13-01", "2027-00-10", "2027-01-32", "2027-01-01T00:00:00Z"},
		[]string{"2027-02-30", "2027-02-29"},
	},
	"device": {[]string{"mlx5_0", "mlx5_0:1", "ib0.8001"}, []string{"mlx5 0", "mlx5_0:", "mlx5_0:1234", "mlx5_0:a", ":1", long + "aa", "a,b"}, nil},
	"dns-label": {
		[]string{"a", "team-vision", "1", long}, []string{"Team", "-a", "a-", "a.b", "a_b", long + "a", "ä"}, nil,
	},
	"dns-name": {
		[]string{"a", "a.b-c.d", long + "." + long + "." + long + "." + long[:61]},
		[]string{"a..b", ".a", "a.", "A", "a_b", "a.-b", long + "." + long + "." + long + "." + long}, nil,
	},
	"duration": {
		[]string{"90s", "15m", "72h", "1h30m", "1.5h", "+5m", "1000ms"}, []string{"5", "5 m", "1d", "-5m", "m", "5M", "1w"},
		[]string{"0s", "1ms", "1.5s", "9999999999h"},
	},
	"email": {
		[]string{"ml-oncall@example.com", "a+b.c@x", "größe@example.com", "a@[192.0.2.1]"},
		[]string{"ml-oncall", "@example.com", "a@", "A <a@example.com>", "<a@example.com>", "a@b, c@d", "a@b@c", "{{x}}@example.com", `"a b"@example.com`, "a @b"},
		[]string{"a..b@example.com", ".a@example.com"},
	},
	"env-name": {[]string{"OMP_NUM_THREADS", "a.b-c", "_", ".a"}, []string{"1A", "A B", "A=B", ".", "..", "..a", "Ä"}, nil},
	"git-url": {
		[]string{"https://git.example.com/platform.git", "http://git/x", "ssh://git@git.example.com:22/a/b.git", "HTTPS://git/x"},
		[]string{"git@git.example.com:a/b.git", "https://git.example.com", "https://git.example.com/", "https://u:p@git.example.com/a", "https://u@git/a", "file:///a", "https://git/a?b", "https://git/a#b", "ftp://a/b"},
		[]string{"ssh://git:secret@git.example.com/a", "https://git:port/a"},
	},
	"group": {
		[]string{"vision-editors", "CN=Vision Team,OU=ML", "oidc:vision", "a", "systems:x", "Größe"},
		[]string{" a", "a ", "system:masters", "System:authenticated", "SYSTEM:x", "a\nb"}, []string{"a\u200bb", "a\u00a0b", "a\u0007b"},
	},
	"https-url": {
		[]string{"https://s3.example.com", "http://10.0.0.1:9000/base", "https://s3.example.com/"},
		[]string{"s3.example.com", "s3://bucket", "https://", "https://u:p@s3", "https://s3?x", "https://s3#x", "https:///x"}, []string{"https://s3:port"},
	},
	"image": {
		[]string{"mpi", "example.org/mpi:5.0", "localhost:5000/a/b__c", "a@sha256:" + strings.Repeat("0", 64), "example.org/a:1@sha256:" + strings.Repeat("f", 64), "example.org/a--b"},
		[]string{"Example.org/Agent", "a:", "a//b", "a@sha256:0", "a b", "https://a/b", "a:" + strings.Repeat("t", 129), "a/" + strings.Repeat("b", 600)}, nil,
	},
	"image-prefix": {
		[]string{"registry.example.com", "registry.example.com:5000", "registry.example.com/team", "a/b/c"},
		[]string{"registry.example.com/team:1", "registry/a@sha256:" + strings.Repeat("0", 64), "/a", "a/", "a b", "https://a"}, nil,
	},
	"interface-name":     {[]string{"eth0", "ib0.8001", "...", "a_b-c"}, []string{".", "..", "eth/0", "eth 0", strings.Repeat("a", 16), "eth0@if2"}, nil},
	"minor-version":      {[]string{"3.4", "2.10", "0.1"}, []string{"v3.4", "3", "3.4.1", "03.4", "3.04", "1000.1"}, nil},
	"kubernetes-version": {[]string{"1.36", "1.0", "1.999"}, []string{"v1.36", "1.036", "2.0", "1.36.1", "1", "1.1000"}, nil},
	"label-name": {
		[]string{"kind", "node.example.com/kind", "a/B_c.d", long}, []string{"two words", "a/b/c", "/a", "a/", "-a", "A.example/kind", long + "a", "a/" + long + "a"}, nil,
	},
	"label-value": {[]string{"large", "NVIDIA-H100-80GB-HBM3", "a_b.c", long}, []string{"a/b", "-a", "a-", "a b", long + "a"}, nil},
	"mount-path":  {[]string{"/data", "/a/b.c/...", "/a b"}, []string{"data", "/", "/a/", "/a//b", "/a/../b", "/a/.", "/..", "/a:b"}, nil},
	"logs-url": {
		[]string{"https://logs.example.com/{namespace}/{job}", "https://g/explore?panes=%7B%22a%22:%22{namespace}/{job}%22%7D&from={from}&to={to}#x"},
		[]string{"http://g/{namespace}/{job}", "https://{namespace}/{job}", "https://u@g/{namespace}/{job}", "https://g/{namespace}/{job}/{pod}", `https://g/?q={"a":1}{namespace}{job}`, "https://g/{namespace} {job}", "g/{namespace}/{job}"},
		[]string{"https://g/{namespace}", "https://g/{job}", "https://g:port/{namespace}/{job}", "https://g/%zz/{namespace}/{job}"},
	},
	"mpi-version": {
		[]string{"5", "5.0.7", "2021.13", "5.0.7rc1", "4.2-beta1", "4.3.0b1"}, []string{"five", "v5", "5.", ".5", "5.0.7 ", "5..0", strings.Repeat("1", 64), "5.0.7RC"}, nil,
	},
	"namespace-pattern": {
		[]string{"gpu-operator", "gpu-*", "g*", "a", long, strings.Repeat("a", 62) + "*"}, []string{"gpu*-x", "-*", "*", "GPU-*", "a.*", "**", long + "a", long + "*"}, nil,
	},
	"network": {[]string{"fabric/rdma-a", "a/b.c"}, []string{"rdma-a", "a/b/c", "A/b", "a/", "/b", "a.b/c"}, nil},
	"path":    {[]string{"charts/mpi-controller", "a", "a b/.c", "..a/b.."}, []string{"../elsewhere", "/a", "a/", "a//b", ".", "a/./b", "a/..", ".."}, nil},
	"resource-name": {
		[]string{"nvidia.com/gpu", "rdma/hca_shared", "vpc.amazonaws.com/efa"}, []string{"gpu", "a/b/c", "/gpu", "nvidia.com/", "Nvidia.com/gpu", "a b/c"}, nil,
	},
	"service-account": {[]string{"ci/robot", "a/b.c"}, []string{"robot", "a/b/c", "A/b", "a/", "/b", "a.b/c", "ci:robot"}, nil},
	"user":            {[]string{"ann", "ann@example.com"}, []string{"system:admin", " ann", "ann "}, []string{"ann*"}},
	"secret-key":      {[]string{"url", ".dockerconfigjson", "a_b-C.1"}, []string{"a/b", "a b", ".", "..", "..a", "ä", strings.Repeat("a", 254)}, nil},
	"sha256": {
		[]string{"sha256:" + strings.Repeat("0a", 32)}, []string{strings.Repeat("0a", 32), "sha256:" + strings.Repeat("0A", 32), "sha256:00", "sha512:" + strings.Repeat("0", 64)}, nil,
	},
}

// TestForms: decoder and schemas agree on every sample, and on the example that people are shown.
func TestForms(t *testing.T) {
	for name, form := range forms {
		s := samples[name]
		if len(s.good) == 0 || len(s.bad) == 0 {
			t.Errorf("%s has no good or no bad samples", name)
		}
		for _, text := range append(s.good, form.example) {
			verdict(t, name, text, true, true)
		}
		for _, text := range s.bad {
			verdict(t, name, text, false, false)
		}
		for _, text := range s.wider {
			verdict(t, name, text, false, true)
		}
	}
}

func verdict(t *testing.T, format, text string, decoder, schema bool) {
	t.Helper()
	if got := decode.HasFormat(format, text); got != decoder {
		t.Errorf("%s %q: the decoder says %t, want %t", format, text, got, decoder)
	}
	if got := forms[format].matches(text); got != schema {
		t.Errorf("%s %q: the schema says %t, want %t", format, text, got, schema)
	}
}

// FuzzForms: an editor never underlines what the compiler takes.
func FuzzForms(f *testing.F) {
	for name, s := range samples {
		for _, text := range slices.Concat(s.good, s.bad, s.wider) {
			f.Add(name, text)
		}
	}
	f.Fuzz(func(t *testing.T, format, text string) {
		if form, known := forms[format]; known && text != "" && utf8.ValidString(text) && decode.HasFormat(format, text) && !form.matches(text) {
			t.Errorf("%s %q: the decoder takes it, the schema does not", format, text)
		}
	})
}

// TestAmounts: of amounts the patterns take what package resource reads, and of memory no forgotten unit.
func TestAmounts(t *testing.T) {
	cases := map[string]struct{ cores, memory bool }{
		"2": {true, false}, "500m": {true, false}, "512m": {true, false}, "1.5": {true, false}, "16Gi": {true, true}, "+4G": {true, true}, "1e9": {true, true},
		"1048576": {true, true}, "5E": {true, true}, "4096k": {true, true},
		"two": {}, "4 GiB": {}, "-1Gi": {}, "1e999999999": {}, "": {}, "4GB": {}, "4gi": {}, "0x10": {},
	}
	cores, bytes := quantitySchema(decode.Rule{Minimum: "1m"}), quantitySchema(decode.Rule{Minimum: "1Mi"})
	for text, want := range cases {
		if got := regexp.MustCompile(cores.Pattern).MatchString(text); got != want.cores {
			t.Errorf("cores %q: %t, want %t", text, got, want.cores)
		}
		if got := regexp.MustCompile(bytes.Pattern).MatchString(text); got != want.memory {
			t.Errorf("memory %q: %t, want %t", text, got, want.memory)
		}
	}
}
