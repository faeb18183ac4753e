package gitops

import (
	"context"
	"os"
	"path/filepath"

	"github.com/alicebob/miniredis/v2"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// startArgoCD starts the parts of Argo CD that apply, with their defaults: its application controller and its repository server. Redis, which
// is a cache to them, is a library of Argo CD's own tests. The server for people, which only passes webhooks on here, is not there.
func startArgoCD(ctx context.Context, repository string) {
	GinkgoHelper()
	Expect(admin.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "argocd"}})).To(Succeed())
	kubectl := filepath.Join(programs["KUBEBUILDER_ASSETS"], "kubectl")
	for _, kind := range []string{"application", "appproject", "applicationset"} {
		run(kubectl, "create", "-f", filepath.Join(programs["ARGOCD_MODULE"], "manifests/crds", kind+"-crd.yaml"))
	}
	run(kubectl, "apply", "--namespace", "argocd", "-k", filepath.Join(programs["ARGOCD_MODULE"], "manifests/base/config"))
	run(kubectl, "config", "set-context", "--current", "--namespace", "argocd")
	register(ctx, "platform", repository)

	redis := miniredis.NewMiniRedis()
	Expect(redis.StartAddr("127.0.0.1:0")).To(Succeed())
	DeferCleanup(redis.Close)
	dir := GinkgoT().TempDir()
	for _, folder := range []string{"tls", "ssh", "gnupg", "plugins"} {
		Expect(os.Mkdir(filepath.Join(dir, folder), 0o700)).To(Succeed())
	}
	Expect(os.WriteFile(filepath.Join(dir, "ssh/ssh_known_hosts"), nil, 0o600)).To(Succeed())
	environment := []string{
		"ARGOCD_TLS_DATA_PATH=" + dir + "/tls", "ARGOCD_SSH_DATA_PATH=" + dir + "/ssh", "ARGOCD_GNUPGHOME=" + dir + "/gnupg",
		"ARGOCD_PLUGINSOCKFILEPATH=" + dir + "/plugins", "ARGOCD_GPG_ENABLED=false", "HOME=" + dir,
		"PATH=" + filepath.Dir(programs["KUSTOMIZE"]) + ":" + os.Getenv("PATH"), // it renders by kustomize's own program
		"ARGOCD_FAKE_IN_CLUSTER=true",                                           // the cluster that Argo CD runs on is that of the kubeconfig
	}
	start("ARGOCD", append(environment, "ARGOCD_BINARY_NAME=argocd-repo-server"), "--disable-tls", "--redis="+redis.Addr())
	start("ARGOCD", append(environment, "ARGOCD_BINARY_NAME=argocd-application-controller"), "--repo-server=127.0.0.1:8081", "--repo-server-plaintext", "--redis="+redis.Addr())
}

// register makes a repository known to Argo CD, which does not trust the certificate of the test's server.
func register(ctx context.Context, name, repository string) {
	GinkgoHelper()
	Expect(admin.Create(ctx, &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: "argocd", Name: name, Labels: map[string]string{"argocd.argoproj.io/secret-type": "repository"}},
		StringData: map[string]string{"type": "git", "url": repository, "insecure": "true"},
	})).To(Succeed())
}
