package sides

import "testing"

func TestPods(t *testing.T) {
	got := Pods{}
	if err := got.Set("4, 16"); err != nil || got.String() != "4,16" {
		t.Errorf("Set and String = %v, %v", got.String(), err)
	}
	for _, text := range []string{"", "0", "four"} {
		if err := got.Set(text); err == nil {
			t.Errorf("Set(%q) is no error", text)
		}
	}
}
