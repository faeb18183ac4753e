package plan

import (
	"cmp"
	"encoding/json"
	"maps"
	"path"
	"slices"
	"strings"

	"lockstep.dev/lockstep/api/v1alpha1"
	"lockstep.dev/lockstep/pkg/compile/decode"
	"lockstep.dev/lockstep/pkg/compile/origin"
	"lockstep.dev/lockstep/pkg/compile/source"
	"lockstep.dev/lockstep/pkg/mpi"
)

// Component is one release of a Helm chart.
type Component struct {
	// Chart is a folder in the repository.
	Chart     Value[string]
	Release   Value[string]
	Namespace Value[string]
	// Values are those of the component, and of the cluster where it gives some.
	Values map[string]any
	// ValuesAt is the key of the values, or of what is around it where there are none. Places are those of each value, by JSON pointers.
	ValuesAt source.Span
	Places   map[string]decode.EntryPlace
	// Injected are the values that the cluster decides; other charts than ours have none.
	Injected []InjectedValue
	// Sources are the places of all that its objects are rendered from.
	Sources []source.Span
}

// InjectedValue is a value of our own chart that follows from the rest of the cluster. Its name is the keys that lead to it, with dots.
type InjectedValue struct {
	Named[any]
	// Alternative is what the component has there; nil where it has nothing, so that the value of the cluster holds.
	Alternative *Value[any]
}

// FormatValue returns a value of a chart as people read it.
func FormatValue(value any) string {
	text, _ := json.Marshal(value) // values are JSON by construction
	return strings.Trim(string(text), `"`)
}

func (c *Cluster) components(d *decode.Document, spec *v1alpha1.ClusterSpec) []Component {
	var result []Component
	for i := range spec.Components {
		own := &spec.Components[i]
		component := Component{
			Chart:     writtenValue(d, &own.Chart),
			Release:   orDefault(d, &own.Release, "the last part of the chart's folder"),
			Namespace: orDefault(d, &own.Namespace, "the namespace of the controller"),
			Values:    own.Values,
			ValuesAt:  d.Key(&own.Values),
			Places:    d.Entries(&own.Values),
		}
		component.Sources = append(d.SpansBelow(&own.Values), d.Key(&own.Values), component.Chart.At, component.Release.At, component.Namespace.At)
		component.Release.V = cmp.Or(component.Release.V, path.Base(own.Chart))
		component.Namespace.V = cmp.Or(component.Namespace.V, spec.Controller.Namespace)
		for _, value := range c.injectedValues(path.Base(own.Chart)) {
			component.injectValue(value, d, &own.Values)
		}
		result = append(result, component)
	}
	slices.SortStableFunc(result, func(a, b Component) int { return cmp.Compare(a.Release.V, b.Release.V) })
	return result
}

// injectedValues returns the values of one of our charts that must agree with the cluster.
func (c *Cluster) injectedValues(chart string) []Named[any] {
	switch chart {
	case mpi.ControllerName:
		return c.controllerValues()
	case DashboardChart:
		from := origin.Origin{At: c.Name.At, Kind: origin.Derived, Why: "the platform of the cluster"}
		openShift := Named[any]{Name: "openshift", Value: Value[any]{V: c.OpenShift, Origin: from}}
		return append(slices.Clone(c.Dashboard), openShift)
	}
	return nil
}

func (c *Cluster) controllerValues() []Named[any] {
	mode := "companion"
	if c.Bundled.V {
		mode = "executor"
	}
	values := []Named[any]{{Name: "mode", Value: inheritedValue(c.Bundled, any(mode), "the executor of the cluster")}}
	if c.Monitoring != nil {
		values = append(values, Named[any]{Name: "metrics.scrapedFrom", Value: inheritedValue(c.Monitoring.Namespace, any(c.Monitoring.Namespace.V), "where the cluster is monitored from")})
	}
	values = append(values, c.History...)
	if c.OpenShift {
		from := origin.Origin{At: c.Name.At, Kind: origin.Derived, Why: "OpenShift assigns users"}
		values = append(values, Named[any]{Name: "podSecurity.user", Value: Value[any]{Origin: from}})
	}
	return values
}

// injectValue puts a value of the cluster in, unless the component has one of its own.
func (c *Component) injectValue(value Named[any], d *decode.Document, field *map[string]any) {
	keys := strings.Split(value.Name, ".")
	given := InjectedValue{Named: value}
	if own, found := lookUp(*field, keys); found {
		given.Alternative = &Value[any]{V: own, Origin: d.EntryOrigin(field, keys[0])}
	} else {
		c.Values = withKey(c.Values, keys, value.V)
		c.Sources = append(c.Sources, value.At)
	}
	c.Injected = append(c.Injected, given)
}

// lookUp returns the value behind keys. What is not a map in their way is the value.
func lookUp(value any, keys []string) (any, bool) {
	for _, key := range keys {
		content, isMap := value.(map[string]any)
		if !isMap {
			break
		}
		var found bool
		if value, found = content[key]; !found {
			return nil, false
		}
	}
	return value, true
}

// withKey returns a copy of values with one more.
func withKey(values map[string]any, keys []string, value any) map[string]any {
	result := maps.Clone(values)
	if result == nil {
		result = map[string]any{}
	}
	if len(keys) > 1 {
		below, _ := result[keys[0]].(map[string]any)
		value = withKey(below, keys[1:], value)
	}
	result[keys[0]] = value
	return result
}
