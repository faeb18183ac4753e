package cli

import (
	"strings"
	"testing"
	"time"
)

// TestProgress: a short build shows nothing, a long one a line that changes a few times a second and disappears.
func TestProgress(t *testing.T) {
	var out strings.Builder
	now := time.Unix(0, 0)
	p := newProgressOn(&out, func() time.Time { return now })
	for done := 1; done <= 100; done++ {
		now = now.Add(10 * time.Millisecond)
		p.ShowUnits(done, 100)
		if done == 40 {
			p.ClearLine()
			if out.String() != "" {
				t.Errorf("after 400 ms it shows %q", out.String())
			}
		}
	}
	p.ClearLine()
	lines := strings.Split(out.String(), "\r\x1b[K")[1:]
	if len(lines) != 7 || lines[0] != "compiling: 50 of 100 units, 50 %" || lines[5] != "compiling: 100 of 100 units, 100 %" || lines[6] != "" {
		t.Errorf("it shows %q", lines)
	}
	none := NewProgress(&out)
	none.ShowUnits(1, 2)
	if none.out != nil {
		t.Error("it shows progress where there is no terminal")
	}
}
