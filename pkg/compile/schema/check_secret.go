package schema

// serviceAccountToken is the type of a Secret that gets a token of an account, which this annotation names.
const (
	serviceAccountToken = "kubernetes.io/service-account-token" //nolint:gosec // the name of a type
	accountAnnotation   = "kubernetes.io/service-account.name"
)

// secretKeys are what the data of a Secret of a type must have (k8s.io/kubernetes pkg/apis/core/validation, ValidateSecret).
var secretKeys = map[string][]string{
	"kubernetes.io/dockercfg":        {".dockercfg"},
	"kubernetes.io/dockerconfigjson": {".dockerconfigjson"},
	"kubernetes.io/ssh-auth":         {"ssh-privatekey"},
	"kubernetes.io/tls":              {"tls.crt", "tls.key"},
}

func (c *check) secret() {
	c.dataKeys()
	kind := c.root.Get("type").StringAt()
	if kind == serviceAccountToken && c.root.At("metadata", "annotations", accountAnnotation).StringAt() == "" {
		c.refuse(c.root, "metadata.annotations", "a Secret of type %s needs the annotation `%s`", kind, accountAnnotation)
	}
	for _, key := range secretKeys[kind] {
		if c.root.At("data", key) == nil && c.root.At("stringData", key) == nil {
			c.refuse(c.root, "data", "a Secret of type %s needs the key `%s`", kind, key)
		}
	}
}
