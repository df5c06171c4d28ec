{{- define "tenure.name" -}}
{{- .Release.Name | trunc 52 | trimSuffix "-" -}}
{{- end -}}

{{- define "tenure.labels" -}}
app.kubernetes.io/name: tenure-partitions
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}
