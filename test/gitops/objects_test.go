package gitops

import (
	"context"
	"fmt"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

func pods(ctx context.Context, namespace string) string {
	GinkgoHelper()
	quotas := &corev1.ResourceQuotaList{}
	Expect(admin.List(ctx, quotas, client.InNamespace(namespace))).To(Succeed())
	Expect(quotas.Items).To(HaveLen(1))
	amount := quotas.Items[0].Spec.Hard["pods"]
	return amount.String()
}

func get(ctx context.Context, apiVersion, kind, namespace, name string) *unstructured.Unstructured {
	GinkgoHelper()
	o := &unstructured.Unstructured{Object: map[string]any{"apiVersion": apiVersion, "kind": kind}}
	Expect(admin.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, o)).To(Succeed())
	return o
}

// found reports whether an object is there. The API server may be busy: then it is asked again.
func found(ctx context.Context, apiVersion, kind, namespace, name string) (bool, error) {
	o := &unstructured.Unstructured{Object: map[string]any{"apiVersion": apiVersion, "kind": kind}}
	var there bool
	err := wait.PollUntilContextTimeout(ctx, 100*time.Millisecond, 10*time.Second, true, func(ctx context.Context) (bool, error) {
		err := admin.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, o)
		there = err == nil
		return err == nil || apierrors.IsNotFound(err), nil
	})
	return there, err
}

// tell writes a line of the proof.
func tell(format string, args ...any) {
	GinkgoWriter.Printf(format+"\n", args...)
	AddReportEntry(fmt.Sprintf(format, args...))
}
