package dashboard

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"lockstep.dev/lockstep/pkg/jobs/apierror"
	"lockstep.dev/lockstep/pkg/jobs/validate"
	"lockstep.dev/lockstep/pkg/jobs/view"
	"lockstep.dev/lockstep/pkg/mpi"
)

// Template is a TrainJob to begin with. A template with findings cannot be used.
type Template struct {
	Name     string             `json:"name"`
	YAML     string             `json:"yaml"`
	Findings []validate.Finding `json:"findings"`
}

// templates lists the templates of a namespace.
func (s *Server) templates(v *visit) (any, error) {
	namespace, err := v.ofOneNamespace()
	if err != nil {
		return nil, err
	}
	var list corev1.ConfigMapList
	err = v.c.List(v.Context(), &list, client.InNamespace(namespace), client.HasLabels{mpi.TemplatesLabel})
	if e := apierror.Explain(err); err != nil && e.Kind == apierror.Forbidden {
		return itemsOf[Template](nil, []view.Withheld{{What: "templates (configmaps)", Why: e.Message}}), nil
	} else if err != nil {
		return nil, err
	}
	var found []Template
	for _, item := range list.Items {
		for _, key := range slices.Sorted(maps.Keys(item.Data)) {
			name, text := strings.TrimSuffix(key, ".yaml"), item.Data[key]
			read := validate.File(item.Name+"/"+key, []byte(text))
			if len(read.Findings) == 0 && len(read.Jobs) != 1 {
				message := fmt.Sprintf("the text has %d TrainJobs, and a template is one", len(read.Jobs))
				read.Findings = []validate.Finding{{Line: 1, Column: 1, Message: message}}
			}
			found = append(found, Template{Name: name, YAML: text, Findings: listOf(read.Findings)})
		}
	}
	return itemsOf(found, nil), nil
}
