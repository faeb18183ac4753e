package platform

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	jobset "sigs.k8s.io/jobset/api/jobset/v1alpha2"

	trainer "lockstep.dev/lockstep/api/trainer/v1alpha1"
	"lockstep.dev/lockstep/test/testjob"
)

const editorName = "jane"

func editorsOf(tenant string) string { return tenant + "-editors" }

// Editor returns a member of a tenant's editors group: the person that the compiled RBAC lets create TrainJobs.
func (p *Platform) Editor(tenant string) (testjob.User, error) {
	return p.user(rest.ImpersonationConfig{UserName: editorName, Groups: []string{editorsOf(tenant), "system:authenticated"}})
}

// Admin returns the cluster's admin.
func (p *Platform) Admin() (testjob.User, error) { return p.user(rest.ImpersonationConfig{}) }

// UserOf returns the user of a kubeconfig's current context.
func UserOf(kubeconfig string) (testjob.User, error) {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return testjob.User{}, fmt.Errorf("read the kubeconfig: %w", err)
	}
	return (&Platform{Config: config}).user(rest.ImpersonationConfig{})
}

// controllerUser is the service account of our controller, as the API server knows it.
const controllerUser = "system:serviceaccount:" + Namespace + ":mpi-controller"

// Controller returns mpi-controller's own service account, with the permissions that it really has.
func (p *Platform) Controller() (testjob.User, error) {
	return p.user(rest.ImpersonationConfig{UserName: controllerUser})
}

func (p *Platform) user(who rest.ImpersonationConfig) (testjob.User, error) {
	config := rest.CopyConfig(p.Config)
	config.Impersonate = who
	scheme, err := newScheme()
	if err != nil {
		return testjob.User{}, err
	}
	objects, err := client.NewWithWatch(config, client.Options{Scheme: scheme})
	if err != nil {
		return testjob.User{}, fmt.Errorf("make a client for %q: %w", who.UserName, err)
	}
	logs, err := kubernetes.NewForConfig(config)
	if err != nil {
		return testjob.User{}, fmt.Errorf("make a client for %q: %w", who.UserName, err)
	}
	return testjob.User{Client: interceptor.NewClient(objects, interceptor.Funcs{Create: createAgain}), Logs: logs}, nil
}

// createAgain creates an object as people do: again, where others were counted by the same quota at that moment. The API server says so, with a
// conflict, after three tries of its own (k8s.io/apiserver pkg/admission/plugin/resourcequota).
func createAgain(ctx context.Context, c client.WithWatch, object client.Object, options ...client.CreateOption) error {
	return retry.RetryOnConflict(retry.DefaultBackoff, func() error { return c.Create(ctx, object, options...) })
}

func newScheme() (*runtime.Scheme, error) {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, trainer.AddToScheme, jobset.AddToScheme} {
		if err := add(scheme); err != nil {
			return nil, fmt.Errorf("register API types: %w", err)
		}
	}
	return scheme, nil
}
