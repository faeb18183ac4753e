package v1alpha1

import (
	"fmt"
	"reflect"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/randfill"
)

// A copy is equal and shares nothing with its original: caches hand out originals. A field that the generated code
// lacks shares its pointer; `make update` writes that code anew.
func TestCopiesShareNothing(t *testing.T) {
	scheme := runtime.NewScheme()
	if err := AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	filler := randfill.NewWithSeed(1).NilChance(0).NumElements(1, 2).MaxDepth(40).Funcs(
		func(q *resource.Quantity, _ randfill.Continue) { *q = resource.MustParse("1Gi") },
		func(at *metav1.Time, _ randfill.Continue) { *at = metav1.NewTime(time.Unix(1000, 0)) },
		func(raw *metav1.FieldsV1, _ randfill.Continue) { raw.SetRawString("{}") },
	)
	for _, kind := range []string{TrainJobKind, TrainJobKind + "List", TrainingRuntimeKind, TrainingRuntimeKind + "List",
		ClusterTrainingRuntimeKind, ClusterTrainingRuntimeKind + "List"} {
		object, err := scheme.New(GroupVersion.WithKind(kind))
		if err != nil {
			t.Fatal(err)
		}
		filler.Fill(object)
		duplicate := object.DeepCopyObject()
		if !equality.Semantic.DeepEqual(object, duplicate) {
			t.Errorf("%s: the copy differs", kind)
		}
		shares(t, kind, reflect.ValueOf(object), reflect.ValueOf(duplicate))
	}
}

// shares complains of each pointer, list and map that both values have.
func shares(t *testing.T, path string, a, b reflect.Value) {
	t.Helper()
	switch a.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Map:
		if a.IsNil() {
			t.Errorf("%s: not filled", path)
			return
		}
		// Values without a size, such as JAXMLPolicySource, have one address.
		if a.Pointer() == b.Pointer() && a.Type().Elem().Size() > 0 {
			t.Errorf("%s: shared", path)
			return
		}
	}
	switch a.Kind() {
	case reflect.Pointer:
		shares(t, path, a.Elem(), b.Elem())
	case reflect.Slice:
		for i := range a.Len() {
			shares(t, fmt.Sprintf("%s[%d]", path, i), a.Index(i), b.Index(i))
		}
	case reflect.Map:
		for _, key := range a.MapKeys() {
			shares(t, fmt.Sprintf("%s[%v]", path, key), a.MapIndex(key), b.MapIndex(key))
		}
	case reflect.Struct:
		for i := range a.NumField() {
			if field := a.Type().Field(i); field.IsExported() {
				shares(t, path+"."+field.Name, a.Field(i), b.Field(i))
			}
		}
	}
}
