{{/* What names begin with. */}}
{{- define "capstan.prefix" -}}
{{ .Values.fullnameOverride | default .Release.Name | trunc 40 | trimSuffix "-" }}
{{- end }}

{{/* The name of the program's own objects. */}}
{{- define "capstan.name" -}}
{{ include "capstan.prefix" . }}-{{ .Values.program }}
{{- end }}

{{/* What tells the pods of this release from all others. */}}
{{- define "capstan.selector" -}}
app.kubernetes.io/name: capstan
app.kubernetes.io/component: {{ .Values.program }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "capstan.labels" -}}
{{ include "capstan.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ .Chart.Name }}-{{ .Chart.Version }}
{{- end }}

{{- define "capstan.image" -}}
{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}
{{- end }}

{{/* Numbers as they are written: 12345678, not 1.2345678e+07. */}}
{{- define "capstan.text" -}}
{{ if kindIs "float64" . }}{{ int64 . }}{{ else }}{{ . }}{{ end }}
{{- end }}

{{/* Settings as variables, which a flag of the chart's own wins over. */}}
{{- define "capstan.variables" -}}
{{- range $name, $value := . }}
- name: CAPSTAN_{{ $name | upper | replace "-" "_" }}
  value: {{ include "capstan.text" $value | quote }}
{{- end }}
{{- end }}

{{/* What bot and reconciler say alike of how they log, and what the release adds. */}}
{{- define "capstan.commonVariables" -}}
{{- if ne .Values.log.level "info" }}
- name: CAPSTAN_LOG
  value: {{ .Values.log.level | quote }}
{{- end }}
{{- if ne .Values.log.format "text" }}
- name: CAPSTAN_LOG_FORMAT
  value: {{ .Values.log.format }}
{{- end }}
{{- with .Values.extraEnv }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{- define "capstan.podMetadata" -}}
labels:
  {{- include "capstan.selector" . | nindent 2 }}
  {{- with .Values.podLabels }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
{{- with .Values.podAnnotations }}
annotations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}

{{- define "capstan.podSecurity" -}}
runAsNonRoot: true
runAsUser: 65532
runAsGroup: 65532
# The volume is given to this group at the first start. At further ones that would take as long as there are files, and
# open what the program keeps to itself; it closes that again all the same.
fsGroup: 65532
fsGroupChangePolicy: OnRootMismatch
seccompProfile:
  type: RuntimeDefault
{{- end }}

{{- define "capstan.containerSecurity" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities:
  drop: [ALL]
{{- end }}

{{/* Where the pod may run, and who may pull its image. */}}
{{- define "capstan.placement" -}}
{{- with .Values.image.pullSecrets }}
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
{{- with .Values.affinity }}
affinity:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.topologySpreadConstraints }}
topologySpreadConstraints:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.priorityClassName }}
priorityClassName: {{ . }}
{{- end }}
{{- end }}

{{- define "capstan.volumeClaim" -}}
accessModes: [ReadWriteOnce]
{{- with .storageClassName }}
storageClassName: {{ . }}
{{- end }}
resources:
  requests:
    storage: {{ .size }}
{{- end }}
