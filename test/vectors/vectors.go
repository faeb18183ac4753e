// Package vectors writes the files of this folder and holds tests to them: what every front end has to say, in the same words.
package vectors

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"testing"
)

var update = flag.Bool("update-vectors", false, "write test/vectors")

// Hold compares the vectors in a file of this folder with those that a test has made.
func Hold(t *testing.T, path string, made any) {
	t.Helper()
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", " ")
	if err := encoder.Encode(made); err != nil {
		t.Fatal(err)
	}
	if *update {
		if err := os.WriteFile(path, text.Bytes(), 0o644); err != nil { //nolint:gosec // everybody may read it
			t.Fatal(err)
		}
		t.Fatalf("%s was written: run again", path)
	}
	if written, err := os.ReadFile(path); err != nil || !bytes.Equal(written, text.Bytes()) { //nolint:gosec // a file of this folder
		t.Errorf("%s is not what the code says, run the test with -update-vectors (%v)", path, err)
	}
}
