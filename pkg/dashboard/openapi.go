package dashboard

import (
	"net/http"
	"reflect"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// route is an operation of the API.
type route struct {
	// pattern is as http.ServeMux takes it.
	pattern, summary string
	query            []parameter
	// body is the kind of content that the operation takes, empty for none.
	body string
	// answer is a value of the JSON that the operation returns, nil for other kinds of content.
	answer any
	// kinds are the other kinds of content, by their media types.
	kinds []string
	serve http.HandlerFunc
}

// parameter is a part of a query, with the JSON schema of its value.
type parameter struct {
	name, description string
	schema            tree
}

// tree is an object of JSON.
type tree map[string]any

// Patterns of values in paths and queries. Namespaces may be empty in a query.
const (
	namePattern      = `^[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?$`
	namespacePattern = `^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$`
	actionPattern    = `^(suspend|resume|delete)$`
	durationPattern  = `^[0-9]{1,6}[smh]$`
)

var (
	anInteger   = tree{"type": "integer", "minimum": 0, "maximum": mostNumber}
	aBoolean    = tree{"type": "string", "enum": []string{"true", "false"}}
	ofNamespace = []parameter{{"namespace", "Empty for all namespaces; the user's own if it is absent.",
		tree{"type": "string", "pattern": strings.Replace(namespacePattern, "^", "^$|^", 1)}}}
	ofCluster = []parameter{{"namespace", "Only this namespace; all that the user may list if it is absent.",
		tree{"type": "string", "pattern": namespacePattern}}}
	ofRuntime = append(ofNamespace[:1:1], parameter{"kind", "The kind of the runtime, if the namespace has its own.",
		tree{"type": "string", "enum": []string{"ClusterTrainingRuntime", "TrainingRuntime"}}})
	ofNew      = append(ofNamespace[:1:1], parameter{"dryRun", "Checks the job and makes none.", aBoolean})
	ofCompared = []parameter{{"job", "A run, as NAMESPACE/NAME; two to eight of them.",
		tree{"type": "array", "items": tree{"type": "string"}, "minItems": 2, "maxItems": mostCompared}}}
	ofUID = []parameter{{"uid", "Refuses another job of the same name.", tree{"type": "string"}}}
	ofLog = []parameter{
		{"pod", "Only this pod.", tree{"type": "string"}},
		{"role", "Only the launcher, or nodes.", tree{"type": "string"}},
		{"rank", "Only lines tagged with this rank.", anInteger},
		{"attempt", "An earlier attempt, from the history; 0 is the first.", anInteger},
		{"since", "Only lines of the last time, such as 10m.", tree{"type": "string", "pattern": durationPattern}},
		{"tail", "The number of last lines of each pod.", anInteger},
		{"follow", "Sends new lines until the job ends.", aBoolean},
		{"timestamps", "Writes times into a download.", aBoolean},
		{"download", "Sends the lines as a text file.", aBoolean},
	}
)

// describe returns the OpenAPI document of routes.
func describe(version string, routes []route) tree {
	schemas, paths := tree{}, tree{}
	failure := tree{"description": "What failed, and what to do.", "content": jsonOf(schemas, Failure{})}
	for _, r := range routes {
		method, path, _ := strings.Cut(r.pattern, " ")
		content := tree{}
		if r.answer != nil {
			content = jsonOf(schemas, r.answer)
		}
		for _, kind := range r.kinds {
			content[kind] = tree{}
		}
		operation := tree{
			"summary": r.summary, "parameters": parametersOf(method, path, r.query),
			"responses": tree{"200": tree{"description": r.summary, "content": content}, "default": failure},
		}
		if r.body != "" {
			operation["requestBody"] = tree{"required": true, "content": tree{r.body: tree{}}}
		}
		if paths[path] == nil {
			paths[path] = tree{}
		}
		paths[path].(tree)[strings.ToLower(method)] = operation //nolint:forcetypeassert // made above
	}
	return tree{
		"openapi": "3.1.0", "paths": paths, "components": tree{"schemas": schemas},
		"info": tree{"title": "Lockstep dashboard", "version": version, "description": "TrainJobs with the rights of the " +
			"user who asks. A part that the user may not read is named in `withheld`."},
	}
}

func parametersOf(method, path string, query []parameter) []tree {
	all := []tree{}
	for name, pattern := range map[string]string{
		"namespace": namespacePattern, "name": namePattern, "action": actionPattern,
	} {
		if strings.Contains(path, "{"+name+"}") {
			all = append(all, tree{
				"name": name, "in": "path", "required": true, "schema": tree{"type": "string", "pattern": pattern},
			})
		}
	}
	for _, p := range query {
		all = append(all, tree{"name": p.name, "in": "query", "description": p.description, "schema": p.schema})
	}
	if method != http.MethodGet {
		all = append(all, tree{
			"name": ActionHeader, "in": "header", "required": true, "description": "Any value: other sites cannot set it.",
			"schema": tree{"type": "string", "minLength": 1},
		})
	}
	return all
}

func jsonOf(schemas tree, value any) tree {
	return tree{"application/json": tree{"schema": schemaOf(schemas, reflect.TypeOf(value))}}
}

// schemaOf returns the JSON schema of a Go type. Structs go into schemas by their names.
func schemaOf(schemas tree, t reflect.Type) tree {
	if t == reflect.TypeFor[time.Time]() || t == reflect.TypeFor[metav1.Time]() {
		return tree{"type": "string", "format": "date-time"}
	}
	switch t.Kind() { //nolint:exhaustive // kinds of answers
	case reflect.Pointer:
		return schemaOf(schemas, t.Elem())
	case reflect.Slice:
		return tree{"type": "array", "items": schemaOf(schemas, t.Elem())}
	case reflect.Map:
		return tree{"type": "object", "additionalProperties": schemaOf(schemas, t.Elem())}
	case reflect.String:
		return tree{"type": "string"}
	case reflect.Bool:
		return tree{"type": "boolean"}
	case reflect.Int, reflect.Int32, reflect.Int64:
		return tree{"type": "integer"}
	case reflect.Float64:
		return tree{"type": "number"}
	}
	name := schemaName(t)
	if schemas[name] == nil {
		properties, required := tree{}, []string{}
		schemas[name] = tree{} // a type may contain itself
		addFields(schemas, t, properties, &required)
		schemas[name] = tree{"type": "object", "properties": properties, "required": required}
	}
	return tree{"$ref": "#/components/schemas/" + name}
}

// schemaName returns the name of a struct, with its package if that is another one than this.
func schemaName(t reflect.Type) string {
	if generic, of, is := strings.Cut(t.Name(), "["); is { // Items[lockstep.dev/lockstep/pkg/jobs/fetch.JobEvent]
		return generic + "Of" + strings.TrimSuffix(of[strings.LastIndexByte(of, '.')+1:], "]")
	}
	if from := t.PkgPath()[strings.LastIndexByte(t.PkgPath(), '/')+1:]; from != "dashboard" {
		return strings.ToUpper(from[:1]) + from[1:] + t.Name()
	}
	return t.Name()
}

// addFields adds the fields of a struct as encoding/json writes them.
func addFields(schemas tree, t reflect.Type, properties tree, required *[]string) {
	for field := range t.Fields() {
		name, options, _ := strings.Cut(field.Tag.Get("json"), ",")
		switch {
		case name == "-" || !field.IsExported():
		case name == "" && field.Anonymous:
			addFields(schemas, field.Type, properties, required)
		default:
			properties[name] = schemaOf(schemas, field.Type)
			if !strings.Contains(options, "omit") {
				*required = append(*required, name)
			}
		}
	}
}
