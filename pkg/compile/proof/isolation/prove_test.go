package isolation_test

import (
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"lockstep.dev/lockstep/pkg/compile/object"
	"lockstep.dev/lockstep/pkg/compile/origin"
	"lockstep.dev/lockstep/pkg/compile/proof/isolation"
	"lockstep.dev/lockstep/pkg/compile/proof/prooftest"
	"lockstep.dev/lockstep/pkg/compile/source"
)

// policy is a NetworkPolicy as a chart has it, in a namespace, with a spec in YAML.
func policy(t *testing.T, namespace, name, spec string) object.Object {
	t.Helper()
	var content map[string]any
	if err := yaml.Unmarshal([]byte(spec), &content); err != nil {
		t.Fatal(err)
	}
	at := source.Span{File: source.NewFile("overlays/local/cluster.yaml", []byte("charts/x\n")), Line: 1, Column: 1, Length: 8}
	return object.New(object.FromValue("", map[string]any{
		"apiVersion": "networking.k8s.io/v1", "kind": "NetworkPolicy", "metadata": map[string]any{"namespace": namespace, "name": name}, "spec": content,
	}, nil), object.Place{Origin: at}, &origin.Origin{Kind: origin.Rendered, At: at})
}

// TestProve says what is found when a chart adds policies to the sample.
func TestProve(t *testing.T) {
	s := prooftest.CompileSample(t, specs, nil)
	const (
		toSpeech   = "{podSelector: {}, policyTypes: [Egress], egress: [{to: [{namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: speech}}}]}]}"
		fromVision = "{podSelector: {}, policyTypes: [Ingress], ingress: [{from: [{namespaceSelector: {matchLabels: {lockstep.dev/tenant: vision}}}]}]}"
	)
	in := func(namespace, spec string) object.Object { return policy(t, namespace, "p-"+namespace, spec) }
	for name, c := range map[string]struct {
		reason string
		added  []object.Object
		want   []string
	}{
		"nothing": {"the sample is isolated", nil, nil},
		"way out": {"one side is a warning, and more than the spec says", []object.Object{in("vision", toSpeech)}, []string{"LS7022", "LS7023"}},
		"way in":  {"one side is a warning, and more than the spec says", []object.Object{in("speech", fromVision)}, []string{"LS7022", "LS7023"}},
		"both":    {"both sides are a way", []object.Object{in("vision", toSpeech), in("speech", fromVision)}, []string{"LS7021", "LS7023", "LS7023"}},
		"other ports": {"the sides do not meet", []object.Object{
			in("vision", strings.Replace(toSpeech, "{to:", "{ports: [{port: 80}], to:", 1)),
			in("speech", strings.Replace(fromVision, "{from:", "{ports: [{port: 81}], from:", 1)),
		}, []string{"LS7022", "LS7022", "LS7023", "LS7023"}},
		"named port": {"a name may be any port", []object.Object{
			in("vision", strings.Replace(toSpeech, "{to:", "{ports: [{port: 80}], to:", 1)),
			in("speech", strings.Replace(fromVision, "{from:", "{ports: [{port: http}], from:", 1)),
		}, []string{"LS7021", "LS7023", "LS7023"}},
		"label of pods": {"tenants give their pods any label", []object.Object{
			in("vision", toSpeech), in("speech", strings.Replace(fromVision, "podSelector: {}", "podSelector: {matchLabels: {role: server}}", 1)),
		}, []string{"LS7021", "LS7023", "LS7023"}},
		"blocks of pods": {"the cluster says which addresses pods have", []object.Object{
			in("vision", "{podSelector: {}, policyTypes: [Egress], egress: [{to: [{ipBlock: {cidr: 10.244.0.0/24}}]}]}"),
			in("speech", "{podSelector: {}, policyTypes: [Ingress], ingress: [{from: [{ipBlock: {cidr: 10.244.7.0/24}}]}]}"),
		}, []string{"LS7021", "LS7023", "LS7023", "LS7025"}},
		"blocks elsewhere": {"no pod has these", []object.Object{
			in("vision", "{podSelector: {}, policyTypes: [Egress], egress: [{to: [{ipBlock: {cidr: 198.51.100.0/24}}]}]}"),
			in("speech", "{podSelector: {}, policyTypes: [Ingress], ingress: [{from: [{ipBlock: {cidr: 198.51.100.0/24}}]}]}"),
		}, []string{"LS7023", "LS7023"}},
		"same tenant": {"namespaces of one tenant are no leak, but more than the spec says", []object.Object{
			in("vision", "{podSelector: {}, policyTypes: [Egress], egress: [{to: [{namespaceSelector: {matchLabels: {lockstep.dev/tenant: vision}}}]}]}"),
		}, []string{"LS7023"}},
		"own pods":       {"more than the spec says", []object.Object{in("vision", "{podSelector: {}, policyTypes: [Ingress], ingress: [{from: [{podSelector: {}}]}]}")}, []string{"LS7023"}},
		"what is opened": {"the spec opens the same", []object.Object{in("vision", "{podSelector: {}, policyTypes: [Egress], egress: [{to: [{ipBlock: {cidr: 192.0.2.64/26}}], ports: [{port: 2049}]}]}")}, nil},
		"closing":        {"a policy without rules opens nothing", []object.Object{in("vision", "{podSelector: {matchLabels: {a: b}}, policyTypes: [Ingress, Egress]}")}, nil},
		"platform": {"it lets in whom it means", []object.Object{
			in("gateway", "{podSelector: {}, policyTypes: [Ingress], ingress: [{from: [{namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: vision}}}]}]}"),
		}, nil},
		"platform, everybody": {"no peers is a decision", []object.Object{in("gateway", "{podSelector: {}, policyTypes: [Ingress], ingress: [{ports: [{port: 80}]}]}")}, nil},
		"platform, empty selector": {"an empty selector may not be",
			[]object.Object{in("gateway", "{podSelector: {}, policyTypes: [Ingress], ingress: [{from: [{namespaceSelector: {}}]}]}")}, []string{"LS7026"}},
		"platform, label of pods": {"tenants give their pods any label",
			[]object.Object{in("gateway", "{podSelector: {}, policyTypes: [Ingress], ingress: [{from: [{namespaceSelector: {}, podSelector: {matchLabels: {app: web}}}]}]}")}, []string{"LS7026"}},
		"platform, own pods": {"tenants are not there",
			[]object.Object{in("gateway", "{podSelector: {}, policyTypes: [Ingress], ingress: [{from: [{podSelector: {matchLabels: {app: web}}}]}]}")}, nil},
		"nonsense": {"what cannot be read is not proven", []object.Object{
			in("gateway", "{podSelector: {}, policyTypes: [Ingress], ingress: [{from: [{ipBlock: {cidr: 10.0.0.0}}]}]}"),
			policy(t, "gateway", "range", "{podSelector: {}, ingress: [{ports: [{port: 90, endPort: 80}]}]}"),
			policy(t, "gateway", "protocol", "{podSelector: {}, ingress: [{ports: [{port: 90, protocol: ICMP}]}]}"),
			policy(t, "gateway", "values", "{podSelector: {matchExpressions: [{key: a, operator: In}]}}"),
			policy(t, "gateway", "peer", "{podSelector: {}, ingress: [{from: [{}]}]}"),
		}, []string{"LS7028", "LS7028", "LS7028", "LS7028", "LS7028"}},
	} {
		t.Run(name, func(t *testing.T) {
			found, _ := prove(s, slices.Concat(s.Objects, c.added))
			var got []string
			for _, d := range found {
				got = append(got, string(d.Code))
				if d.Span.IsZero() {
					t.Errorf("%s is nowhere: %s", d.Code, d.Message)
				}
			}
			slices.Sort(got)
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", c.reason, diff)
				for _, d := range found {
					t.Logf("%s: %s", d.Code, d.Message)
				}
			}
		})
	}
}

// TestReachability: what is open is data, the same for namespaces that are equal, in a stable order.
func TestReachability(t *testing.T) {
	s := prooftest.CompileSample(t, specs, nil)
	_, reach := prove(s, s.Objects)
	address := netip.MustParseAddr
	dns := isolation.Flow{Namespaces: "kube-system", Peers: "k8s-app=kube-dns", Ports: "TCP 53, UDP 53"}
	store := isolation.Flow{Namespaces: "storage", Peers: "app=minio", Ports: "TCP 9000"}
	egress := isolation.Side{
		dns,
		{From: address("192.0.2.0"), To: address("192.0.2.255"), Ports: "TCP 2049, UDP 111"},
		{From: address("2001:db8:1::"), To: address("2001:db8:1:ffff:ffff:ffff:ffff:ffff"), Ports: "all ports"},
	}
	ingress := isolation.Side{
		{Namespaces: "gateway", Peers: "app=scraper", Ports: "TCP 9400"}, {Namespaces: "monitoring", Ports: "all ports"},
	}
	want := isolation.Reachability{
		Of: []isolation.Reach{
			{Namespace: "speech", Tenant: "speech", Egress: isolation.Side{dns, store}, Ingress: isolation.Side{}},
			{Namespace: "vision", Tenant: "vision", Egress: egress, Ingress: ingress},
			{Namespace: "vision-batch", Tenant: "vision", Egress: egress, Ingress: ingress},
		},
		Selections: map[string][]string{},
	}
	if diff := cmp.Diff(want, reach, cmp.Comparer(func(a, b netip.Addr) bool { return a == b })); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if &reach.Of[1].Egress[0] != &reach.Of[2].Egress[0] {
		t.Error("equal namespaces do not share what is open")
	}
	everybody := policy(t, "speech", "everybody", "{podSelector: {}, policyTypes: [Ingress], ingress: [{from: [{namespaceSelector: {}}]}]}")
	_, reach = prove(s, append(slices.Clone(s.Objects), everybody))
	if diff := cmp.Diff(map[string][]string{"{}": {"speech", "vision", "vision-batch"}}, reach.Selections); diff != "" {
		t.Errorf("selections (-want +got):\n%s", diff)
	}
	if got := reach.Of[0].Ingress[0].String(); got != "all ports at all pods of all namespaces" {
		t.Error(got)
	}
}

// TestGuards: where no Pod Security Standard fits, an admission policy must refuse pods on the network of their machine.
func TestGuards(t *testing.T) {
	s := prooftest.CompileSample(t, strings.Replace(specs, "fabric: {type: Ethernet}", "fabric: {type: InfiniBand, lockedMemory: Capability, resource: rdma/hca, count: 1}", 1), nil)
	if found, _ := prove(s, s.Objects); len(found) > 0 {
		t.Fatalf("%s: %s", found[0].Code, found[0].Message)
	}
	tested := 0
	for i, o := range s.Objects {
		if o.ID.Name != "lockstep-pods" {
			continue
		}
		tested++
		if found, _ := prove(s, prooftest.WithoutObject(s.Objects, i)); len(found) == 0 || found[0].Code != "LS7020" {
			t.Errorf("nobody misses %s", o.ID)
		}
	}
	if tested != 2 {
		t.Errorf("%d objects guard pods", tested)
	}
}
