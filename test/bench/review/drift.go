package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/clientcmd/api"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	"lockstep.dev/lockstep/test/bench/tool"
)

// drift brings the compiled tree of the first cluster to a real API server, as kubectl would, and measures what finding no drift takes. The
// requests are counted in a run of its own, through a proxy.
func (b *bench) drift(ctx context.Context) (*plan, error) {
	s, err := b.site(ctx, b.o.driftTenants)
	if err != nil {
		return nil, err
	}
	environment := &envtest.Environment{}
	if environment.CRDDirectoryPaths, err = definitions(ctx); err != nil {
		return nil, err
	}
	config, err := environment.Start()
	if err != nil {
		return nil, fmt.Errorf("start the API server: %w", err)
	}
	p, err := b.driftAt(ctx, s, config)
	return p, errors.Join(err, environment.Stop())
}

// definitions are the CRDs of Kubeflow Trainer, from its module.
func definitions(ctx context.Context) ([]string, error) {
	module, err := exec.CommandContext(ctx, "go", "list", "-m", "-f", "{{.Dir}}", "github.com/kubeflow/trainer/v2").Output()
	if err != nil {
		return nil, fmt.Errorf("find the CRDs of Kubeflow Trainer: %w", err)
	}
	return []string{filepath.Join(strings.TrimSpace(string(module)), "manifests/base/crds")}, nil
}

func (b *bench) driftAt(ctx context.Context, s *site, config *rest.Config) (*plan, error) {
	cluster := s.Clusters[0]
	objects, err := decoded(filepath.Join(s.compiled(s.base), cluster))
	if err != nil {
		return nil, err
	}
	start := time.Now()
	if err := apply(ctx, config, objects); err != nil {
		return nil, err
	}
	b.Say("%d objects of %s are at the API server after %.0f s", len(objects), cluster, time.Since(start).Seconds())
	counted, end, err := counting(config, b.output("counted"))
	if err != nil {
		return nil, err
	}
	defer end()
	args := []string{"drift", "--root", s.base, "--cluster", cluster, "--fail-on", "info", "--kubeconfig"}
	warm := b.ours(s, drifted, append(args, b.output("counted"))...)
	if _, err := warm.Once(ctx, b.Meter, 0); err != nil {
		return nil, err
	}
	direct := b.output("admin")
	if err := kubeconfig(config, direct); err != nil {
		return nil, err
	}
	p := b.ours(s, drifted, append(args, direct)...)
	p.Clusters, p.Objects, p.Requests = 1, len(objects), counted.Load()
	p.Name = tool.Compiler + ", " + drifted
	for i := range b.o.Runs {
		u, err := p.Once(ctx, b.Meter, i)
		if err != nil {
			return nil, err
		}
		p.Runs = append(p.Runs, u)
	}
	p.Lines, err = lines(p.printed)
	return p, err
}

// counting is a proxy before the API server that counts requests, and a kubeconfig with which it is reached.
func counting(config *rest.Config, name string) (*atomic.Int64, func(), error) {
	target, err := url.Parse(config.Host)
	if err != nil {
		return nil, nil, err
	}
	if target.Scheme == "" {
		target, err = url.Parse("https://" + config.Host)
	}
	transport, failed := rest.TransportFor(config)
	if err = errors.Join(err, failed); err != nil {
		return nil, nil, err
	}
	counted := &atomic.Int64{}
	proxy := &httputil.ReverseProxy{Transport: transport, Rewrite: func(r *httputil.ProxyRequest) {
		counted.Add(1)
		r.SetURL(target)
	}}
	server := httptest.NewServer(http.Handler(proxy))
	return counted, server.Close, kubeconfig(&rest.Config{Host: server.URL}, name)
}

// kubeconfig writes a connection to a file.
func kubeconfig(config *rest.Config, name string) error {
	const only = "bench"
	content := api.NewConfig()
	content.Clusters[only] = &api.Cluster{Server: config.Host, CertificateAuthorityData: config.CAData}
	content.AuthInfos[only] = &api.AuthInfo{ClientCertificateData: config.CertData, ClientKeyData: config.KeyData, Token: config.BearerToken}
	content.Contexts[only] = &api.Context{Cluster: only, AuthInfo: only}
	content.CurrentContext = only
	return clientcmd.WriteToFile(*content, name)
}

// decoded are the objects of a compiled tree, those first that others need, and last those that judge others.
func decoded(tree string) ([]*unstructured.Unstructured, error) {
	var objects []*unstructured.Unstructured
	err := filepath.WalkDir(tree, func(name string, _ fs.DirEntry, err error) error {
		if err != nil || filepath.Ext(name) != ".yaml" || filepath.Base(name) == "kustomization.yaml" {
			return err
		}
		file, err := os.Open(name)
		if err != nil {
			return err
		}
		defer file.Close()
		for reader := yaml.NewYAMLOrJSONDecoder(file, 1<<16); ; {
			o := &unstructured.Unstructured{}
			if err := reader.Decode(&o.Object); errors.Is(err, io.EOF) {
				return nil
			} else if err != nil {
				return fmt.Errorf("read %s: %w", name, err)
			}
			if o.Object != nil {
				objects = append(objects, o)
			}
		}
	})
	return objects, err
}

func rank(o *unstructured.Unstructured) int {
	switch {
	case o.GetKind() == "Namespace":
		return 0
	case strings.HasPrefix(o.GetKind(), "ValidatingAdmissionPolicy"):
		return 2
	}
	return 1
}

// appliers is how many objects are applied at the same time.
const appliers = 32

// apply applies objects as `kubectl apply --server-side` does, rank by rank.
func apply(ctx context.Context, config *rest.Config, objects []*unstructured.Unstructured) error {
	own := rest.CopyConfig(config)
	own.QPS = -1
	to, err := client.New(own, client.Options{})
	if err != nil {
		return err
	}
	for now := range 3 {
		group, ctx := errgroup.WithContext(ctx)
		group.SetLimit(appliers)
		for _, o := range objects {
			if rank(o) != now {
				continue
			}
			group.Go(func() error {
				err := to.Apply(ctx, client.ApplyConfigurationFromUnstructured(o), client.FieldOwner("kubectl"), client.ForceOwnership)
				if err != nil {
					return fmt.Errorf("apply %s %s: %w", o.GetKind(), o.GetName(), err)
				}
				return nil
			})
		}
		if err := group.Wait(); err != nil {
			return err
		}
	}
	return nil
}
