package plan

import (
	"k8s.io/apimachinery/pkg/api/resource"

	"lockstep.dev/lockstep/api/v1alpha1"
	"lockstep.dev/lockstep/pkg/compile/decode"
)

// history returns the values of the controller's chart for a history.
func history(d *decode.Document, spec *v1alpha1.History) []Named[any] {
	if spec == nil {
		return nil
	}
	size := func(name string, field *resource.Quantity) Named[any] {
		value := derivedValue(d, field, any(field.String()), "enough for the last days of most jobs")
		return Named[any]{Name: name, Value: value}
	}
	values := []Named[any]{
		size("history.storage", &spec.Storage),
		{Name: "history.days", Value: derivedValue(d, &spec.Days, any(int64(spec.Days)), "a week has a weekend in it")},
		size("history.perJob", &spec.PerJob), size("history.perNamespace", &spec.PerNamespace),
	}
	if spec.StorageClass != "" {
		class := derivedValue(d, &spec.StorageClass, any(spec.StorageClass), "")
		values = append(values, Named[any]{Name: "history.storageClass", Value: class})
	}
	return values
}
