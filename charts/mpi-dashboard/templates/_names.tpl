{{- define "mpi-dashboard.selector" -}}
app.kubernetes.io/name: mpi-dashboard
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "mpi-dashboard.labels" -}}
{{ include "mpi-dashboard.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/part-of: lockstep
app.kubernetes.io/managed-by: {{ .Release.Service }}
{{- end }}
