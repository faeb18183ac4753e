package convert

import (
	"encoding/json"
	"fmt"
	"strings"

	"sigs.k8s.io/yaml"
)

// toYAML writes a value that encoding/json can write.
func toYAML(value any) string {
	data, err := json.Marshal(value)
	if err != nil {
		panic(err) // texts, numbers, maps and lists can be written
	}
	return jsonToYAML(data)
}

// jsonToYAML rewrites JSON. Where the library cannot, it stays JSON, which is YAML too.
func jsonToYAML(data []byte) string {
	text, err := yaml.JSONToYAML([]byte(escapeForYAML(string(data))))
	if err != nil {
		return string(data) + "\n"
	}
	return string(text)
}

// escapeForYAML writes the characters of JSON texts that YAML does not take as they are by their numbers; outside of texts JSON has none of them.
func escapeForYAML(text string) string {
	var b strings.Builder
	for _, r := range text {
		if r >= 0x7f && r <= 0x9f || r == 0xfeff || r >= 0xfff0 && r <= 0xffff {
			fmt.Fprintf(&b, `\u%04x`, r)
			continue
		}
		b.WriteRune(r)
	}
	return b.String()
}
