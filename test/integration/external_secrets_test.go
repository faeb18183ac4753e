package integration

import (
	"encoding/base64"
	"os"
	"os/exec"
	"path/filepath"
	"testing/fstest"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apiextensions "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"
)

// externalSecretsVariable names a checkout of External Secrets Operator v1.3.2 with its program, external-secrets, by
// `go build -tags kubernetes .`. Its nested modules are not served by the module proxy.
const externalSecretsVariable = "LOCKSTEP_EXTERNAL_SECRETS"

var _ = Describe("External Secrets Operator", Label("external-secrets"), func() {
	It("writes the Secret that a tenant names, from its store", func(ctx SpecContext) {
		source := os.Getenv(externalSecretsVariable)
		if source == "" {
			Skip("SKIPPED: this needs External Secrets Operator: set " + externalSecretsVariable +
				" to a checkout of v1.3.2 with the program of `go build -tags kubernetes .`")
		}
		files, err := filepath.Glob(filepath.Join(source, "config/crds/bases/*_*.yaml"))
		Expect(err).NotTo(HaveOccurred())
		var kinds []*apiextensions.CustomResourceDefinition
		for _, file := range files {
			text, err := os.ReadFile(file)
			Expect(err).NotTo(HaveOccurred())
			crd := &apiextensions.CustomResourceDefinition{}
			Expect(yaml.Unmarshal(text, crd)).To(Succeed())
			kinds = append(kinds, crd)
		}
		installKinds(kinds)
		for _, namespace := range []string{"vision", "safe", "external-secrets"} {
			ensureNamespace(ctx, namespace)
		}
		keep(ctx, "safe", "bucket-of-vision", "AWS_SECRET_ACCESS_KEY", "from the store")
		keep(ctx, "external-secrets", "client", "key", string(environment.Config.KeyData))
		keep(ctx, "external-secrets", "certificate", "crt", string(environment.Config.CertData))
		Expect(admin.Create(ctx, unstructuredOf(map[string]any{
			"apiVersion": "external-secrets.io/v1", "kind": "ClusterSecretStore", "metadata": map[string]any{"name": "vault"},
			"spec": map[string]any{"provider": map[string]any{"kubernetes": map[string]any{
				"remoteNamespace": "safe",
				"server": map[string]any{
					"url": environment.Config.Host, "caBundle": base64.StdEncoding.EncodeToString(environment.Config.CAData),
				},
				"auth": map[string]any{"cert": map[string]any{
					"clientCert": map[string]any{"name": "certificate", "key": "crt", "namespace": "external-secrets"},
					"clientKey":  map[string]any{"name": "client", "key": "key", "namespace": "external-secrets"},
				}},
			}}},
		}))).To(Succeed())
		operator := exec.Command(filepath.Join(source, "external-secrets"), //nolint:gosec // the caller names it
			"--metrics-addr=127.0.0.1:0", "--live-addr=127.0.0.1:0", "--enable-push-secret-reconciler=false",
			"--enable-cluster-push-secret-reconciler=false", "--enable-cluster-external-secret-reconciler=false")
		operator.Env = append(os.Environ(), "KUBECONFIG="+adminConfig(GinkgoT().TempDir()))
		runUntilOver(operator, GinkgoWriter)

		asked := time.Now()
		for _, object := range decodeFiles(compiledBase("\n  secretStores: [vault]\n", func(files fstest.MapFS) {
			tenant := files["tenants/vision.yaml"]
			tenant.Data = append(tenant.Data, "\n  secrets: [{name: bucket, store: vault, key: bucket-of-vision}]\n"...)
		})) {
			if object.GetKind() == "ExternalSecret" {
				Expect(client.WithFieldValidation(admin, "Strict").Create(ctx, object)).To(Succeed())
			}
		}
		made := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "vision", Name: "bucket"}}
		Eventually(func() error {
			return admin.Get(ctx, client.ObjectKeyFromObject(made), made)
		}).WithTimeout(time.Minute).Should(Succeed())
		AddReportEntry("from the ExternalSecret to its Secret", time.Since(asked).Round(100*time.Millisecond).String())
		Expect(made.Data).To(HaveKeyWithValue("AWS_SECRET_ACCESS_KEY", []byte("from the store")))
		Expect(made.Type).To(Equal(corev1.SecretTypeOpaque))
	})
})
