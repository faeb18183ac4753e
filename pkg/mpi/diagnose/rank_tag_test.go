package diagnose

import (
	"strings"
	"testing"
)

// The short way to a tag finds what the expression finds.
func TestCommonTag(t *testing.T) {
	for _, line := range []string{
		"", "x", "[", "[1,2]<stdout>:x", "[1,2]<stderr>: x", "[1,2]<stddiag>:", "[host-1@1,12]<stdout>: y", "[1,2]<stdlog>:x", "[1,]<stdout>:x", "[1,-2]<stdout>:x",
		"[12]<stdout>:x", "[[1,2]<stdout>:x", "[1,2]x<stdout>:x", "[1,2]<stdout>x", "[1,2", "[1,2]<stdout>:[1,3]<stdout>:x", "[1,99999999999999999999]<stdout>:x", "[a,b,3]<stdout>:  x",
	} {
		rank, rest, found := cutCommonTag(line)
		groups := rankTag.FindStringSubmatch(line)
		if !found {
			continue
		}
		if groups == nil {
			t.Errorf("%q: the expression finds no tag", line)
			continue
		}
		slow, slowRest := parseRankNumber(strings.Join(groups[1:], "")), line[len(groups[0]):]
		for inner := rankTag.FindStringSubmatch(rest); inner != nil; inner = rankTag.FindStringSubmatch(rest) {
			rank, rest = parseRankNumber(strings.Join(inner[1:], "")), rest[len(inner[0]):]
		}
		if (slow == nil) != (rank == nil) || slow != nil && *slow != *rank || rest != slowRest {
			t.Errorf("%q: rest %q, want %q", line, rest, slowRest)
		}
	}
	if _, _, found := cutCommonTag("[prterun-x-1@1,12]<stderr>: boom"); !found {
		t.Error("the common form is not known")
	}
}

func TestLinesOf(t *testing.T) {
	three := 3
	lines := []string{"[1,2]<stderr>:two", "[1,3]<stderr>:three", "mpirun noticed"}
	if got := LinesOfRankOrAll(lines, &three); len(got) != 1 || !strings.HasSuffix(got[0], "three") {
		t.Errorf("the lines of rank 3: %q", got)
	}
	four := 4
	if got := LinesOfRankOrAll(lines, &four); len(got) != 3 {
		t.Errorf("a rank that printed nothing: %q", got)
	}
	if got := LinesOfRankOrAll(lines, nil); len(got) != 3 {
		t.Errorf("no rank: %q", got)
	}
}
