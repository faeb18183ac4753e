package webhook

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	admissionv1 "k8s.io/api/admission/v1"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/webhook"

	trainer "lockstep.dev/lockstep/api/trainer/v1alpha1"
	"lockstep.dev/lockstep/test/fakecluster"
)

// asking is a cluster in which the API server asks replicas of a companion.
type asking struct {
	t *testing.T
	client.Client
}

func newAsking(t *testing.T, asks admissionregistrationv1.WebhookClientConfig) asking {
	t.Helper()
	return asking{t, fake.NewClientBuilder().WithObjects(&admissionregistrationv1.MutatingWebhookConfiguration{
		ObjectMeta: metav1.ObjectMeta{Name: webhookName},
		Webhooks:   []admissionregistrationv1.MutatingWebhook{{Name: "propagate", ClientConfig: asks}},
	}).Build()}
}

// service is what the chart says: where, and not under which path.
func service() admissionregistrationv1.WebhookClientConfig {
	return admissionregistrationv1.WebhookClientConfig{Service: &admissionregistrationv1.ServiceReference{Namespace: "lockstep", Name: webhookName}}
}

func (a asking) replica() *Certificate {
	return &Certificate{Live: a.Client, Client: a.Client, Namespace: "lockstep", Now: time.Now, Keys: &Keyring{Now: time.Now}}
}

// look lets a replica look after its certificate, as it does every certificateEvery.
func (a asking) look(c *Certificate) {
	a.t.Helper()
	if err := c.renewCertificate(a.t.Context()); err != nil {
		a.t.Fatal(err)
	}
}

func (a asking) asks() admissionregistrationv1.WebhookClientConfig {
	a.t.Helper()
	var configuration admissionregistrationv1.MutatingWebhookConfiguration
	if err := a.Get(a.t.Context(), client.ObjectKey{Name: webhookName}, &configuration); err != nil {
		a.t.Fatal(err)
	}
	return configuration.Webhooks[0].ClientConfig
}

// understood fails where a replica does not understand how the API server asks, or is not believed by it.
func (a asking) understood(asks admissionregistrationv1.WebhookClientConfig, c *Certificate) {
	a.t.Helper()
	if path := ptr.Deref(asks.Service.Path, ""); !c.Keys.acceptsPath(path) {
		a.t.Errorf("at %s a replica does not know the path", time.Now())
	}
	shown, err := c.Keys.getCertificate(&tls.ClientHelloInfo{})
	if err != nil {
		a.t.Fatal(err)
	}
	trusted := x509.NewCertPool()
	trusted.AppendCertsFromPEM(asks.CABundle)
	if _, err := shown.Leaf.Verify(x509.VerifyOptions{Roots: trusted, DNSName: c.hostNames()[0], CurrentTime: time.Now()}); err != nil {
		a.t.Errorf("at %s the API server does not believe a replica: %v", time.Now(), err)
	}
}

// The API server hears of a new certificate a moment after it is told, and other replicas when they look.
func TestCertificatesChangeWithoutAGap(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newAsking(t, service())
		first, second := a.replica(), a.replica()
		a.look(first)
		a.look(second)
		paths := map[string]bool{*a.asks().Service.Path: true}
		for range 3 {
			time.Sleep(certificateLife - renewBefore - time.Hour)
			for range 20 {
				for _, replica := range []*Certificate{first, second} {
					heard := a.asks()
					a.look(replica)
					for _, asks := range []admissionregistrationv1.WebhookClientConfig{heard, a.asks()} {
						a.understood(asks, first)
						a.understood(asks, second)
					}
					time.Sleep(certificateEvery / 2)
				}
			}
			paths[*a.asks().Service.Path] = true
		}
		if len(paths) != 4 {
			t.Errorf("the path is another with each certificate: %v", slices.Collect(maps.Keys(paths)))
		}
		for path := range paths {
			if now := *a.asks().Service.Path; first.Keys.acceptsPath(path) != (path == now) {
				t.Errorf("the path of a certificate that is gone opens nothing: %s, now %s", path, now)
			}
		}
		if bundle := a.asks().CABundle; bytes.Count(bundle, []byte("BEGIN CERTIFICATE")) != 1 {
			t.Errorf("what is gone is trusted still: %s", bundle)
		}
	})
}

// A path that somebody knows ends when the Secret is deleted and the replicas are started again.
func TestADeletedSecretIsANewPath(t *testing.T) {
	a := newAsking(t, service())
	a.look(a.replica())
	before := *a.asks().Service.Path
	if err := a.DeleteAllOf(t.Context(), &corev1.Secret{}, client.InNamespace("lockstep")); err != nil {
		t.Fatal(err)
	}
	again := a.replica()
	a.look(again)
	a.understood(a.asks(), again)
	if again.Keys.acceptsPath(before) || *a.asks().Service.Path == before {
		t.Error("the path is what it was")
	}
}

func TestTheConfigurationIsWrittenWhereItLacksSomething(t *testing.T) {
	a := newAsking(t, admissionregistrationv1.WebhookClientConfig{URL: ptr.To("https://127.0.0.1:19443/old")})
	own := a.replica()
	own.Address = "127.0.0.1:19443"
	a.look(own)
	asks := a.asks()
	path := strings.TrimPrefix(*asks.URL, "https://127.0.0.1:19443")
	if !own.Keys.acceptsPath(path) || len(path) != len(webhookPath)+32 {
		t.Errorf("asked at %s", *asks.URL)
	}
	if changes, err := own.Keys.missingConfiguration(asks); err != nil || len(changes) > 0 {
		t.Errorf("nothing is missing: %v, %v", changes, err)
	}
	if _, err := own.Keys.missingConfiguration(admissionregistrationv1.WebhookClientConfig{URL: ptr.To("https://[" + path)}); err == nil || strings.Contains(err.Error(), path) {
		t.Errorf("what cannot be read is told without the path: %v", err)
	}
}

// Whoever reaches the port may ask about any pod of any job, whose names and UIDs he may know.
func TestAForgedReviewLearnsNothing(t *testing.T) {
	const secret = "do not tell"
	c := newCluster(t, fakecluster.TrainJob(func(trainJob *trainer.TrainJob) {
		trainJob.Spec.Trainer = &trainer.Trainer{Env: []corev1.EnvVar{{Name: "TOKEN", Value: secret}}}
	}))
	request := c.question(true).AdmissionRequest
	request.UID = "1"
	review, err := json.Marshal(admissionv1.AdmissionReview{
		TypeMeta: metav1.TypeMeta{APIVersion: admissionv1.SchemeGroupVersion.String(), Kind: "AdmissionReview"}, Request: &request,
	})
	if err != nil {
		t.Fatal(err)
	}
	a := newAsking(t, service())
	own := a.replica()
	mux := http.NewServeMux()
	Serve(webhook.NewServer(webhook.Options{WebhookMux: mux}), own.Keys, c.controller)
	post := func(path string) (int, string) {
		asked := httptest.NewRequestWithContext(context.Background(), http.MethodPost, path, bytes.NewReader(review))
		asked.Header.Set("Content-Type", "application/json")
		answer := httptest.NewRecorder()
		mux.ServeHTTP(answer, asked)
		var told admissionv1.AdmissionReview
		if err := json.Unmarshal(answer.Body.Bytes(), &told); err != nil || told.Response == nil {
			return answer.Code, answer.Body.String()
		}
		return answer.Code, string(told.Response.Patch)
	}
	const guess = webhookPath + "00000000000000000000000000000000"
	if code, text := post(guess); code != http.StatusNotFound {
		t.Errorf("before there is a certificate: %d %s", code, text)
	}
	a.look(own)
	told := *a.asks().Service.Path
	for _, path := range []string{"/", webhookPath, guess, told + "/", told[:len(told)-1], webhookPath + "../" + told} {
		if code, text := post(path); code == http.StatusOK || strings.Contains(text, secret) {
			t.Errorf("%s: %d %s", path, code, text)
		}
	}
	if code, text := post(told); code != http.StatusOK || !strings.Contains(text, secret) {
		t.Errorf("the API server is answered: %d %s", code, text)
	}
}
