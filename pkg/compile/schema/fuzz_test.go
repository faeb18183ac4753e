package schema_test

import (
	"bytes"
	"encoding/json"
	"testing"

	"lockstep.dev/lockstep/pkg/compile/object"
)

// FuzzCheck finds objects that make a check panic, or two checks of one object differ.
func FuzzCheck(f *testing.F) {
	for _, test := range cases(f) {
		data, err := json.Marshal(test.Object)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	s := schemas(f, 36)
	f.Fuzz(func(t *testing.T, data []byte) {
		decoder := json.NewDecoder(bytes.NewReader(data))
		decoder.UseNumber()
		var value map[string]any
		if decoder.Decode(&value) != nil {
			return
		}
		root := object.FromValue("", value, nil)
		if first, second := len(s.Check(&root)), len(s.Check(&root)); first != second {
			t.Errorf("%d problems, then %d", first, second)
		}
	})
}
