package diagnose

import (
	"fmt"
	"strings"
	"testing"

	"lockstep.dev/lockstep/pkg/mpi"
)

func waitingFor(reason, message string) func(*Pod) {
	return func(pod *Pod) {
		pod.Containers = []Container{{Name: mpi.Container, Image: "registry.test/team/mpi:1", Waiting: &ContainerWaiting{reason, message}}}
	}
}

func unplaced(message string) func(*Pod) {
	return func(pod *Pod) { pod.Machine, pod.Unschedulable = "", message }
}

// looping is a container that kubelet has started again twice and that waits for the next time.
func looping(last ContainerEnd, edits ...func(*Container)) func(*Pod) {
	c := Container{Name: mpi.Container, Restarts: 2, LastEnd: &last, Waiting: &ContainerWaiting{Reason: "CrashLoopBackOff", Message: "back-off 20s restarting failed container"}}
	for _, edit := range edits {
		edit(&c)
	}
	return func(pod *Pod) { pod.Containers = []Container{c} }
}

func runsRanks(pod *Pod) { pod.RunsRanks = true }

func gated(names ...string) func(*Pod) {
	return func(pod *Pod) { pod.Machine, pod.Gates = "", names }
}

func eightGPUs(pod *Pod) { pod.GPUs, pod.GPUResource = 8, "nvidia.com/gpu" }

type problemCase struct {
	reason string
	start  StartState
	want   mpi.Reason
	says   string
}

func problemCases() map[string]problemCase {
	gang := []Pod{launcher()}
	for i := range 4 {
		pod := worker(eightGPUs)
		pod.Name, pod.Index = fmt.Sprintf("demo-node-0-%d-x7x2p", i), i
		if i == 3 {
			unplaced("0/3 nodes are available: 3 Insufficient nvidia.com/gpu.")(&pod)
		}
		gang = append(gang, pod)
	}
	twoOfFour := append([]Pod{}, gang...)
	unplaced("0/3 nodes are available: 3 Insufficient cpu.")(&twoOfFour[3])
	unplaced("0/3 nodes are available: 3 Insufficient cpu.")(&twoOfFour[4])
	start := func(edits ...func(*Pod)) StartState {
		return StartState{Pods: []Pod{launcher(), worker(edits...)}, Want: 2}
	}
	refusing := func(words string) StartState { return StartState{Want: 2, Refused: []string{words}} }
	mounting := func(messages ...string) StartState {
		s := start(waitingFor("ContainerCreating", ""))
		for _, m := range messages {
			s.Warnings = append(s.Warnings, Warning{"demo-node-0-1-x7x2p", "FailedMount", m})
		}
		s.Warnings = append(s.Warnings, Warning{"another-pod", "FailedMount", `secret "a" not found`}, Warning{"demo-node-0-1-x7x2p", "BackOff", "x"})
		return s
	}

	return map[string]problemCase{
		"GPUs":              {"with numbers", StartState{Pods: gang, Want: 5}, Unschedulable, "Insufficient GPUs: requested 32, available 24. Waiting for 4 worker pods. Only 3 nodes available. Worker 3 (pod demo-node-0-3-x7x2p) cannot be scheduled: 0/3 nodes are available: 3 Insufficient nvidia.com/gpu."},
		"gang":              {"", StartState{Pods: twoOfFour, Want: 5}, Unschedulable, "Waiting for 4 worker pods. Only 2 nodes available. Worker 2 (pod demo-node-0-2-x7x2p) cannot be scheduled: 0/3 nodes are available: 3 Insufficient cpu."},
		"first node":        {"a launcher that runs ranks is a node", StartState{Pods: []Pod{launcher(runsRanks), worker(unplaced("no room"))}, Want: 2}, Unschedulable, "Waiting for 2 worker pods. Only 1 node available. Worker 1 (pod demo-node-0-1-x7x2p) cannot be scheduled: no room"},
		"launcher unplaced": {"", StartState{Pods: []Pod{launcher(unplaced("no room")), worker()}, Want: 2}, Unschedulable, "Launcher (pod demo-launcher-0-0-x7x2p) cannot be scheduled: no room"},
		"claim":             {"", start(unplaced(`0/2 nodes are available: persistentvolumeclaim "data" not found. preemption: 0/2`)), VolumeClaimMissing, `persistentvolumeclaim "data" not found`},
		"unbound claim":     {"", start(unplaced("0/2 nodes are available: pod has unbound immediate PersistentVolumeClaims.")), VolumeClaimMissing, "unbound immediate PersistentVolumeClaims"},
		"gate":              {"", start(gated("example.com/wait")), SchedulingGated, "Worker 1 (pod demo-node-0-1-x7x2p) is not to be scheduled yet: held back by the scheduling gate `example.com/wait`"},
		"gates":             {"each once, and how many pods", StartState{Pods: []Pod{launcher(), worker(gated("b/b", "a/a")), worker(gated("b/b"))}, Want: 3}, SchedulingGated, "Worker 1 (pod demo-node-0-1-x7x2p) and 1 more of 3 pods are not to be scheduled yet: held back by the scheduling gates `a/a`, `b/b`"},
		"running":           {"", start(), "", ""},
		"creating":          {"a container that is being made is no problem", start(waitingFor("ContainerCreating", "")), "", ""},
		"refused but there": {"old refusals say nothing about pods that are all there", StartState{Pods: []Pod{launcher()}, Want: 1, Refused: []string{"exceeded quota"}}, "", ""},

		"secret of a variable": {"", start(waitingFor("CreateContainerConfigError", `secret "s3" not found`)), SecretMissing, "Worker 1 (pod demo-node-0-1-x7x2p on machine m3): container `node` cannot be made: secret \"s3\" not found"},
		"map of a variable":    {"", start(waitingFor("CreateContainerConfigError", `configmap "c" not found`)), ConfigMapMissing, ""},
		"key of a secret":      {"", start(waitingFor("CreateContainerConfigError", `couldn't find key token in Secret team/s3`)), SecretMissing, ""},
		"key of a map":         {"", start(waitingFor("CreateContainerConfigError", `couldn't find key a in ConfigMap team/c`)), ConfigMapMissing, ""},
		"container":            {"", start(waitingFor("CreateContainerError", "context deadline exceeded")), ContainerConfig, "context deadline exceeded"},
		"secret of a volume":   {"only an event tells", mounting(`Unable to attach or mount volumes: unmounted volumes=[s], timed out`, `MountVolume.SetUp failed for volume "s" : secret "s3" not found`), SecretMissing, `secret "s3" not found`},
		"map of a volume":      {"", mounting(`MountVolume.SetUp failed for volume "c" : configmap "c" not found`), ConfigMapMissing, ""},
		"volume":               {"", mounting(`MountVolume.SetUp failed for volume "nfs" : mount failed: exit status 32`), VolumeFailed, "exit status 32"},

		"crash loop":             {"how it ends, and what it wrote last", start(looping(ContainerEnd{Code: 1, Reason: "Error", Message: "Unable to load host key: /tmp/ssh/id_rsa\nsshd: no hostkeys available -- exiting.\n"})), CrashLoopBackOff, "Worker 1 (pod demo-node-0-1-x7x2p on machine m3): container `node` is started again and again, and ends each time: it exited with code 1. What to do: `kubectl logs demo-node-0-1-x7x2p -c node --previous` shows why it ends, as long as the pod exists; correct its command, its files, its volumes or its memory limit in the TrainJob or runtime\nLast lines:\nUnable to load host key: /tmp/ssh/id_rsa\nsshd: no hostkeys available -- exiting."},
		"crash loop, no program": {"there is no log", start(looping(ContainerEnd{Code: 128, Reason: "StartError", Message: `exec: "sshd": not found`})), CrashLoopBackOff, "(StartError). What to do: `kubectl logs demo-node-0-1-x7x2p -c node --previous` shows why it ends, as long as the pod exists; correct its command, its files, its volumes or its memory limit in the TrainJob or runtime\nLast lines:\nexec: \"sshd\": not found"},
		"crash loop, init":       {"", start(looping(ContainerEnd{Code: 3, Reason: "Error"}, func(c *Container) { c.Name, c.Init = "fetch", true })), CrashLoopBackOff, "init container `fetch` is started again and again, and ends each time: it exited with code 3. What to do: `kubectl logs demo-node-0-1-x7x2p -c fetch --previous`"},
		"crash loop, sidecar":    {"also one that ends with 0", start(looping(ContainerEnd{Reason: "Completed"}, func(c *Container) { c.Name = "metrics" })), CrashLoopBackOff, "container `metrics` is started again and again, and ends each time: it exited with code 0"},
		"crash loop, running":    {"between two ends the job is as stuck", start(looping(ContainerEnd{Code: 1}, func(c *Container) { c.Waiting = nil })), CrashLoopBackOff, ""},
		"crash loop, just ended": {"the newest end counts", start(looping(ContainerEnd{Code: 1}, func(c *Container) { c.Waiting, c.End = nil, &ContainerEnd{Code: 2} })), CrashLoopBackOff, "it exited with code 2"},
		"crash loop, secret":     {"", start(looping(ContainerEnd{Code: 1, Message: "API_TOKEN=hf_abcdefghijklmnop1234"})), CrashLoopBackOff, "API_TOKEN=***"},
		"started again once":     {"it may run now", start(looping(ContainerEnd{Code: 1}, func(c *Container) { c.Waiting, c.Restarts = nil, 1 })), "", ""},
		"ready again":            {"", start(looping(ContainerEnd{Code: 1}, func(c *Container) { c.Waiting, c.Ready = nil, true })), "", ""},
		"succeeded at last":      {"", start(looping(ContainerEnd{Code: 1}, func(c *Container) { c.Waiting, c.End = nil, &ContainerEnd{} })), "", ""},

		"quota":          {"with what is left", refusing(`Error creating: pods "demo-node-0-0" is forbidden: exceeded quota: gpu, requested: requests.nvidia.com/gpu=32, used: requests.nvidia.com/gpu=8, limited: requests.nvidia.com/gpu=16`), QuotaExceeded, "requested 32 nvidia.com/gpu, 8 left of 16 in quota gpu: the API server refuses pods of the job: Error creating"},
		"quota of units": {"", refusing(`pods "x" is forbidden: exceeded quota: compute, requested: limits.memory=8Gi,pods=1, used: limits.memory=20Gi,pods=3, limited: limits.memory=24Gi,pods=3`), QuotaExceeded, "requested 8Gi limits.memory, 20Gi used of 24Gi in quota compute; requested 1 pods, 0 left of 3 in quota compute"},
		"quota, none":    {"", refusing(`pods "x" is forbidden: failed quota: compute: must specify limits.cpu for: node`), QuotaExceeded, "must specify limits.cpu"},
		"limits":         {"", refusing(`pods "x" is forbidden: maximum cpu usage per Container is 2, but limit is 4`), LimitRangeViolated, "maximum cpu usage per Container is 2"},
		"ratio":          {"", refusing(`pods "x" is forbidden: cpu max limit to request ratio per Container is 2, but provided ratio is 4`), LimitRangeViolated, ""},
		"pod security":   {"", refusing(`pods "x" is forbidden: violates PodSecurity "restricted:latest": runAsNonRoot != true`), PodSecurityDenied, "runAsNonRoot != true"},
		"SCC":            {"", refusing(`pods "x" is forbidden: unable to validate against any security context constraint: [provider restricted-v2: .containers[0].runAsUser: Invalid value: 0]`), SecurityContextDenied, "restricted-v2"},
		"account":        {"", refusing(`Error creating: pods "x" is forbidden: error looking up service account team/trainer: serviceaccount "trainer" not found`), ServiceAccountMissing, "trainer"},
		"invalid":        {"", refusing(`Error creating: Pod "x" is invalid: spec.containers[0].env[0].name: Invalid value: "A=B"`), PodInvalid, `"A=B"`},
		"priority class": {"", refusing(`pods "x" is forbidden: no PriorityClass with name high was found`), PodInvalid, ""},
		"policy":         {"", refusing(`pods "x" is forbidden: ValidatingAdmissionPolicy 'no-root' with binding 'b' denied request: no`), PolicyDenied, ""},
		"webhook":        {"", refusing(`admission webhook "check.test" denied the request: no`), PolicyDenied, ""},
		"other refusal":  {"", refusing(`pods "x" is forbidden: something new`), PodsRefused, "something new"},

		"image, containerd": {"the registry's own words", start(waitingFor("ErrImagePull", `rpc error: code = Unknown desc = failed to pull and unpack image "registry.test/team/mpi:1": failed to resolve reference "registry.test/team/mpi:1": failed to authorize: failed to fetch anonymous token: unexpected status: 401 Unauthorized`)), ImagePull, "Failed to pull image 'registry.test/team/mpi:1': authentication required: failed to authorize: failed to fetch anonymous token: unexpected status: 401 Unauthorized; first failing pod: Worker 1 (pod demo-node-0-1-x7x2p on machine m3)"},
		"image, CRI-O":      {"", start(waitingFor("ErrImagePull", `rpc error: code = Unknown desc = reading manifest 1 in registry.test/team/mpi: unauthorized: authentication required`)), ImagePull, "Failed to pull image 'registry.test/team/mpi:1': authentication required: unauthorized: authentication required; first"},
		"image, back-off":   {"kubelet from 1.32 repeats the error", start(waitingFor("ImagePullBackOff", `Back-off pulling image "registry.test/team/mpi:1": ErrImagePull: rpc error: code = NotFound desc = failed to pull and unpack image "registry.test/team/mpi:1": failed to resolve reference "registry.test/team/mpi:1": registry.test/team/mpi:1: not found`)), ImagePull, "': the image does not exist: registry.test/team/mpi:1: not found;"},
		"image, old":        {"kubelet before 1.32 does not", start(waitingFor("ImagePullBackOff", `Back-off pulling image "registry.test/team/mpi:1"`)), ImagePull, "Failed to pull image 'registry.test/team/mpi:1'; first failing pod"},
		"image, name":       {"", start(waitingFor("InvalidImageName", `Failed to apply default image tag "A B": couldn't parse image name "A B": invalid reference format`)), ImagePull, "the name of the image is not valid"},
		"image, never":      {"", start(waitingFor("ErrImageNeverPull", `Container image "x" is not present with pull policy of Never`)), ImagePull, "the image does not exist"},
		"image, host":       {"", start(waitingFor("ErrImagePull", `failed to do request: Head "https://registry.test/v2/": dial tcp: lookup registry.test on 10.0.0.10:53: no such host`)), ImagePull, "the registry's name cannot be resolved"},
		"image, port":       {"our own port differs in every attempt", start(waitingFor("ErrImagePull", `read tcp 10.0.0.4:40112->10.0.0.9:443: read: connection timed out`)), ImagePull, "the registry does not answer: read tcp 10.0.0.9:443: read: connection timed out"},
		"image, refused":    {"", start(waitingFor("ErrImagePull", `dial tcp 10.0.0.9:443: connect: connection refused`)), ImagePull, "the registry refuses the connection"},
		"image, TLS":        {"", start(waitingFor("ErrImagePull", `tls: failed to verify certificate: x509: certificate signed by unknown authority`)), ImagePull, "certificate is not trusted"},
		"image, rate":       {"", start(waitingFor("ErrImagePull", `toomanyrequests: You have reached your pull rate limit.`)), ImagePull, "limits the rate"},
		"image, token":      {"the registry is busy, and the credentials may be right", start(waitingFor("ErrImagePull", `failed to authorize: failed to fetch oauth token: unexpected status from GET request to https://registry.test/token: 503 Service Unavailable`)), ImagePull, "the registry has a fault of its own"},
		"image, disk":       {"", start(waitingFor("ErrImagePull", `failed to extract layer: write /x: no space left on device`)), ImagePull, "no space left on the machine"},
		"image, platform":   {"", start(waitingFor("ErrImagePull", `no match for platform in manifest`)), ImagePull, "not built for this machine"},
		"image, secret":     {"", start(waitingFor("ErrImagePull", `Get "https://jane:pw@registry.test/v2/?token=abc": EOF`)), ImagePull, `Get "https://***@registry.test/v2/?token=***": EOF`},
	}
}

func TestProblem(t *testing.T) {
	for name, tc := range problemCases() {
		t.Run(name, func(t *testing.T) {
			got := StartProblem(tc.start)
			if got == nil {
				got = &Cause{}
			}
			if got.Reason != tc.want || !strings.Contains(got.Text(), tc.says) {
				t.Errorf("%s: want %s with %q, got %s: %s", tc.reason, tc.want, tc.says, got.Reason, got.Message)
			}
			if _, found := ReasonDocOf(got.Reason); got.Reason != "" && !found {
				t.Errorf("%s is not documented", got.Reason)
			}
		})
	}
}

// Only an answer that stays the same ends a job: everything else that registries say, and what nobody knows, may pass.
func TestPullIsFinal(t *testing.T) {
	cases := map[string]bool{
		`failed to resolve reference "registry.test/timeout:503": registry.test/timeout:503: not found`:                                        true,
		`pull access denied, repository does not exist or may require authorization: server message: insufficient_scope: authorization failed`: true,
		`Back-off pulling image "registry.test/timeout:503": ErrImagePull: unexpected status from HEAD request: 401 Unauthorized`:              true,
		`no match for platform in manifest`: true,
		`unexpected status from HEAD request to https://registry.test/v2/timeout/manifests/1: 429 Too Many Requests`: false,
		`failed to authorize: failed to fetch oauth token: unexpected status: 503 Service Unavailable`:               false,
		`failed to do request: Head "https://registry.test/v2/": dial tcp 10.0.0.9:443: i/o timeout`:                 false,
		`failed to do request: Head "https://registry.test/v2/": EOF`:                                                false,
		`write /x: no space left on device`:                                                                          false,
		`something that nobody has seen`:                                                                             false,
		`Back-off pulling image "registry.test/timeout:503"`:                                                         false,
	}
	for said, want := range cases {
		if got := PullIsFinal("registry.test/timeout:503", said); got != want {
			t.Errorf("%s: got %v, want %v", said, got, want)
		}
		shown := imagePullProblem(worker(), Container{Image: "registry.test/timeout:503", Waiting: &ContainerWaiting{"ErrImagePull", said}}).Text()
		if got := PullIsFinal("registry.test/timeout:503", shown); got != want {
			t.Errorf("as a condition has it: %s: got %v, want %v", shown, got, want)
		}
	}
}

func TestPreferRegistryWords(t *testing.T) {
	pull := func(message string) Cause {
		return *imagePullProblem(worker(), Container{Image: "a:1", Waiting: &ContainerWaiting{"ErrImagePull", message}})
	}
	known, unknown := pull("unauthorized"), pull("")
	if got := PreferRegistryWords(known.Text(), unknown); got != known.Text() {
		t.Errorf("the registry's words were forgotten: %s", got)
	}
	if got := PreferRegistryWords("something else", unknown); got != unknown.Text() {
		t.Errorf("kept what was about something else: %s", got)
	}
	if got := PreferRegistryWords(known.Text(), pull("not found")); !strings.Contains(got, "not found") {
		t.Errorf("kept an older error: %s", got)
	}
	other := *imagePullProblem(worker(), Container{Image: "b:2", Waiting: &ContainerWaiting{"ImagePullBackOff", ""}})
	if got := PreferRegistryWords(known.Text(), other); got != other.Text() {
		t.Errorf("kept the words about another image: %s", got)
	}
}

func TestGate(t *testing.T) {
	failures := func(errors ...string) (list []mpi.NodeFailure) {
		for i, e := range errors {
			list = append(list, mpi.NodeFailure{Name: fmt.Sprintf("demo-node-0-%d.demo", i), Address: "10.0.0.1", Error: e})
		}
		return list
	}
	cases := map[string]struct {
		failures []mpi.NodeFailure
		want     mpi.Reason
		says     string
	}{
		"refused":     {failures("connection refused"), ConnectionRefused, "MPI communication failure - check NetworkPolicies: Worker 0 port 2222 (demo-node-0-0, 10.0.0.1): connection refused"},
		"timed out":   {failures("connection timed out", "no route to host"), ConnectionTimedOut, "MPI communication failure - check NetworkPolicies: Worker 0 port 2222"},
		"cut off":     {failures("it cannot reach demo-node-0-1 (10.0.0.2): connection timed out"), ConnectionTimedOut, "it cannot reach demo-node-0-1"},
		"wrong key":   {failures("authentication failed"), AuthenticationFailed, "the key of the job was not accepted: Worker 0"},
		"DNS":         {failures("DNS does not answer (timeout)"), NameNotResolved, "check DNS"},
		"no address":  {failures("no address"), GateTimeout, "not all pods of the job came up in time"},
		"no name":     {failures("its name is not in DNS (NXDOMAIN)"), GateTimeout, "not all pods"},
		"nobody":      {failures("nobody sent the addresses of the pods"), GateTimeout, "not all pods of the job came up in time"},
		"different":   {failures("authentication failed", "connection refused"), GateTimeout, "MPI communication failure"},
		"unknown":     {failures("something else than the agent answers"), GateTimeout, ""},
		"many":        {failures("connection refused", "connection refused", "connection refused", "connection refused", "connection refused"), ConnectionRefused, "and 2 more"},
		"nothing":     {nil, GateTimeout, ""},
		"no IP known": {[]mpi.NodeFailure{{Name: "a", Error: "connection refused"}}, ConnectionRefused, "a port 2222 (a): connection refused"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got := GateFailure(mpi.GateResult{Failures: tc.failures})
			if got.Reason != tc.want || !strings.Contains(got.Message, tc.says) {
				t.Errorf("want %s with %q, got %s: %s", tc.want, tc.says, got.Reason, got.Message)
			}
		})
	}
}
