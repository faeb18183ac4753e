package diag

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"lockstep.dev/lockstep/pkg/compile/source"
)

// waivedAndNot has a finding that is waived, one that is waived on one cluster only, and one about a line with a secret.
func waivedAndNot() *List {
	file := source.NewFile("tenants/a.yaml", []byte("a: 10.0.0.0/8\nb: 10.0.0.0/9\npassword: hunter2\n"))
	list := &List{}
	waiver := &Waiver{Reason: "the recorder", Until: "2027-03-31"}
	list.Errorf(OpensMore, file.Token(1, 4, 10), "more is open").Waived = waiver
	list.Warnf(ClusterRangeOpen, file.Token(2, 4, 10), "a range").Waived = waiver
	list.Warnf(ClusterRangeOpen, file.Token(2, 4, 10), "a range")
	list.Errorf(SecretInSpec, file.Token(3, 11, 7), "a secret").Secret = true
	list.Warnf(UnknownKey, file.Token(3, 1, 8), "the same line").Also(file.Token(3, 11, 7), "here")
	return list
}

// TestTake: findings come over as they are, and one list may waive what the other does not.
func TestTake(t *testing.T) {
	from := waivedAndNot()
	list := &List{}
	list.AddCopies(from.Since(0))
	if diff := cmp.Diff(from.Records(), list.Records()); diff != "" {
		t.Errorf("(-from +list):\n%s", diff)
	}
	for _, d := range list.Since(0) {
		d.Waived = &Waiver{Reason: "all is well"}
	}
	if from.Warnings() != 2 || list.Warnings() != 0 {
		t.Errorf("%d and %d warnings, want 2 and 0", from.Warnings(), list.Warnings())
	}
}

// TestWaivedText: what is waived is shown as such, with its reason and end, and counted apart; a line with a secret is never shown.
func TestWaivedText(t *testing.T) {
	var b strings.Builder
	if err := waivedAndNot().WriteText(&b, Palette{}); err != nil {
		t.Fatal(err)
	}
	const want = `waived[LS7023]: more is open
 --> tenants/a.yaml:1:4
  |
1 | a: 10.0.0.0/8
  |    ^^^^^^^^^^
  = waived until 2027-03-31: the recorder

warning[LS7025]: a range
 --> tenants/a.yaml:2:4
  |
2 | b: 10.0.0.0/9
  |    ^^^^^^^^^^

warning[LS2003]: the same line
 --> tenants/a.yaml:3:1
  | (the line is not shown)
 ::: tenants/a.yaml:3:11
  | (the line is not shown)

error[LS4111]: a secret
 --> tenants/a.yaml:3:11
  | (the line is not shown)

1 error, 2 warnings, 1 waived
`
	if diff := cmp.Diff(want, b.String()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestWaivedForTools: JSON has the waiver, GitHub a notice, and neither counts it.
func TestWaivedForTools(t *testing.T) {
	list := waivedAndNot()
	if list.Errors() != 1 || list.Warnings() != 2 {
		t.Errorf("%d errors, %d warnings", list.Errors(), list.Warnings())
	}
	records := list.Records()
	if diff := cmp.Diff(&WaivedRecord{Reason: "the recorder", Until: "2027-03-31"}, records[0].Waived); diff != "" || records[1].Waived != nil {
		t.Errorf("(-want +got):\n%s", diff)
	}
	var b strings.Builder
	if err := list.WriteGitHub(&b, func(path string) string { return path }); err != nil {
		t.Fatal(err)
	}
	if first, _, _ := strings.Cut(b.String(), "\n"); !strings.HasPrefix(first, "::notice file=tenants/a.yaml,line=1,") || !strings.HasSuffix(first, "%0Awaived until 2027-03-31: the recorder") {
		t.Error(first)
	}
}

// TestCanBeWaived: rules can, what makes no sense cannot, nor the mistakes of waivers.
func TestCanBeWaived(t *testing.T) {
	for code, want := range map[Code]bool{
		MetadataReachable: true, ClusterRangeOpen: true, SecretInSpec: true, OpensMore: true,
		NothingRead: false, UnknownKey: false, DanglingReference: false, NamespaceNotClosed: false, NodeDoesNotFit: false,
		WaiverExpired: false, WaiverExpiresSoon: false, WaiverUnused: false, NotWaivable: false,
	} {
		entry, _ := EntryOf(code)
		if got := entry.CanBeWaived(); got != want {
			t.Errorf("%s: %t", code, got)
		}
	}
}

// TestByCluster: whoever gains by a waiver does not write it. The size of one's own jobs harms nobody else.
func TestByCluster(t *testing.T) {
	for code, want := range map[Code]bool{
		SecretInSpec: true, MetadataReachable: true, LevelNotKept: true, LimitsNotEnforced: true, Overcommitted: true, TenantsConnected: true,
		ClusterRangeOpen: true, BeyondRole: true, LargestJobDoesNotFit: false, StoreNotReachable: false, RetirementDue: false,
	} {
		entry, _ := EntryOf(code)
		if got := entry.ByCluster(); got != want {
			t.Errorf("%s: %t", code, got)
		}
	}
}
