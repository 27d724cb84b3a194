{{- define "attribution.fullname" -}}
{{- if contains "attribution" .Release.Name }}{{ .Release.Name | trunc 50 | trimSuffix "-" }}
{{- else }}{{ printf "%s-attribution" .Release.Name | trunc 50 | trimSuffix "-" }}{{ end }}
{{- end }}

{{- define "attribution.selector" -}}
app.kubernetes.io/name: attribution
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "attribution.labels" -}}
{{ include "attribution.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version }}
{{- end }}

{{- define "attribution.image" -}}
{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}
{{- end }}

{{- define "attribution.tokensSecret" -}}
{{ required "tokens.secretName is empty: a pod is reached from beyond loopback, so name a secret with a line `token tenant` for each token" .Values.tokens.secretName }}
{{- end }}

{{- define "attribution.sqlite" -}}
{{ if not .Values.store.secretName }}yes{{ end }}
{{- end }}

{{- define "attribution.podSecurity" -}}
runAsNonRoot: true
runAsUser: 65532
runAsGroup: 65532
fsGroup: 65532
seccompProfile: {type: RuntimeDefault}
{{- end }}

{{- define "attribution.containerSecurity" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities: {drop: [ALL]}
{{- end }}

{{- /* Where sessions or results are: a file of the volume, or the database of all of them. */}}
{{- define "attribution.storeEnv" -}}
- name: ATTRIBUTION_{{ .variable }}
{{- if .root.Values.store.secretName }}
  valueFrom:
    secretKeyRef:
      name: {{ .root.Values.store.secretName }}
      key: {{ .root.Values.store.key }}
{{- else }}
  value: /var/lib/attribution/{{ .file }}
{{- end }}
{{- end }}

{{- define "attribution.moreEnv" -}}
{{- range $name, $value := . }}
- name: {{ $name }}
  value: {{ $value | quote }}
{{- end }}
{{- end }}

{{- define "attribution.placement" -}}
{{- with .Values.imagePullSecrets }}
imagePullSecrets:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.nodeSelector }}
nodeSelector:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.tolerations }}
tolerations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}

{{- /* A SQLite store is a file on one node's volume: whoever reads it stands beside the Service, which mounts it. */}}
{{- define "attribution.besideStore" -}}
{{- if include "attribution.sqlite" . }}
affinity:
  podAffinity:
    requiredDuringSchedulingIgnoredDuringExecution:
      - topologyKey: kubernetes.io/hostname
        labelSelector:
          matchLabels:
            {{- include "attribution.selector" . | nindent 12 }}
            app.kubernetes.io/component: service
{{- else if .Values.affinity }}
affinity:
  {{- toYaml .Values.affinity | nindent 2 }}
{{- end }}
{{- end }}

{{- /* The volumes that every container has: scratch, compiled rules, and the SQLite store where there is one. */}}
{{- define "attribution.mounts" -}}
- {name: tmp, mountPath: /tmp}
- {name: cache, mountPath: /var/cache/attribution}
{{- if include "attribution.sqlite" . }}
- {name: store, mountPath: /var/lib/attribution}
{{- end }}
{{- end }}

{{- define "attribution.volumes" -}}
- name: tmp
  emptyDir: {}
- name: cache
  emptyDir: {}
{{- if include "attribution.sqlite" . }}
- name: store
  persistentVolumeClaim:
    claimName: {{ include "attribution.fullname" . }}-store
{{- end }}
{{- end }}
