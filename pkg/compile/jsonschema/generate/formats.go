package generate

import (
	"lockstep.dev/lockstep/pkg/compile/decode"
	"lockstep.dev/lockstep/pkg/compile/jsonschema"
)

// stringFormat is a format of strings in the words of JSON Schema. Patterns are what both Go and ECMAScript take, so they look neither ahead
// nor back.
type stringFormat struct {
	pattern   string
	maxLength int
	// not is a pattern that a string must not have.
	not string
	// example is a string with the format, as somebody would write it.
	example string
}

const (
	label     = `[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?`
	subdomain = `[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*`
	qualified = `[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?`
	octet     = `(25[0-5]|2[0-4][0-9]|1[0-9][0-9]|[1-9]?[0-9])`
	host      = `[^/?#@\s]+`
	// domain, path and the rest of an image reference, as github.com/distribution/reference has them.
	imageDomain = `([A-Za-z0-9][A-Za-z0-9.-]*(:[0-9]+)?/)?`
	imagePart   = `[a-z0-9]+((\.|_|__|-+)[a-z0-9]+)*`
	imageName   = imagePart + `(/` + imagePart + `)*`
)

// forms holds every format of package decode. It may be wider than the decoder's test, never narrower.
var forms = map[string]stringFormat{
	"cidr": {
		pattern: `^(` + octet + `(\.` + octet + `){3}/(3[0-2]|[12]?[0-9])|[0-9A-Fa-f:]*:[0-9A-Fa-f:.]*/(12[0-8]|1[01][0-9]|[1-9]?[0-9]))$`,
		example: "10.20.0.0/16",
	},
	"code":         {pattern: `^LS[0-9]{4}$`, example: "LS4009"},
	"date":         {pattern: `^[0-9]{4}-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])$`, example: "2027-03-31"},
	"device":       {pattern: `^[A-Za-z0-9_.-]{1,64}(:[0-9]{1,3})?$`, example: "mlx5_0"},
	"dns-label":    {pattern: `^` + label + `$`, maxLength: 63, example: "some-name"},
	"dns-name":     {pattern: `^` + subdomain + `$`, maxLength: 253, example: "some-name"},
	"duration":     {pattern: `^\+?(([0-9]+(\.[0-9]*)?|\.[0-9]+)(ns|us|µs|μs|ms|s|m|h))+$`, example: "72h"},
	"email":        {pattern: `^[^\s@<>(),:;"{}\[\]\\]+@[^\s@<>(),:;"{}]+$`, example: "ml-oncall@example.com"},
	"env-name":     {pattern: `^[-._A-Za-z][-._A-Za-z0-9]*$`, not: `^\.(\.|$)`, example: "OMP_NUM_THREADS"},
	"git-url":      {pattern: `^([hH][tT][tT][pP][sS]?://` + host + `|[sS][sS][hH]://[^/?#\s]+)/[^?#]+$`, example: "https://git.example.com/platform.git"},
	"group":        {pattern: `^\S(.*\S)?$`, not: `^[sS][yYʏ][sSſ][tT][eE][mM]:`, example: "vision-editors"},
	"https-url":    {pattern: `^[hH][tT][tT][pP][sS]?://` + host + `(/[^?#]*)?$`, example: "https://s3.example.com"},
	"image":        {pattern: `^` + imageDomain + imageName + `(:[A-Za-z0-9_][A-Za-z0-9_.-]{0,127})?(@sha256:[0-9a-f]{64})?$`, maxLength: 512, example: "registry.example.com/team/mpi:5.0.7"},
	"image-prefix": {pattern: `^([A-Za-z0-9][A-Za-z0-9.-]*(:[0-9]+)?|` + imageDomain + imageName + `)$`, example: "registry.example.com/team"},
	"interface-name": {
		pattern: `^[A-Za-z0-9_.-]{1,15}$`, not: `^\.\.?$`, example: "eth0",
	},
	"kubernetes-version": {pattern: `^1\.(0|[1-9][0-9]{0,2})$`, example: "1.36"},
	"label-name":         {pattern: `^(` + subdomain + `/)?` + qualified + `$`, maxLength: 317, example: "node.example.com/kind"},
	"label-value":        {pattern: `^(` + qualified + `)?$`, maxLength: 63, example: "large"},
	"logs-url": {
		pattern: `^https://[^/?#@{}\s]+[/?#]([-A-Za-z0-9._~:/?#\[\]@!$&'()*+,;=%]|\{(namespace|job|from|to)\})*$`,
		example: "https://grafana.example.com/explore?job={job}&in={namespace}",
	},
	"mount-path":        {pattern: `^(/[^/:]+)+$`, not: `/\.\.?(/|$)`, example: "/data"},
	"minor-version":     {pattern: `^(0|[1-9][0-9]{0,2})\.(0|[1-9][0-9]{0,2})$`, example: "3.4"},
	"mpi-version":       {pattern: `^[0-9]+(\.[0-9]+)*([.-]?[a-z]+[0-9]*)?$`, maxLength: 63, example: "5.0.7"},
	"namespace-pattern": {pattern: `^(` + label + `|[a-z0-9][-a-z0-9]{0,61}\*)$`, maxLength: 63, example: "gpu-*"},
	"network":           {pattern: `^` + label + `/` + subdomain + `$`, maxLength: 317, example: "fabric/rdma-a"},
	"path":              {pattern: `^[^/]+(/[^/]+)*$`, not: `(^|/)\.\.?(/|$)`, example: "charts/mpi-controller"},
	"resource-name":     {pattern: `^` + subdomain + `/` + qualified + `$`, maxLength: 317, example: "nvidia.com/gpu"},
	"secret-key":        {pattern: `^[-._a-zA-Z0-9]+$`, not: `^\.(\.|$)`, maxLength: 253, example: "url"},
	"service-account":   {pattern: `^` + label + `/` + subdomain + `$`, maxLength: 317, example: "ci/robot"},
	"user":              {pattern: `^\S(.*\S)?$`, not: `^[sS][yYʏ][sSſ][tT][eE][mM]:`, example: "alice@example.com"},
	"sha256":            {pattern: `^sha256:[0-9a-f]{64}$`, example: "sha256:0000000000000000000000000000000000000000000000000000000000000000"},
}

// The amounts that decode takes for a quantity and package resource reads. Of memory the usual forms of a forgotten or mistaken unit are
// left out: few digits without unit, and `m` for mega.
const (
	amount = `[0-9]{1,18}(\.[0-9]{1,9})?([eE][+-]?[0-9]{1,2}|[numkMGTPE]|[KMGTPE]i)?`
	memory = `([0-9]{1,18}(\.[0-9]{1,9})?([eE][+-]?[0-9]{1,2}|[kMGTPE]|[KMGTPE]i)|[0-9]{7,18}(\.[0-9]{1,9})?[num]?)`
)

// apply adds a format to a string's schema.
func (f stringFormat) apply(name string, s *jsonschema.Schema) {
	s.PatternErrorMessage = "must be " + decode.FormatDescription(name)
	s.Pattern, s.MaxLength = f.pattern, f.maxLength
	if f.not != "" {
		s.Not = &jsonschema.Schema{Pattern: f.not}
	}
	if f.example != "" {
		s.Examples = []any{f.example}
	}
}
