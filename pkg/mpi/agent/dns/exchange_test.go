package dns

import (
	"errors"
	"testing"

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
