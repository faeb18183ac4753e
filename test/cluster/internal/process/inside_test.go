package process

import (
	"os"
	"testing"
)

func TestInnermost(t *testing.T) {
	for status, want := range map[string]int{
		"Name:\tx\nNSpid:\t4711\t17\nNSpgid:\t1\n": 17,
		"NSpid:\t4711\n": 4711,
		"NSpid:\t\n":     0,
		"NSpid:\tx\n":    0,
		"":               0,
	} {
		if got := innermost(status); got != want {
			t.Errorf("innermost(%q) = %d, want %d", status, got, want)
		}
	}
}

func TestInsideFindsSelf(t *testing.T) {
	self, err := Of(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		t.Fatal(err)
	}
	if got, err := Inside(self, innermost(string(status))); err != nil || got != self {
		t.Errorf("Inside() = %v, %v, want %v", got, err, self)
	}
	if got, err := Inside(self, 1<<30); err == nil {
		t.Errorf("Inside() = %v for a number that nobody has", got)
	}
}
