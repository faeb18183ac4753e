package lower

import "testing"

func TestExpressionsOfEnforcedNamespaces(t *testing.T) {
	for expr, want := range map[string]string{
		`max by (namespace, trainjob) (mpi_trainjob_restarts{namespace="$namespace"})`: `max by (exported_namespace, ` +
			`trainjob) (mpi_trainjob_restarts{exported_namespace="$namespace"})`,
		`label_values(mpi_trainjob_status, namespace)`: `label_values(mpi_trainjob_status, exported_namespace)`,
		`{{namespace}}/{{queue}}`:                      `{{exported_namespace}}/{{queue}}`,
		`up{job="mpi-controller"}`:                     `up{job="mpi-controller"}`,
		`container_cpu{namespace="$namespace"} * on (namespace, pod) mpi_trainjob_pod_info{namespace="$n"}`: `` +
			`container_cpu{namespace="$namespace"} * on (namespace, pod) label_replace(mpi_trainjob_pod_info{` +
			`exported_namespace="$n"}, "namespace", "$1", "exported_namespace", "(.*)")`,
	} {
		if found := ofEnforcedNamespaces(expr); found != want {
			t.Errorf("%s\nbecomes %s\nwant    %s", expr, found, want)
		}
	}
}
