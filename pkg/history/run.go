// Package history keeps jobs that are over, with the output of all their pods, and serves them as an aggregated API
// under the rights of their namespace. It watches TrainJobs and their pods, and changes nothing but its own disk and
// the certificate in its APIService.
package history

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apiserver/pkg/authentication/request/headerrequest"
	"k8s.io/apiserver/pkg/server/dynamiccertificates"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	trainer "lockstep.dev/lockstep/api/trainer/v1alpha1"
	"lockstep.dev/lockstep/pkg/history/store"
	"lockstep.dev/lockstep/pkg/jobs/fetch"
	"lockstep.dev/lockstep/pkg/jobs/kept"
	"lockstep.dev/lockstep/pkg/mpi"
	"lockstep.dev/lockstep/pkg/mpi/selfsigned"
)

const (
	// certificateLife is how long the certificate holds. The process ends after renewAfter, and makes another one
	// when it is started again.
	certificateLife = 90 * 24 * time.Hour
	renewAfter      = 60 * 24 * time.Hour
	// trustEvery is how often the certificate goes into the APIService: a tool that applies it may take that out.
	trustEvery = time.Minute
	// jobsAtOnce is how many jobs are looked at at a time.
	jobsAtOnce = 4
)

// Options are the settings of a deployment.
type Options struct {
	// Folder is where jobs are kept, within Limits.
	Folder string
	Limits store.Limits
	// Address and ProbeAddress are bound by the API and by the probes. Host is the name by which the API server asks,
	// `<Service>.<namespace>.svc`.
	Address, ProbeAddress, Host string
}

// Run works until the context ends.
func Run(ctx context.Context, config *rest.Config, options Options) error {
	ctx, stop := context.WithTimeout(ctx, renewAfter)
	defer stop()
	config = rest.CopyConfig(config)
	config.QPS = -1
	clients, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	disk, err := store.Open(options.Folder, options.Limits, time.Now)
	if err != nil {
		ctrl.Log.Error(err, "some of what is kept cannot be read")
	}
	mgr, err := newManager(config, options)
	if err != nil {
		return err
	}
	f := &follower{
		cached:    mgr.GetCache(),
		live:      mgr.GetAPIReader(),
		core:      clients.CoreV1(),
		store:     disk,
		began:     time.Now(),
		running:   ctx,
		following: map[types.UID]bool{},
	}
	api := &server{access: clients.AuthorizationV1(), store: disk}
	for _, work := range []manager.RunnableFunc{
		f.endGone,
		func(ctx context.Context) error { return api.listen(ctx, clients, options) },
		disk.Run,
	} {
		err = errors.Join(err, mgr.Add(work))
	}
	watching := ctrl.NewControllerManagedBy(mgr).Named("history").For(&trainer.TrainJob{}).
		WithOptions(
			controller.Options{MaxConcurrentReconciles: jobsAtOnce, SkipNameValidation: ptr.To(true)},
		).Complete(f)
	if err := errors.Join(err, watching); err != nil {
		return err
	}
	err = mgr.Start(ctx)
	stop()
	f.logs.Wait()
	return err
}

func newManager(config *rest.Config, options Options) (manager.Manager, error) {
	scheme, err := fetch.Scheme()
	if err != nil {
		return nil, err
	}
	ofJobs, err := labels.NewRequirement(mpi.JobSetNameLabel, selection.Exists, nil)
	if err != nil {
		return nil, err
	}
	mgr, err := manager.New(config, manager.Options{
		Scheme:                 scheme,
		Metrics:                metricsserver.Options{BindAddress: "0"},
		HealthProbeBindAddress: options.ProbeAddress,
		Cache: cache.Options{
			DefaultTransform: cache.TransformStripManagedFields(),
			ByObject: map[client.Object]cache.ByObject{
				&corev1.Pod{}: {Label: labels.NewSelector().Add(*ofJobs), Transform: stripPod},
			},
		},
	})
	if err != nil {
		return nil, fmt.Errorf("create manager: %w", err)
	}
	return mgr, mgr.AddHealthzCheck("ping", healthz.Ping)
}

// listen serves the API. Who asks must show the certificate by which the API server is known to its extensions.
func (s *server) listen(ctx context.Context, clients kubernetes.Interface, options Options) error {
	const place, name = metav1.NamespaceSystem, "extension-apiserver-authentication"
	proxies, err := dynamiccertificates.NewDynamicCAFromConfigMapController(
		"front proxy",
		place,
		name,
		"requestheader-client-ca-file",
		clients,
	)
	if err != nil {
		return err
	}
	headers := headerrequest.NewRequestHeaderAuthRequestController(
		name,
		place,
		clients,
		"requestheader-username-headers",
		"requestheader-uid-headers",
		"requestheader-group-headers",
		"requestheader-extra-headers-prefix",
		"requestheader-allowed-names",
	)
	for _, one := range []dynamiccertificates.ControllerRunner{proxies, headers} {
		if err := one.RunOnce(ctx); err != nil {
			return fmt.Errorf("read ConfigMap %s: %w", name, err)
		}
		go one.Run(ctx, 1)
	}
	list := func(get func() []string) headerrequest.StringSliceProvider {
		return headerrequest.StringSliceProviderFunc(get)
	}
	s.callers = headerrequest.NewDynamicVerifyOptionsSecure(
		proxies.VerifyOptions,
		list(headers.AllowedClientNames),
		list(headers.UsernameHeaders),
		list(headers.UIDHeaders),
		list(headers.GroupHeaders),
		list(headers.ExtraHeaderPrefixes),
	)
	certificate, key, err := selfsigned.New(options.Host, time.Now(), certificateLife)
	if err != nil {
		return err
	}
	pair, err := tls.X509KeyPair(certificate, key)
	if err != nil {
		return err
	}
	go keepTrusted(ctx, clients, certificate)
	web := &http.Server{
		Addr:              options.Address,
		Handler:           s,
		ReadHeaderTimeout: 10 * time.Second,
		TLSConfig: &tls.Config{
			MinVersion: tls.VersionTLS12, ClientAuth: tls.RequestClientCert, Certificates: []tls.Certificate{pair},
		},
	}
	context.AfterFunc(ctx, func() { _ = web.Close() })
	if err := web.ListenAndServeTLS("", ""); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// keepTrusted puts the certificate into the APIService.
func keepTrusted(ctx context.Context, clients kubernetes.Interface, certificate []byte) {
	patch, _ := json.Marshal(map[string]any{"spec": map[string]any{"caBundle": certificate}}) // bytes
	path := "/apis/apiregistration.k8s.io/v1/apiservices/" + kept.GroupVersion.Version + "." + kept.GroupVersion.Group
	for ctx.Err() == nil {
		if err := clients.CoreV1().RESTClient().Patch(
			types.MergePatchType,
		).AbsPath(
			path,
		).Body(
			patch,
		).Do(
			ctx,
		).Error(); err != nil {
			ctrl.Log.Error(err, "let the API server trust the history")
		}
		select {
		case <-ctx.Done():
		case <-time.After(trustEvery):
		}
	}
}
