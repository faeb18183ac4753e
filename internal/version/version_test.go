package version

import "testing"

// TestString: what the linker sets comes before what the toolchain recorded.
func TestString(t *testing.T) {
	if String() == "" {
		t.Error("a local build has no version")
	}
	release = "v1.2.3"
	defer func() { release = "" }()
	if got := String(); got != "v1.2.3" {
		t.Errorf("got %q", got)
	}
}
