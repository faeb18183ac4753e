package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"sigs.k8s.io/controller-runtime/pkg/client"

	trainer "lockstep.dev/lockstep/api/trainer/v1alpha1"
	"lockstep.dev/lockstep/pkg/mpi/diagnose"
	mpijob "lockstep.dev/lockstep/pkg/mpi/job"
	"lockstep.dev/lockstep/pkg/mpi/job/status"
)

// failing is a program of a user whose job fails. It prints what he is told.
const failing = `
import json
from lockstep import JobFailed, MPIClient, MPITrainer

client = MPIClient()
trainer = MPITrainer(nodes=2, slots=2, command=["mpirun", "mpi-hello", "--exit-rank", "2", "--exit-code", "7"])
name = client.train(runtime="openmpi5-cpu", trainer=trainer)
try:
    client.wait(name, timeout=120)
except JobFailed as failed:
    assert failed.cause == client.diagnose(name)
    print(json.dumps({"name": name, "reason": failed.cause.reason, "text": failed.cause.text}))
`

// snippet is the program in the README of the package.
func snippet() string {
	GinkgoHelper()
	readme, err := os.ReadFile("../../python/README.md")
	Expect(err).NotTo(HaveOccurred())
	found := regexp.MustCompile("(?s)```python\n(.*?)```").FindSubmatch(readme)
	Expect(found).NotTo(BeNil())
	return string(found[1])
}

// output runs a program and returns what it prints.
func output(command *exec.Cmd, environment ...string) string {
	GinkgoHelper()
	command.Env = append(command.Environ(), environment...)
	out, err := command.Output()
	Expect(err).NotTo(HaveOccurred(), "%s%s", out, stderrOf(err))
	return strings.TrimSpace(string(out))
}

// installedPackage builds the wheel and installs it, and returns its folder, those of Kubeflow's SDK and of the tools for tests.
func installedPackage(ctx context.Context) (installed, sdk, tools string) {
	GinkgoHelper()
	folder := GinkgoT().TempDir()
	sdk = output(exec.CommandContext(ctx, filepath.Join("..", "suite", "kubeflow")))
	tools = output(exec.CommandContext(ctx, filepath.Join("..", "suite", "packages"), "python-tools", "python/requirements.txt"))
	build := exec.CommandContext(ctx, "python3", "-m", "hatchling", "build", "-t", "wheel", "-d", folder)
	build.Dir = filepath.Join("..", "..", "python")
	output(build, "PYTHONPATH="+tools)
	wheels, err := filepath.Glob(filepath.Join(folder, "*.whl"))
	Expect(err).NotTo(HaveOccurred())
	Expect(wheels).To(HaveLen(1))
	installed = filepath.Join(folder, "installed")
	output(exec.CommandContext(ctx, "python3", "-m", "pip", "install", "--quiet", "--no-index", "--no-deps", "--target", installed, wheels[0])) //nolint:gosec // what was built here
	return installed, sdk, tools
}

// packaged returns how the tenant's editor runs python3 with the package.
func packaged(ctx context.Context) func(arguments ...string) string {
	GinkgoHelper()
	installed, sdk, tools := installedPackage(ctx)
	folder := GinkgoT().TempDir()
	config := filepath.Join(folder, "kubeconfig")
	Expect(cluster.EditorKubeconfig(ctx, tenant, config)).To(Succeed())
	return func(arguments ...string) string {
		GinkgoHelper()
		return output(exec.CommandContext(ctx, "python3", arguments...), "PYTHONPATH="+strings.Join([]string{installed, sdk, tools}, ":"), "KUBECONFIG="+config, "IPYTHONDIR="+folder) //nolint:gosec // programs of this file and of the README
	}
}

// onlyWhenMeasured skips what takes minutes and is run for docs/benchmarks.md.
func onlyWhenMeasured() {
	if os.Getenv("LOCKSTEP_MEASURE") == "" {
		Skip("it takes minutes: set LOCKSTEP_MEASURE=1")
	}
}

// expectEveryLine expects of what survive.py printed that each reader read all numbers once.
func expectEveryLine(printed string) {
	GinkgoHelper()
	var seen struct {
		Logs, Merged, Again []int
		Phase               string
		Expected            int
		Errors              []string
	}
	Expect(json.Unmarshal([]byte(printed), &seen)).To(Succeed())
	fmt.Fprintln(lines, "lines that were read when API server, kubelet and API server ran again:", seen.Again, "by each reader at the end:", len(seen.Logs), len(seen.Merged))
	Expect(seen.Errors).To(BeEmpty())
	Expect(seen.Phase).To(Equal("Complete"))
	Expect(seen.Again).To(HaveEach(BeNumerically("<", seen.Expected)), "the job still printed when each ran again")
	for _, numbers := range [][]int{seen.Logs, seen.Merged} {
		Expect(numbers).To(HaveLen(seen.Expected))
		for i, n := range numbers {
			Expect(n).To(Equal(i))
		}
	}
}

// robot is a service account with an editor's rights: the kubeconfig of its token, and the command that ends this token and writes another one there. A
// token is good for as long as the Secret that it is bound to.
func robot(ctx SpecContext) (config, expire string) {
	GinkgoHelper()
	account := &corev1.ServiceAccount{ObjectMeta: owned("robot", tenant)}
	made := []client.Object{account}
	bindings := &rbacv1.RoleBindingList{}
	Expect(admin.Client.List(ctx, bindings, client.InNamespace(tenant))).To(Succeed())
	for _, b := range bindings.Items {
		if slices.ContainsFunc(b.Subjects, func(s rbacv1.Subject) bool { return s.Name == tenant+"-editors" }) {
			subject := rbacv1.Subject{Kind: rbacv1.ServiceAccountKind, Name: account.Name, Namespace: tenant}
			made = append(made, &rbacv1.RoleBinding{ObjectMeta: owned("robot-"+b.Name, tenant), RoleRef: b.RoleRef, Subjects: []rbacv1.Subject{subject}})
		}
	}
	var configs []string
	for _, name := range []string{"first-token", "second-token"} {
		made = append(made, &corev1.Secret{ObjectMeta: owned(name, tenant)})
		configs = append(configs, filepath.Join(GinkgoT().TempDir(), name))
	}
	for _, object := range made {
		Expect(admin.Client.Create(ctx, object)).To(Succeed())
		DeferCleanup(func(ctx SpecContext) { Expect(client.IgnoreNotFound(admin.Client.Delete(ctx, object))).To(Succeed()) })
	}
	for i, secret := range made[len(made)-2:] {
		request := &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{BoundObjectRef: &authenticationv1.BoundObjectReference{
			Kind: "Secret", APIVersion: "v1", Name: secret.GetName(), UID: secret.GetUID(),
		}}}
		token, err := admin.Logs.CoreV1().ServiceAccounts(tenant).CreateToken(ctx, account.Name, request, metav1.CreateOptions{})
		Expect(err).NotTo(HaveOccurred())
		Expect(cluster.EditorKubeconfig(ctx, tenant, configs[i])).To(Succeed())
		written, err := clientcmd.LoadFromFile(configs[i])
		Expect(err).NotTo(HaveOccurred())
		for _, user := range written.AuthInfos {
			*user = clientcmdapi.AuthInfo{Token: token.Status.Token}
		}
		Expect(clientcmd.WriteToFile(*written, configs[i])).To(Succeed())
	}
	return configs[0], fmt.Sprintf("%s --kubeconfig %s --namespace %s delete secret first-token && cp %s %s", cluster.Kubectl, cluster.Kubeconfig, tenant, configs[1], configs[0])
}

// expectTrained runs the program of the README, which trains a model on four ranks and cleans up.
func expectTrained(run func(...string) string) {
	GinkgoHelper()
	file := filepath.Join(GinkgoT().TempDir(), "snippet.py") // a function travels by its source
	Expect(os.WriteFile(file, []byte(snippet()), 0o600)).To(Succeed())
	said := run(file)
	Expect(said).To(ContainSubstring("Complete"))
	for rank := range 4 {
		Expect(said).To(MatchRegexp(`rank %d weight (?:2\.99999|3\.0)\S* loss \S+e-`, rank))
	}
}

var _ = Describe("The Python package", func() {
	It("runs the program of its README, and raises what the condition of a failed job says", func(ctx SpecContext) {
		run := packaged(ctx)
		expectTrained(run)

		var told struct{ Name, Reason, Text string }
		Expect(json.Unmarshal([]byte(run("-c", failing)), &told)).To(Succeed())
		var failed trainer.TrainJob
		Expect(admin.Client.Get(ctx, types.NamespacedName{Namespace: tenant, Name: told.Name}, &failed)).To(Succeed())
		conditions := status.AllConditions(&failed)
		condition := meta.FindStatusCondition(conditions, mpijob.Diagnosed) // a companion's
		if condition == nil {
			condition = meta.FindStatusCondition(conditions, trainer.TrainJobFailed)
		}
		Expect(condition).NotTo(BeNil())
		Expect([]string{told.Reason, told.Text}).To(Equal([]string{condition.Reason, condition.Message}))
	})

	It("runs functions as ranks, and raises what a rank raised", func(ctx SpecContext) {
		run := packaged(ctx)
		var seen map[string]struct {
			Phase, Reason, Raised, Traceback string
			Rank                             *int
			Log                              []string
		}
		Expect(json.Unmarshal([]byte(run(append([]string{filepath.Join("kubeflow", "function.py")}, runtimes...)...)), &seen)).To(Succeed())
		for _, runtime := range runtimes {
			By(runtime)
			said := seen[runtime]
			Expect(said.Phase).To(Equal("Complete"))
			for rank := range 4 {
				Expect(said.Log).To(ContainElement(fmt.Sprintf("rank %d of 4 pays $(HOME) and $$", rank)))
			}
			Expect(said.Reason).To(Equal(string(diagnose.PythonException)))
			Expect(said.Rank).To(HaveValue(Equal(2)))
			Expect(said.Raised).To(Equal("ValueError"))
			Expect(said.Traceback).To(ContainSubstring(`raise ValueError("bad label")`))
		}
	})

	It("tells thirty faults in the words of their conditions", func(ctx SpecContext) {
		onlyWhenMeasured()
		var told map[string]struct {
			Reason, Text, Error string
			TrainJob            trainer.TrainJob
		}
		Expect(json.Unmarshal([]byte(packaged(ctx)(append([]string{filepath.Join("kubeflow", "faults.py")}, runtimes...)...)), &told)).To(Succeed())
		Expect(len(told)).To(BeNumerically(">=", 30))
		reasons := map[string]int{}
		for name, said := range told {
			Expect(said.Error).To(BeEmpty(), name)
			Expect(status.AllConditions(&said.TrainJob)).To(ContainElement(And(HaveField("Reason", said.Reason), HaveField("Message", said.Text))), name)
			reasons[said.Reason]++
		}
		fmt.Fprintln(lines, "faults that were told, by reason:", reasons)
	})

	It("reads every line once while a kubelet and the API server are started again", Serial, func(ctx SpecContext) {
		onlyWhenMeasured()
		expectEveryLine(packaged(ctx)(filepath.Join("kubeflow", "survive.py"), "openmpi5-cpu", "../../build/bin/cluster"))
	})

	It("reads every line once while a kubelet and the API server are killed, and its token expires", Serial, func(ctx SpecContext) {
		onlyWhenMeasured()
		config, expire := robot(ctx)
		expectEveryLine(packaged(ctx)(filepath.Join("kubeflow", "survive.py"), "openmpi5-cpu", "../../build/bin/cluster", config, expire))
	})

	It("does in fewer lines what others do", Serial, func(ctx SpecContext) {
		onlyWhenMeasured()
		run := packaged(ctx)
		for _, program := range []string{"with_lockstep.py", "with_kubeflow.py", "with_kubernetes.py"} {
			began := time.Now()
			said := run(filepath.Join("..", "bench", "python", program))
			_, failure, _ := strings.Cut(said, "TOLD ")
			fmt.Fprintf(lines, "%s: %.1f s, told: %q, ranks in the log: %d\n", program, time.Since(began).Seconds(), failure, strings.Count(said, "rank="))
		}
	})

	// The first one needs PyTorch and is in the suite of frameworks.
	It("runs the notebook of its guide that needs Python alone", func(ctx SpecContext) {
		run := packaged(ctx)
		folder := filepath.Join("..", "..", "docs", "guide", "notebooks")
		out := run(filepath.Join("kubeflow", "notebook.py"), filepath.Join(folder, "sweep.ipynb"))
		Expect(out).To(ContainSubstring("the best learning rate is 0.3"))
	})
})
