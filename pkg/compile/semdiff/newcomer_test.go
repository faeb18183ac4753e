package semdiff_test

import (
	"testing"

	sigsyaml "sigs.k8s.io/yaml"

	"lockstep.dev/lockstep/pkg/compile/object"
	"lockstep.dev/lockstep/pkg/compile/origin"
	"lockstep.dev/lockstep/pkg/compile/semdiff"
)

// TestNewIsJudgedLikeChanged: what makes a change of an object severe makes the object as severe when it is new.
func TestNewIsJudgedLikeChanged(t *testing.T) {
	deployment := func(pod string) string {
		return `{apiVersion: apps/v1, kind: Deployment, metadata: {name: a, namespace: tools}, spec: {template: {spec: ` + pod + `}}}`
	}
	service := func(spec string) string {
		return `{apiVersion: v1, kind: Service, metadata: {name: a, namespace: tools}, spec: ` + spec + `}`
	}
	runtime := func(pod string) string {
		return `{apiVersion: trainer.kubeflow.org/v1alpha1, kind: ClusterTrainingRuntime, metadata: {name: a}, spec: {template: {spec: {replicatedJobs: [{name: node, template: {spec: {template: {spec: ` + pod + `}}}}]}}}}`
	}
	constraint := func(fields string) string {
		return `{apiVersion: security.openshift.io/v1, kind: SecurityContextConstraints, metadata: {name: a}, fsGroup: {type: MustRunAs}, seLinuxContext: {type: MustRunAs}, supplementalGroups: {type: RunAsAny}, ` + fields + `}`
	}
	narrow := constraint(`runAsUser: {type: MustRunAsRange}, requiredDropCapabilities: [ALL], volumes: [configMap]`)
	quiet := `{containers: [{name: x, image: "example.org/x:1"}]}`
	cases := map[string]struct{ reason, before, after string }{
		"Privileged":   {"as good as the machine", deployment(quiet), deployment(`{containers: [{name: x, image: "example.org/x:1", securityContext: {privileged: true}}]}`)},
		"Sidecar":      {"in a container that was not there", deployment(quiet), deployment(`{containers: [{name: x, image: "example.org/x:1"}, {name: y, image: "example.org/x:1", securityContext: {privileged: true}}]}`)},
		"HostPID":      {"sees the processes of the machine", deployment(quiet), deployment(`{hostPID: true, containers: [{name: x, image: "example.org/x:1"}]}`)},
		"HostPath":     {"reads the files of the machine", deployment(quiet), deployment(`{containers: [{name: x, image: "example.org/x:1"}], volumes: [{name: h, hostPath: {path: /}}]}`)},
		"HostPort":     {"no way to the machine on its own", deployment(quiet), deployment(`{containers: [{name: x, image: "example.org/x:1", ports: [{containerPort: 80, hostPort: 80}]}]}`)},
		"Capability":   {"as good as root", deployment(quiet), deployment(`{containers: [{name: x, image: "example.org/x:1", securityContext: {capabilities: {add: [SYS_ADMIN]}}}]}`)},
		"Runtime":      {"pods of jobs", runtime(quiet), runtime(`{hostNetwork: true, containers: [{name: x, image: "example.org/x:1", securityContext: {privileged: true}}]}`)},
		"LoadBalancer": {"reached from outside", service(`{ports: [{port: 80}]}`), service(`{type: LoadBalancer, ports: [{port: 80}]}`)},
		"ExternalIPs":  {"takes the traffic to an address", service(`{ports: [{port: 80}]}`), service(`{ports: [{port: 80}], externalIPs: [10.0.0.1]}`)},
		"RuntimeImage": {"from a registry that nothing came from", runtime(quiet), runtime(`{containers: [{name: x, image: "evil.example.com/x:1"}]}`)},
		"ImageVolume":  {"another program in a volume", runtime(`{containers: [{name: x, image: "example.org/x:1"}], volumes: [{name: v, image: {reference: "example.org/v:1"}}]}`), runtime(`{containers: [{name: x, image: "example.org/x:1"}], volumes: [{name: v, image: {reference: "evil.example.com/v:1"}}]}`)},
		"SidecarImage": {"another program beside that of jobs", runtime(quiet), runtime(`{containers: [{name: x, image: "example.org/x:1"}, {name: side, image: "evil.example.com/y:1"}]}`)},
		"Constraint":   {"more, and nothing severe", narrow, constraint(`runAsUser: {type: MustRunAsRange}, requiredDropCapabilities: [ALL], allowedCapabilities: [IPC_LOCK], volumes: [configMap, secret]`)},
		"AnyUser":      {"root, too", narrow, constraint(`runAsUser: {type: RunAsAny}, requiredDropCapabilities: [ALL], volumes: [configMap]`)},
		"Root":         {"nobody else", narrow, constraint(`runAsUser: {type: MustRunAs, uid: 0}, requiredDropCapabilities: [ALL], volumes: [configMap]`)},
		"NothingLost":  {"keeps what it starts with", narrow, constraint(`runAsUser: {type: MustRunAsRange}, volumes: [configMap]`)},
		"AnyVolume":    {"that of the machine, too", narrow, constraint(`runAsUser: {type: MustRunAsRange}, requiredDropCapabilities: [ALL], volumes: ["*"]`)},
		"Processes":    {"sees those of the machine", narrow, constraint(`runAsUser: {type: MustRunAsRange}, requiredDropCapabilities: [ALL], volumes: [configMap], allowHostPID: true`)},
		"Capabilities": {"as good as root", narrow, constraint(`runAsUser: {type: MustRunAsRange}, requiredDropCapabilities: [ALL], volumes: [configMap], allowedCapabilities: ["*"]`)},
		"Syscalls":     {"all of them", narrow, constraint(`runAsUser: {type: MustRunAsRange}, requiredDropCapabilities: [ALL], volumes: [configMap], seccompProfiles: ["*"]`)},
		"Everybody":    {"may use it", narrow, constraint(`runAsUser: {type: MustRunAsRange}, requiredDropCapabilities: [ALL], volumes: [configMap], groups: [system:authenticated]`)},
		"Quiet":        {"asks for nothing", deployment(quiet), deployment(`{containers: [{name: x, image: "example.org/x:2"}]}`)},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			others := []object.Object{written(t, `{apiVersion: apps/v1, kind: Deployment, metadata: {name: other, namespace: tools}, spec: {template: {spec: `+quiet+`}}}`)}
			report := func(before ...object.Object) semdiff.Report {
				return semdiff.Compare(semdiff.Input{Units: []semdiff.Unit{
					semdiff.NewUnit("hpc", "others", others, others, nil), semdiff.NewUnit("hpc", "a", append([]object.Object{}, before...), []object.Object{written(t, tc.after)}, nil),
				}})
			}
			was, is := report(written(t, tc.before)), report()
			if was.Worst() != is.Worst() {
				t.Errorf("%s: a change is %s, the new object %s:\n%s\n%s", tc.reason, was.Worst(), is.Worst(), summary(&was), summary(&is))
			}
		})
	}
}

func written(t *testing.T, text string) object.Object {
	t.Helper()
	var content map[string]any
	if err := sigsyaml.Unmarshal([]byte(text), &content); err != nil {
		t.Fatal(err)
	}
	return object.New(object.FromValue("", content, nil), object.Place{Folder: "objects", File: "objects"}, &origin.Origin{Kind: origin.Written})
}
