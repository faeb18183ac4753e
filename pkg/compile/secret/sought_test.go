package secret

import (
	"math/rand/v2"
	"strings"
	"testing"
)

// TestSought: looking for all signs at once finds what looking for one after the other does.
func TestSought(t *testing.T) {
	texts := append([]string{}, hints...)
	for _, s := range shapes {
		texts = append(texts, s.prefix)
	}
	one := func(data string) bool {
		for _, text := range texts {
			if strings.Contains(data, text) {
				return true
			}
		}
		return false
	}
	r := rand.New(rand.NewPCG(1, 2))
	const filler = "spec: passeso kind\npi --- sk_ hf name: ghost AKI eyi "
	for i := range 20000 {
		data := filler[r.IntN(len(filler)):]
		if i%2 == 0 {
			text := texts[r.IntN(len(texts))]
			data = filler[:r.IntN(len(filler))] + text[:r.IntN(len(text)+1)] + data
		}
		if got, want := signs().isIn([]byte(data)), one(data); got != want {
			t.Fatalf("%q: got %v, want %v", data, got, want)
		}
	}
	for _, data := range []string{"", "a", "s"} {
		if signs().isIn([]byte(data)) {
			t.Errorf("found something in %q", data)
		}
	}
}
