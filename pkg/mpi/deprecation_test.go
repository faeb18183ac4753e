package mpi

import "testing"

func TestDeprecationWarning(t *testing.T) {
	for want, d := range map[string]Deprecation{
		"":                            {RetireOn: "2027-03-31", Successor: "new", Reason: "x"},
		"runtime `old` is deprecated": {Deprecated: true},
		"runtime `old` is deprecated and retires on 2027-03-31": {Deprecated: true, RetireOn: "2027-03-31"},
		"runtime `old` is deprecated; use `new` instead: no longer patched": {
			Deprecated: true, Successor: "new", Reason: "no longer\npatched\n",
		},
	} {
		if got := d.Warning("old"); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
