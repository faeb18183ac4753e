package dns

import (
	"errors"
	"testing"
	"time"

	"golang.org/x/net/dns/dnsmessage"
)

var asked = question{name: "a.test.", kind: dnsmessage.TypeA}

// answered is a correct answer to what was asked.
func answered(t testing.TB, change func(*dnsmessage.Message)) []byte {
	t.Helper()
	name := dnsmessage.MustNewName("A.TEST.")
	message := dnsmessage.Message{
		Header:    dnsmessage.Header{ID: 7, Response: true},
		Questions: []dnsmessage.Question{{Name: name, Type: dnsmessage.TypeA, Class: dnsmessage.ClassINET}},
		Answers: []dnsmessage.Resource{{
			Header: dnsmessage.ResourceHeader{Name: name, Class: dnsmessage.ClassINET, TTL: 5}, Body: &dnsmessage.AResource{A: [4]byte{10, 0, 0, 1}},
		}},
	}
	change(&message)
	text, err := message.Pack()
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func TestAnswersToOtherQuestionsAreLeftAlone(t *testing.T) {
	cases := map[string]struct {
		change func(*dnsmessage.Message)
		ours   bool
	}{
		"ours, in capitals": {func(*dnsmessage.Message) {}, true},
		"another number":    {func(m *dnsmessage.Message) { m.ID = 8 }, false},
		"a query":           {func(m *dnsmessage.Message) { m.Response = false }, false},
		"another type":      {func(m *dnsmessage.Message) { m.Questions[0].Type = dnsmessage.TypeAAAA }, false},
		"another name":      {func(m *dnsmessage.Message) { m.Questions[0].Name = dnsmessage.MustNewName("b.test.") }, false},
		"no question":       {func(m *dnsmessage.Message) { m.Questions = nil }, false},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			got, err := asked.unpack(7, answered(t, c.change))
			if errors.Is(err, errOther) == c.ours || c.ours && len(got.addresses) != 1 {
				t.Errorf("got %+v, %v", got, err)
			}
		})
	}
}

// TestAnswersThatAreCutShort are broken ones, not empty ones: an empty answer means that the name has no address.
func TestAnswersThatAreCutShort(t *testing.T) {
	whole := answered(t, func(*dnsmessage.Message) {})
	for length := range len(whole) {
		if got, err := asked.unpack(7, whole[:length]); err == nil {
			t.Errorf("%d of %d bytes: %+v", length, len(whole), got)
		}
	}
}

// TestHowLongNothingIsKept: the zone says how long a cache may keep that there is no address, the smaller of two numbers (RFC 2308).
func TestHowLongNothingIsKept(t *testing.T) {
	zone := func(ttl, least uint32) dnsmessage.Resource {
		name := dnsmessage.MustNewName("test.")
		return dnsmessage.Resource{
			Header: dnsmessage.ResourceHeader{Name: name, Class: dnsmessage.ClassINET, TTL: ttl}, Body: &dnsmessage.SOAResource{NS: name, MBox: name, MinTTL: least},
		}
	}
	for name, c := range map[string]struct {
		authorities []dnsmessage.Resource
		want        time.Duration
	}{
		"of the zone":   {[]dnsmessage.Resource{zone(60, 30)}, 30 * time.Second},
		"of the record": {[]dnsmessage.Resource{zone(10, 30)}, 10 * time.Second},
		"unsaid":        {nil, 5 * time.Second},
	} {
		got, err := asked.unpack(7, answered(t, func(m *dnsmessage.Message) { m.Answers, m.Authorities = nil, c.authorities }))
		if err != nil || got.keep != c.want || len(got.addresses) > 0 {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
	}
}

func FuzzUnpack(f *testing.F) {
	f.Add(answered(f, func(*dnsmessage.Message) {}))
	f.Add([]byte{0, 7, 0x80})
	f.Fuzz(func(t *testing.T, text []byte) {
		got, err := asked.unpack(7, text)
		if err != nil && len(got.addresses) > 0 {
			t.Errorf("half an answer: %+v, %v", got, err)
		}
		for _, address := range got.addresses {
			if len(address) != 4 && len(address) != 16 {
				t.Errorf("an address of %d bytes", len(address))
			}
		}
	})
}
