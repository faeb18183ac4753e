package mpioperator

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"lockstep.dev/lockstep/pkg/mpi"
	"lockstep.dev/lockstep/test/testjob"
)

// rounds is how often each side runs the example.
const rounds = 5

// newest is the image with Open MPI 5.
const newest = "mpioperator/mpi-pi:openmpi5"

// side is one of the two that run the example.
type side struct {
	name, namespace string
	user            testjob.User
	// launcher selects the pods of the launcher of a job.
	launcher func(job string) client.MatchingLabels
	// succeeded is the condition of a job that did its work.
	succeeded string
}

var (
	operator = side{"mpi-operator 0.8.0", before, testjob.User{}, func(job string) client.MatchingLabels {
		return client.MatchingLabels{"training.kubeflow.org/job-name": job, "training.kubeflow.org/job-role": "launcher"}
	}, "Succeeded"}
	ours = side{"Lockstep", tenant, testjob.User{}, func(job string) client.MatchingLabels {
		return client.MatchingLabels{mpi.JobSetNameLabel: job, mpi.ReplicatedJobLabel: mpi.LauncherJob}
	}, "Complete"}
)

// outcome is what a run of the example came to.
type outcome struct {
	complete time.Duration
	// launchers is how many pods of the launcher there were: the last one did it.
	launchers int
	log       string
}

var (
	answers = regexp.MustCompile(`pi is approximately [0-9.]+`)
	hosts   = regexp.MustCompile(`Rank [0-9]+ on host (\S+)`)
)

// hosts returns the pods that ranks ran in.
func (o outcome) hosts() []string {
	var names []string
	for _, found := range hosts.FindAllStringSubmatch(o.log, -1) {
		names = append(names, found[1])
	}
	slices.Sort(names)
	return slices.Compact(names)
}

var _ = Describe("mpi-operator's pi example", Ordered, func() {
	var mpiJob, trainJob, mpiJob5, trainJob5 []byte

	BeforeAll(func(ctx SpecContext) {
		operator.user, ours.user = admin, editor
		text, err := os.ReadFile(filepath.Join(example, "pi.yaml"))
		Expect(err).NotTo(HaveOccurred())
		mpiJob, mpiJob5 = text, bytes.ReplaceAll(text, []byte("mpioperator/mpi-pi:openmpi"), []byte(newest))
		file5 := filepath.Join(GinkgoT().TempDir(), "pi5.yaml")
		Expect(os.WriteFile(file5, bytes.ReplaceAll(mpiJob5, []byte("name: pi\n"), []byte("name: pi-five\n")), 0o600)).To(Succeed())

		bundle := bundle()
		file := filepath.Join(example, "pi.yaml")
		trainJob = []byte(convert(ctx, "-f", file, "--catalog", bundle, "--specs", bundle, "-o", "yaml"))
		trainJob5 = []byte(convert(ctx, "-f", file5, "--mpi-version", "5.0", "--catalog", bundle, "--specs", bundle, "-o", "yaml"))
		admit(ctx, bundle, "openmpi4-pi", "openmpi5-pi-five")
		Expect(string(trainJob)).To(Equal(convert(ctx, "-f", file, "--catalog", bundle, "--check", "-o", "yaml")), "with the runtime in the catalog nothing needs hands")
	})

	It("gives the same answer under mpi-operator and, converted, under our controller", func(ctx SpecContext) {
		var theirs, own []outcome
		for round := range rounds {
			theirs = append(theirs, operator.run(ctx, mpiJob, fmt.Sprint("pi-", round)))
			own = append(own, ours.run(ctx, trainJob, fmt.Sprint("pi-", round)))
		}
		answer := answers.FindString(theirs[0].log)
		Expect(answer).NotTo(BeEmpty())
		for _, o := range slices.Concat(theirs, own) {
			Expect(answers.FindString(o.log)).To(Equal(answer))
			Expect(o.hosts()).To(HaveLen(2), "each rank on a worker of its own")
		}
		measured(answer + ", seconds from submit to the end: median (range), launchers started\n" + table(operator, theirs) + table(ours, own))
	}, SpecTimeout(10*time.Minute))

	It("runs on all nodes with an image of Open MPI 5, as the Dockerfiles of mpi-operator 0.8.0 make it", func(ctx SpecContext) {
		theirs, own := operator.run(ctx, mpiJob5, "pi-five"), ours.run(ctx, trainJob5, "pi-five")
		Expect(own.hosts()).To(HaveLen(2))
		Expect(answers.FindString(own.log)).NotTo(BeEmpty())
		measured(fmt.Sprintf("with Open MPI 5\n| %s | ranks in %v |\n| %s | ranks in %v |\n", operator.name, theirs.hosts(), ours.name, own.hosts()))
	})

	It("is found in the cluster, and converted there as from its file", func(ctx SpecContext) {
		found := operator.create(ctx, mpiJob, "left")
		counted := convert(ctx, "--from-cluster", "-A")
		Expect(counted).To(MatchRegexp(before + ` +1 `))
		of := func(text string) map[string]any {
			job := decode([]byte(text))
			spec, _, err := unstructured.NestedMap(job.Object, "spec")
			Expect(err).NotTo(HaveOccurred())
			return spec
		}
		file := filepath.Join(GinkgoT().TempDir(), "left.yaml")
		Expect(os.WriteFile(file, bytes.Replace(mpiJob, []byte("name: pi\n"), []byte("name: left\n  namespace: "+before+"\n"), 1), 0o600)).To(Succeed())
		fromCluster := convert(ctx, "--from-cluster", "--namespace", before, "-o", "yaml")
		Expect(of(fromCluster)).To(Equal(of(convert(ctx, "-f", file, "-o", "yaml"))), "what the cluster fills in changes nothing")
		operator.remove(ctx, found)
	})
})

// bundle returns a copy of the specs of this repository, which the test changes.
func bundle() string {
	GinkgoHelper()
	root := GinkgoT().TempDir()
	for _, folder := range []string{"catalog", "tenants", "overlays", "charts"} {
		Expect(os.CopyFS(filepath.Join(root, folder), os.DirFS(filepath.Join(tools.Root, folder)))).To(Succeed())
	}
	return root
}

// admit lets the tenant use runtimes of the bundle, and applies what is compiled of it, as the platform team does.
func admit(ctx context.Context, bundle string, runtimes ...string) {
	GinkgoHelper()
	spec := filepath.Join(bundle, "tenants", tenant+".yaml")
	text, err := os.ReadFile(spec)
	Expect(err).NotTo(HaveOccurred())
	text = bytes.Replace(text, []byte("runtimes: ["), []byte("runtimes: ["+strings.Join(runtimes, ", ")+", "), 1)
	Expect(os.WriteFile(spec, text, 0o600)).To(Succeed())
	dist := filepath.Join(bundle, "dist")
	run(ctx, tools.Compiler, "build", "--root", bundle, "--cluster", "local", "--out", dist)
	run(ctx, cluster.Kubectl, "--kubeconfig", cluster.Kubeconfig, "apply", "--server-side", "--force-conflicts", "-k", filepath.Join(dist, "local"))
}

func decode(text []byte) *unstructured.Unstructured {
	GinkgoHelper()
	object := &unstructured.Unstructured{}
	Expect(yaml.Unmarshal(text, object)).To(Succeed())
	return object
}

// create makes the example under another name: again, until the API server has heard which runtimes the tenant may use.
func (s side) create(ctx context.Context, text []byte, name string) *unstructured.Unstructured {
	GinkgoHelper()
	object := decode(text)
	object.SetName(name)
	object.SetNamespace(s.namespace)
	Eventually(func() error { return s.user.Client.Create(ctx, object) }).Should(Succeed())
	return object
}

// run runs the example to its end and removes it.
func (s side) run(ctx context.Context, text []byte, name string) outcome {
	GinkgoHelper()
	object := s.create(ctx, text, name)
	since := time.Now()
	var o outcome
	Eventually(func(g Gomega) {
		g.Expect(s.user.Client.Get(ctx, client.ObjectKeyFromObject(object), object)).To(Succeed())
		conditions := conditionsOf(object)
		Expect(conditions["Failed"]).NotTo(Equal("True"), "%s of %s has failed", name, s.name)
		g.Expect(conditions[s.succeeded]).To(Equal("True"))
	}).Should(Succeed())
	o.complete = time.Since(since)
	o.log, o.launchers = s.logOf(ctx, name)
	s.remove(ctx, object)
	return o
}

func conditionsOf(object *unstructured.Unstructured) map[string]string {
	list, _, _ := unstructured.NestedSlice(object.Object, "status", "conditions")
	conditions := map[string]string{}
	for _, item := range list {
		kind, _, _ := unstructured.NestedString(item.(map[string]any), "type")
		conditions[kind], _, _ = unstructured.NestedString(item.(map[string]any), "status")
	}
	return conditions
}

// logOf returns what the launcher that did not fail has printed, and how many launchers there were. Kubelet may tell its end after ours
// is told: the agent says it first.
func (s side) logOf(ctx context.Context, job string) (log string, launchers int) {
	GinkgoHelper()
	pods := &corev1.PodList{}
	Expect(s.user.Client.List(ctx, pods, client.InNamespace(s.namespace), s.launcher(job))).To(Succeed())
	for _, pod := range pods.Items {
		if pod.Status.Phase != corev1.PodFailed {
			text, err := s.user.Logs.CoreV1().Pods(s.namespace).GetLogs(pod.Name, &corev1.PodLogOptions{}).DoRaw(ctx)
			Expect(err).NotTo(HaveOccurred())
			log = string(text)
		}
	}
	GinkgoWriter.Printf("%s %s:\n%s\n", s.name, job, log)
	return log, len(pods.Items)
}

// remove deletes a job and returns when its pods are gone, so that the next one has the machines for itself.
func (s side) remove(ctx context.Context, object *unstructured.Unstructured) {
	GinkgoHelper()
	Expect(s.user.Client.Delete(ctx, object, client.PropagationPolicy("Background"))).To(Succeed())
	Eventually(func() ([]corev1.Pod, error) {
		pods := &corev1.PodList{}
		err := admin.Client.List(ctx, pods, client.InNamespace(s.namespace))
		return pods.Items, err
	}).Should(BeEmpty())
}

// measured adds to the report of the run.
func measured(text string) {
	GinkgoHelper()
	file, err := os.OpenFile(os.Getenv("LOCKSTEP_MPI_OPERATOR_REPORT"), os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
	Expect(err).NotTo(HaveOccurred())
	defer file.Close()
	_, err = file.WriteString(text)
	Expect(err).NotTo(HaveOccurred())
}

// table is the line of one side: seconds from submit to the end, the median first.
func table(s side, runs []outcome) string {
	var complete []time.Duration
	launchers := 0
	for _, o := range runs {
		complete, launchers = append(complete, o.complete), launchers+o.launchers
	}
	return fmt.Sprintf("| %s | %s | %d |\n", s.name, seconds(complete), launchers)
}

func seconds(all []time.Duration) string {
	slices.Sort(all)
	return fmt.Sprintf("%.1f (%.1f–%.1f)", all[len(all)/2].Seconds(), all[0].Seconds(), all[len(all)-1].Seconds())
}
