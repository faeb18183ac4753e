package v1_test

import (
	"encoding/json"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v6"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	v1 "lockstep.dev/lockstep/api/job/v1"
)

// The records of whole lives, which the controller's own tests wrote down, follow the published schema.
func TestRecordsFollowTheSchema(t *testing.T) {
	schema, err := jsonschema.NewCompiler().Compile("record.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile("../../../test/vectors/jobs.json")
	if err != nil {
		t.Fatal(err)
	}
	var vectors []struct {
		Name string
		In   struct{ TrainJob metav1.PartialObjectMetadata }
	}
	if err := json.Unmarshal(text, &vectors); err != nil {
		t.Fatal(err)
	}
	phases := map[v1.Phase]bool{}
	for _, v := range vectors {
		job := v.In.TrainJob
		record, found := v1.Read(job.Annotations, job.UID)
		if !found {
			continue
		}
		phases[record.Phase] = true
		value, err := jsonschema.UnmarshalJSON(strings.NewReader(job.Annotations[v1.Annotation]))
		if err != nil {
			t.Fatal(err)
		}
		if err := schema.Validate(value); err != nil {
			t.Errorf("%s: %v", v.Name, err)
		}
	}
	if len(phases) < 10 {
		t.Errorf("records of %d phases only", len(phases))
	}
}

// The schema names every field of the type, and no other.
func TestTheSchemaHasAllFields(t *testing.T) {
	text, err := os.ReadFile("record.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	var schema map[string]any
	if err := json.Unmarshal(text, &schema); err != nil {
		t.Fatal(err)
	}
	compareFields(t, "Record", reflect.TypeFor[v1.Record](), schema)
}

func compareFields(t *testing.T, where string, kind reflect.Type, schema map[string]any) {
	t.Helper()
	for kind.Kind() == reflect.Pointer || kind.Kind() == reflect.Slice {
		kind = kind.Elem()
	}
	if items, is := schema["items"].(map[string]any); is {
		schema = items
	}
	properties, _ := schema["properties"].(map[string]any)
	if kind.Kind() != reflect.Struct || kind == reflect.TypeFor[metav1.Time]() {
		return
	}
	var names []string
	for i := range kind.NumField() {
		name, _, _ := strings.Cut(kind.Field(i).Tag.Get("json"), ",")
		names = append(names, name)
		if property, is := properties[name].(map[string]any); is {
			compareFields(t, where+"."+name, kind.Field(i).Type, property)
		} else {
			t.Errorf("%s: the schema has no `%s`", where, name)
		}
	}
	for name := range properties {
		if !slices.Contains(names, name) {
			t.Errorf("%s: the type has no `%s`", where, name)
		}
	}
}

func TestReadTakesOnlyRecordsOfThisJob(t *testing.T) {
	text, err := json.Marshal(v1.Record{UID: "u", Phase: v1.Running, Since: metav1.NewTime(time.Unix(1, 0))})
	if err != nil {
		t.Fatal(err)
	}
	for name, tc := range map[string]struct {
		text string
		uid  types.UID
		want bool
	}{
		"Own":     {string(text), "u", true},
		"Copied":  {string(text), "v", false},
		"NoUID":   {`{"conditions":[]}`, "", false},
		"None":    {"", "u", false},
		"NoJSON":  {"{", "u", false},
		"Types":   {`{"uid":"u","phase":1}`, "u", false},
		"Earlier": {`{"uid":"u","conditions":[{"type":"Running","status":"True"}]}`, "u", true},
	} {
		if _, found := v1.Read(map[string]string{v1.Annotation: tc.text}, tc.uid); found != tc.want {
			t.Errorf("%s: found %v", name, found)
		}
	}
}

func FuzzRead(f *testing.F) {
	f.Add(`{"version":"v1","uid":"u","phase":"Running","cause":{"reason":"A","message":"b"},"conditions":[]}`)
	f.Fuzz(func(t *testing.T, text string) {
		if r, found := v1.Read(map[string]string{v1.Annotation: text}, "u"); found && r.UID != "u" {
			t.Errorf("the record of %s", r.UID)
		}
	})
}
