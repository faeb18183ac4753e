{{- define "metadata" -}}
metadata:
  labels:
    app.kubernetes.io/managed-by: lockstep
    lockstep.dev/tenant: {{ .tenant.name }}
  name: {{ .name }}
  {{- with .namespace }}
  namespace: {{ . }}
  {{- end }}
{{- end }}

{{- define "role" -}}
roleRef:
  apiGroup: rbac.authorization.k8s.io
  kind: ClusterRole
  name: {{ . }}
{{- end }}

{{- define "groups" -}}
subjects:
{{- range . }}
- apiGroup: rbac.authorization.k8s.io
  kind: Group
  name: {{ . }}
{{- end }}
{{- end }}

{{- define "binding" -}}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
{{ include "metadata" . }}
{{ include "role" .name }}
{{ include "groups" .groups }}
{{- end }}

{{- /* What the admission policy must know of a LimitRange: its bounds, or nothing. */ -}}
{{- define "bounds" -}}
{{- $bounds := list }}
{{- range $name, $most := (default dict (default dict .tenant.limits).container).max }}
{{- $bounds = append $bounds (printf "%s=%v" $name $most) }}
{{- end }}
{{- join "," $bounds }}
{{- end }}
