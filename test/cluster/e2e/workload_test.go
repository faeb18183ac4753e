package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"lockstep.dev/lockstep/test/images/archive"
)

const probeImage = "lockstep.test/probe:1"

// probe makes the archive of the image that the pods run.
func probe(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	program, image := filepath.Join(dir, "probe"), filepath.Join(dir, "probe.tar")
	build := exec.Command("go", "build", "-o", program, "./testdata/probe")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build the probe: %v\n%s", err, out)
	}
	spec := archive.Spec{
		Reference: probeImage, Files: []archive.File{{Path: "/probe", Source: program}},
		Entrypoint: []string{"/probe"}, User: "65532:65532",
	}
	if _, err := archive.Scratch(spec, image); err != nil {
		t.Fatal(err)
	}
	return image
}

const pods = `
apiVersion: v1
kind: Namespace
metadata: {name: e2e, labels: {pod-security.kubernetes.io/enforce: restricted}}
---
apiVersion: v1
kind: Service
metadata: {name: web, namespace: e2e}
spec: {selector: {app: web}, ports: [{port: 80, targetPort: 8080}]}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: e2e}
spec:
  replicas: 2
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      terminationGracePeriodSeconds: 0
      topologySpreadConstraints:
      - {maxSkew: 1, topologyKey: kubernetes.io/hostname, whenUnsatisfiable: DoNotSchedule, labelSelector: {matchLabels: {app: web}}}
      securityContext: {runAsNonRoot: true, seccompProfile: {type: RuntimeDefault}}
      containers:
      - name: c
        image: IMAGE
        args: [serve, ":8080"]
        readinessProbe: {httpGet: {path: /, port: 8080}, periodSeconds: 1}
        securityContext: {allowPrivilegeEscalation: false, capabilities: {drop: [ALL]}}
---
apiVersion: v1
kind: Pod
metadata: {name: friend, namespace: e2e, labels: {app: friend}}
spec: {nodeName: node0, POD}
---
apiVersion: v1
kind: Pod
metadata: {name: stranger, namespace: e2e, labels: {app: stranger}}
spec: {nodeName: node1, POD}
`

// pod is a restricted pod that waits, with an image mounted as a volume.
const pod = `terminationGracePeriodSeconds: 0,
  securityContext: {runAsNonRoot: true, seccompProfile: {type: RuntimeDefault}},
  containers: [{name: c, image: IMAGE, args: [serve, ":9000"],
    securityContext: {allowPrivilegeEscalation: false, capabilities: {drop: [ALL]}},
    volumeMounts: [{name: other, mountPath: /other}]}],
  volumes: [{name: other, image: {reference: "lockstep.test/jobset:v0.12.0", pullPolicy: IfNotPresent}}]`

const denyAll = `
apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata: {name: deny, namespace: e2e}
spec: {podSelector: {matchLabels: {app: web}}, policyTypes: [Ingress]}
`

const allowFriend = `
apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata: {name: allow, namespace: e2e}
spec:
  podSelector: {matchLabels: {app: web}}
  ingress: [{from: [{podSelector: {matchLabels: {app: friend}}}], ports: [{port: 8080}]}]
`

const jobSet = `
apiVersion: jobset.x-k8s.io/v1alpha2
kind: JobSet
metadata: {name: two, namespace: default}
spec:
  replicatedJobs:
  - {name: left, template: JOB}
  - {name: right, template: JOB}
`

const job = `{spec: {parallelism: 2, completions: 2, backoffLimit: 0, template: {spec: {restartPolicy: Never,
      containers: [{name: c, image: IMAGE, args: [read, /var/run/secrets/kubernetes.io/serviceaccount/token]}]}}}}`

func manifest(text string) string {
	return strings.NewReplacer("IMAGE", probeImage).Replace(strings.NewReplacer("POD", pod, "JOB", job).Replace(text))
}

func TestWorkloads(t *testing.T) {
	c := newCluster(t)
	c.must(t, "down")
	c.must(t, "up", "--wait")
	image := probe(t)
	c.must(t, "load", image)
	if _, stderr, _ := c.run(t, "load", image); !strings.Contains(stderr, "2 of 2 were there already") {
		t.Errorf("a second load did not skip what is there:\n%s", stderr)
	}
	c.mustKubectl(t, manifest(pods), "apply", "-f", "-")
	c.mustKubectl(t, "", "-n", "e2e", "rollout", "status", "deployment/web", "--timeout=60s")
	c.mustKubectl(t, "", "-n", "e2e", "wait", "--for=condition=Ready", "pod", "--all", "--timeout=60s")

	from := func(pod string, args ...string) (string, error) {
		return c.kubectl(t, "", append([]string{"-n", "e2e", "exec", pod, "--", "/probe"}, args...)...)
	}
	reaches := func(pod string) bool {
		_, err := from(pod, "get", "http://web.e2e.svc.cluster.local")
		return err == nil
	}

	t.Run("services and DNS across nodes", func(t *testing.T) {
		answers := map[string]bool{}
		eventually(t, "both replicas answered both pods", func() bool {
			for _, pod := range []string{"friend", "stranger"} {
				out, err := from(pod, "get", "http://web")
				answers[pod+strings.TrimSpace(out)] = err == nil
			}
			return len(answers) >= 4 && answeredAll(answers)
		})
	})
	t.Run("names outside do not exist", func(t *testing.T) {
		if out, err := from("friend", "get", "http://example.com"); err == nil || !strings.Contains(out, "no such host") {
			t.Errorf("got %v, want NXDOMAIN\n%s", err, out)
		}
	})
	t.Run("image volumes", func(t *testing.T) {
		if out, err := from("friend", "read", "/other/manager"); err != nil || len(strings.TrimSpace(out)) < 8 {
			t.Errorf("the mounted image is not there: %v\n%s", err, out)
		}
	})
	t.Run("network policies", func(t *testing.T) {
		c.mustKubectl(t, denyAll, "apply", "-f", "-")
		eventually(t, "deny", func() bool { return !reaches("friend") && !reaches("stranger") })
		c.mustKubectl(t, allowFriend, "apply", "-f", "-")
		eventually(t, "allow", func() bool { return reaches("friend") })
		if reaches("stranger") {
			t.Error("a pod that no policy allows gets through")
		}
	})
	t.Run("JobSet", func(t *testing.T) {
		c.mustKubectl(t, manifest(jobSet), "apply", "-f", "-")
		c.mustKubectl(t, "", "wait", "--for=condition=Completed", "jobset/two", "--timeout=60s")
	})
	c.must(t, "down")
}

func answeredAll(answers map[string]bool) bool {
	for _, ok := range answers {
		if !ok {
			return false
		}
	}
	return true
}
