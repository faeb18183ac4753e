package helm

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"helm.sh/helm/v3/pkg/chart"
)

// refusingLoader is the loader of schemas that are in no chart, and refuses all of them: the schema of a chart that nobody has reviewed must
// neither read a file of the machine that compiles nor ask a server. The metaschemas of JSON Schema are part of the library.
type refusingLoader struct{}

// Load implements jsonschema.URLLoader.
func (refusingLoader) Load(url string) (any, error) {
	return nil, fmt.Errorf("`%s` is outside of values.schema.json: references must begin with `#`, copy what is meant below `$defs`", url)
}

// validateValues judges the values of a chart and of its dependencies by their schemas, in the order and the words of the SDK's
// pkg/chart/common/util ValidateAgainstSchema, which loads references to files and to servers and takes no other loader.
func validateValues(c *chart.Chart, values map[string]any) error {
	var wrong strings.Builder
	collectSchemaErrors(&wrong, c, values)
	if wrong.Len() == 0 {
		return nil
	}
	return fmt.Errorf("values don't meet the specifications of the schema(s) in the following chart(s):\n%s", wrong.String())
}

func collectSchemaErrors(wrong *strings.Builder, c *chart.Chart, values map[string]any) {
	if err := validateBySchema(c.Schema, values); err != nil {
		fmt.Fprintf(wrong, "%s:\n%s", c.Name(), err)
	}
	for _, dependency := range c.Dependencies() {
		switch own := values[dependency.Name()].(type) {
		case nil: // nothing is set
		case map[string]any:
			collectSchemaErrors(wrong, dependency, own)
		default:
			fmt.Fprintf(wrong, "%s:\ninvalid type for values: expected object (map), got %T\n", dependency.Name(), own)
		}
	}
}

// schemaURL is what the SDK calls the schema of a chart. There is no such file.
const schemaURL = "file:///values.schema.json"

func validateBySchema(schema []byte, values map[string]any) error {
	if schema == nil {
		return nil
	}
	parsed, err := jsonschema.UnmarshalJSON(bytes.NewReader(schema))
	if err != nil {
		return err
	}
	compiler := jsonschema.NewCompiler()
	compiler.UseLoader(refusingLoader{})
	if err := compiler.AddResource(schemaURL, parsed); err != nil {
		return err
	}
	compiled, err := compiler.Compile(schemaURL)
	if err != nil {
		return err
	}
	if err := compiled.Validate(values); err != nil {
		return fmt.Errorf("%s\n", strings.TrimPrefix(err.Error(), "jsonschema validation failed with '"+schemaURL+"#'\n"))
	}
	return nil
}
