{{- define "namespace" }}
{{- $level := default "restricted" .tenant.podSecurity }}
---
apiVersion: v1
kind: Namespace
metadata:
  annotations:
    {{- with include "bounds" . }}
    lockstep.dev/max-container: {{ . }}
    {{- end }}
    {{- $runtimes := list }}
    {{- $most := list }}
    {{- range .cluster.runtimes }}
    {{- if or (not $.tenant.runtimes) (has .name $.tenant.runtimes) }}
    {{- $runtimes = append $runtimes .name }}
    {{- if .accelerator }}
    {{- $most = append $most (printf "%s=%v" .profile (default 0 (get (default dict $.tenant.quota.accelerators) .accelerator))) }}
    {{- end }}
    {{- end }}
    {{- end }}
    {{- with uniq $most }}
    lockstep.dev/max-accelerators: {{ join "," . }}
    {{- end }}
    lockstep.dev/runtimes: {{ join "," $runtimes }}
    openshift.io/display-name: {{ .tenant.displayName | quote }}
  labels:
    app.kubernetes.io/managed-by: lockstep
    lockstep.dev/tenant: {{ .tenant.name }}
    pod-security.kubernetes.io/audit: {{ $level }}
    pod-security.kubernetes.io/enforce: {{ $level }}
    pod-security.kubernetes.io/warn: {{ $level }}
  name: {{ .namespace }}
---
apiVersion: v1
kind: ResourceQuota
{{ include "metadata" (merge (dict "name" "lockstep-quota") .) }}
spec:
  hard:
    count/trainjobs.trainer.kubeflow.org: {{ .tenant.quota.jobs | quote }}
    limits.memory: {{ .tenant.quota.memory }}
    pods: {{ .tenant.quota.pods | quote }}
    requests.cpu: {{ .tenant.quota.cpu | quote }}
    requests.memory: {{ .tenant.quota.memory }}
    {{- $granted := default dict .tenant.quota.accelerators }}
    {{- range .cluster.accelerators }}
    requests.{{ . }}: {{ default 0 (get $granted .) | quote }}
    {{- end }}
---
apiVersion: v1
kind: LimitRange
{{ include "metadata" (merge (dict "name" "lockstep-limits") .) }}
spec:
  limits:
  {{- $limits := default dict (default dict .tenant.limits).container }}
  {{- $memory := default "128Mi" (default dict $limits.default).memory }}
  - default:
      memory: {{ $memory }}
    defaultRequest:
      cpu: {{ default "100m" (default dict $limits.default).cpu }}
      memory: {{ $memory }}
    {{- with $limits.max }}
    max:
      {{- toYaml . | nindent 6 }}
    {{- end }}
    type: Container
---
apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
{{ include "metadata" (merge (dict "name" "lockstep-default-deny") .) }}
spec:
  podSelector: {}
  policyTypes:
  - Ingress
  - Egress
---
apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
{{ include "metadata" (merge (dict "name" "lockstep-dns") .) }}
spec:
  egress:
  - ports:
    - port: {{ .cluster.dns.port }}
      protocol: UDP
    - port: {{ .cluster.dns.port }}
      protocol: TCP
    to:
    - namespaceSelector:
        matchLabels:
          kubernetes.io/metadata.name: {{ .cluster.dns.namespace }}
      podSelector:
        matchLabels:
          {{- toYaml .cluster.dns.podLabels | nindent 10 }}
  podSelector: {}
  policyTypes:
  - Egress
{{- with (default dict .tenant.network).egress }}
---
apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
{{ include "metadata" (merge (dict "name" "lockstep-egress") $) }}
spec:
  egress:
  {{- range . }}
  - to:
    - ipBlock:
        cidr: {{ .cidr }}
    {{- with .ports }}
    ports:
    {{- range . }}
    - port: {{ .port }}
      protocol: {{ default "TCP" .protocol }}
    {{- end }}
    {{- end }}
  {{- end }}
  podSelector: {}
  policyTypes:
  - Egress
{{- end }}
{{- with (default dict .tenant.network).ingress }}
---
apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
{{ include "metadata" (merge (dict "name" "lockstep-ingress") $) }}
spec:
  ingress:
  {{- range . }}
  - from:
    - namespaceSelector:
        matchLabels:
          kubernetes.io/metadata.name: {{ .namespace }}
  {{- end }}
  podSelector: {}
  policyTypes:
  - Ingress
{{- end }}
{{- with .tenant.people.admins }}
{{ include "binding" (merge (dict "name" "lockstep-tenant-admin" "groups" (sortAlpha .)) $) }}
{{- end }}
{{ include "binding" (merge (dict "name" "lockstep-tenant-editor" "groups" (sortAlpha .tenant.people.editors)) .) }}
{{- with .tenant.people.viewers }}
{{ include "binding" (merge (dict "name" "lockstep-tenant-viewer" "groups" (sortAlpha .)) $) }}
{{- end }}
{{- if .cluster.openshift }}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
{{ include "metadata" (merge (dict "name" "lockstep-use-scc-mpi") .) }}
{{ include "role" "lockstep-use-scc-mpi" }}
subjects:
- kind: ServiceAccount
  name: mpi
  namespace: {{ .namespace }}
---
apiVersion: v1
automountServiceAccountToken: false
kind: ServiceAccount
{{ include "metadata" (merge (dict "name" "mpi") .) }}
{{- end }}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
{{ include "metadata" (merge (dict "name" "mpi-controller-jobs") .) }}
{{ include "role" "mpi-controller-jobs" }}
subjects:
- kind: ServiceAccount
  name: mpi-controller
  namespace: lockstep-system
---
apiVersion: v1
automountServiceAccountToken: false
kind: ServiceAccount
{{ include "metadata" (merge (dict "name" "default") .) }}
{{- end }}
