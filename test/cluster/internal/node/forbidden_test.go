package node

import (
	"net/netip"
	"slices"
	"testing"
)

func TestForbiddenAnswer(t *testing.T) {
	for pods, want := range map[string]string{
		"10.244.0.0/16": "44&0xFFFF0000=0x0AF40000",
		"10.244.3.9/24": "44&0xFFFFFF00=0x0AF40300",
	} {
		if rule := forbiddenAnswer(netip.MustParsePrefix(pods)); !slices.Contains(rule, want) {
			t.Errorf("%s: %q lacks %s", pods, rule, want)
		}
	}
}
