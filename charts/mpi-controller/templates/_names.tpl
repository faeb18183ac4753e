{{- /* The label app.kubernetes.io/name is part of the contract with the controller: the NetworkPolicy of each job admits
pods that carry it, in this namespace. */ -}}
{{- define "mpi-controller.selector" -}}
app.kubernetes.io/name: mpi-controller
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "mpi-controller.labels" -}}
{{ include "mpi-controller.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/part-of: lockstep
app.kubernetes.io/managed-by: {{ .Release.Service }}
{{- end }}

{{- define "mpi-controller.historyLabels" -}}
app.kubernetes.io/name: mpi-history
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/part-of: lockstep
app.kubernetes.io/managed-by: {{ .Release.Service }}
{{- end }}

{{- define "mpi-controller.image" -}}
{{- with .Values.image -}}
{{ .repository }}{{ if .digest }}@{{ .digest }}{{ else }}:{{ .tag | default $.Chart.AppVersion }}{{ end }}
{{- end -}}
{{- end }}

{{- /* Whether the controller has rights in its own namespace beside those that it has everywhere. */ -}}
{{- define "mpi-controller.hasRole" -}}
{{- if or .Values.leaderElection (eq .Values.mode "companion") (not .Values.everyNamespace) }}true{{ end -}}
{{- end }}
