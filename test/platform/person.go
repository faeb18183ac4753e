package platform

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"time"

	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"k8s.io/utils/ptr"
)

// EditorKubeconfig writes the client configuration of the person that Editor is, for programs that cannot impersonate.
func (p *Platform) EditorKubeconfig(ctx context.Context, tenant, path string) error {
	return p.PersonKubeconfig(ctx, editorName, editorsOf(tenant), tenant, path)
}

// PersonKubeconfig writes the client configuration of a member of a group, with a certificate that the cluster signs for a day.
func (p *Platform) PersonKubeconfig(ctx context.Context, person, group, namespace, path string) error {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return fmt.Errorf("generate a key: %w", err)
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return fmt.Errorf("encode a key: %w", err)
	}
	request, err := x509.CreateCertificateRequest(rand.Reader, &x509.CertificateRequest{
		Subject: pkix.Name{CommonName: person, Organization: []string{group}},
	}, key)
	if err != nil {
		return fmt.Errorf("make a certificate request: %w", err)
	}
	certificate, err := p.sign(ctx, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE REQUEST", Bytes: request}))
	if err != nil {
		return fmt.Errorf("have the cluster sign a certificate: %w", err)
	}
	const name = "tests"
	config := clientcmdapi.Config{
		Clusters: map[string]*clientcmdapi.Cluster{name: {
			Server: p.Config.Host, CertificateAuthority: p.Config.CAFile, CertificateAuthorityData: p.Config.CAData, InsecureSkipTLSVerify: p.Config.Insecure,
		}},
		AuthInfos: map[string]*clientcmdapi.AuthInfo{name: {
			ClientCertificateData: certificate, ClientKeyData: pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private}),
		}},
		Contexts:       map[string]*clientcmdapi.Context{name: {Cluster: name, AuthInfo: name, Namespace: namespace}},
		CurrentContext: name,
	}
	if err := clientcmd.WriteToFile(config, path); err != nil {
		return fmt.Errorf("write the client configuration: %w", err)
	}
	return nil
}

// sign has the cluster sign a request, which the admin approves.
func (p *Platform) sign(ctx context.Context, request []byte) ([]byte, error) {
	admin, err := kubernetes.NewForConfig(p.Config)
	if err != nil {
		return nil, err
	}
	requests := admin.CertificatesV1().CertificateSigningRequests()
	csr, err := requests.Create(ctx, &certificatesv1.CertificateSigningRequest{
		ObjectMeta: metav1.ObjectMeta{GenerateName: "lockstep-tests-"},
		Spec: certificatesv1.CertificateSigningRequestSpec{
			Request: request, SignerName: certificatesv1.KubeAPIServerClientSignerName,
			Usages: []certificatesv1.KeyUsage{certificatesv1.UsageClientAuth}, ExpirationSeconds: ptr.To[int32](24 * 3600),
		},
	}, metav1.CreateOptions{})
	if err != nil {
		return nil, err
	}
	csr.Status.Conditions = []certificatesv1.CertificateSigningRequestCondition{{Type: certificatesv1.CertificateApproved, Status: corev1.ConditionTrue, Reason: "Test"}}
	if _, err := requests.UpdateApproval(ctx, csr.Name, csr, metav1.UpdateOptions{}); err != nil {
		return nil, err
	}
	err = wait.PollUntilContextTimeout(ctx, 200*time.Millisecond, ScaleTimeout(30*time.Second), true, func(ctx context.Context) (bool, error) {
		csr, err = requests.Get(ctx, csr.Name, metav1.GetOptions{})
		return err == nil && len(csr.Status.Certificate) > 0, err
	})
	return csr.Status.Certificate, errors.Join(err, requests.Delete(ctx, csr.Name, metav1.DeleteOptions{}))
}
