{{/* The name that all objects begin with. */}}
{{- define "rivulet.name" -}}
{{- if contains .Chart.Name .Release.Name }}{{ .Release.Name | trunc 40 | trimSuffix "-" }}{{ else }}{{ printf "%s-%s" .Release.Name .Chart.Name | trunc 40 | trimSuffix "-" }}{{ end }}
{{- end }}

{{/* Labels by which objects of a component are chosen: (list . "consumer"). */}}
{{- define "rivulet.selector" -}}
app.kubernetes.io/name: rivulet
app.kubernetes.io/instance: {{ (index . 0).Release.Name }}
app.kubernetes.io/component: {{ index . 1 }}
{{- end }}

{{/* All labels of an object of a component: (list . "consumer"). */}}
{{- define "rivulet.labels" -}}
{{ include "rivulet.selector" . }}
app.kubernetes.io/version: {{ (index . 0).Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ (index . 0).Release.Service }}
helm.sh/chart: {{ (index . 0).Chart.Name }}-{{ (index . 0).Chart.Version }}
{{- end }}

{{/* The settings file of a component: settings of all, then of the component, then what belongs to the chart: ports and the drain. */}}
{{- define "rivulet.settings" -}}
{{- $root := index . 0 }}{{ $component := index . 1 }}
{{- $settings := mergeOverwrite (deepCopy $root.Values.settings) (deepCopy (index $root.Values $component).settings) }}
{{- $own := dict "shutdown" (dict "drain_timeout" (printf "%ds" (int $root.Values.drainSeconds))) "http" (dict "listen" ":9464") }}
{{- if eq $component "serve" }}
{{- $_ := set $own "serve" (dict "listen" ":8080") }}
{{- if not (or (dig "serve" "open" false $settings) (include "rivulet.protected" .)) }}
{{- fail "serve wants TLS and a token (serve.secrets: serve.tls.cert_file, serve.tls.key_file, serve.token_file), or serve.settings.serve.open: true if something in front has both" }}
{{- end }}
{{- else if eq $component "page" }}
{{- $_ := set $own "page" (dict "listen" (ternary ":9466" "127.0.0.1:9466" (eq (include "rivulet.protected" .) "yes"))) }}
{{- end }}
{{- mergeOverwrite $settings $own | toYaml }}
{{- end }}

{{/* yes if serve or the page has TLS and a token. */}}
{{- define "rivulet.protected" -}}
{{- $secrets := include "rivulet.secrets" . | fromYaml }}{{ $component := index . 1 }}
{{- if and (hasKey $secrets (printf "%s.tls.cert_file" $component)) (hasKey $secrets (printf "%s.token_file" $component)) }}yes{{ end }}
{{- end }}

{{/* The files of a component that are read from Secrets, by their settings. */}}
{{- define "rivulet.secrets" -}}
{{- $root := index . 0 }}{{ $component := index . 1 }}
{{- mergeOverwrite (deepCopy $root.Values.secrets) (deepCopy (index $root.Values $component).secrets) | toYaml }}
{{- end }}

{{/* The directory in which a component has M as a file (cache.directory of its settings); nothing if it has none. */}}
{{- define "rivulet.cache" -}}
{{- $component := index . 1 }}
{{- if has $component (list "consumer" "serve" "page") }}
{{- dig "cache" "directory" "" (include "rivulet.settings" . | fromYaml) }}
{{- end }}
{{- end }}

{{/* What all pods have: (list . "consumer"). Nothing runs as root, and no token of the API server is mounted. enableServiceLinks
     keeps variables such as RIVULET_SERVE_PORT out, which begin like settings (the programs pass over them, too). */}}
{{- define "rivulet.pod" -}}
{{- $root := index . 0 }}{{ $component := index . 1 }}{{ $values := index $root.Values $component }}
serviceAccountName: {{ include "rivulet.name" $root }}
automountServiceAccountToken: false
enableServiceLinks: false
securityContext:
  runAsNonRoot: true
  runAsUser: 65532
  runAsGroup: 65532
  fsGroup: 65532
  fsGroupChangePolicy: OnRootMismatch
  seccompProfile: {type: RuntimeDefault}
{{- with $root.Values.imagePullSecrets }}
imagePullSecrets:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with $values.nodeSelector }}
nodeSelector:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with $values.tolerations }}
tolerations:
  {{- toYaml . | nindent 2 }}
{{- end }}
volumes:
  - name: settings
    configMap: {name: {{ include "rivulet.name" $root }}-{{ $component }}}
  - name: tmp
    emptyDir: {}
  {{- with include "rivulet.secrets" . | fromYaml }}
  - name: secrets
    projected:
      defaultMode: 0440
      sources:
        {{- range $setting, $from := . }}
        - secret:
            name: {{ required (printf "secrets: %s has no name" $setting) (get $from "name") }}
            items: [{key: {{ required (printf "secrets: %s has no key" $setting) (get $from "key") }}, path: {{ $setting }}}]
        {{- end }}
  {{- end }}
  {{- if has $component (list "train" "refresh") }}
  - name: data
    persistentVolumeClaim: {claimName: {{ $root.Values.data.existingClaim | default (printf "%s-data" (include "rivulet.name" $root)) }}}
  {{- end }}
  {{- if include "rivulet.cache" . }}
  - name: cache
    {{- if $root.Values.cache.existingClaim }}
    persistentVolumeClaim: {claimName: {{ $root.Values.cache.existingClaim }}}
    {{- else if $root.Values.cache.sizeLimit }}
    emptyDir: {sizeLimit: {{ $root.Values.cache.sizeLimit }}}
    {{- else }}
    emptyDir: {}
    {{- end }}
  {{- end }}
{{- end }}

{{/* What all containers have: (list . "consumer"). */}}
{{- define "rivulet.container" -}}
{{- $root := index . 0 }}{{ $component := index . 1 }}{{ $values := index $root.Values $component }}
image: "{{ $root.Values.image.repository }}:{{ $root.Values.image.tag | default $root.Chart.AppVersion }}"
imagePullPolicy: {{ $root.Values.image.pullPolicy }}
securityContext:
  allowPrivilegeEscalation: false
  readOnlyRootFilesystem: true
  capabilities: {drop: [ALL]}
env:
  - {name: RIVULET_CONFIG, value: /etc/rivulet/rivulet.yaml}
  {{- if get $values "staticMembership" }}
  - {name: RIVULET_KAFKA_INSTANCE_ID, valueFrom: {fieldRef: {fieldPath: metadata.name}}}
  {{- end }}
  {{- range $name, $value := $values.env }}
  - {name: {{ $name }}, value: {{ $value | quote }}}
  {{- end }}
  {{- range $setting, $from := include "rivulet.secrets" . | fromYaml }}
  - {name: RIVULET_{{ $setting | replace "." "_" | upper }}, value: /etc/rivulet-secrets/{{ $setting }}}
  {{- end }}
resources:
  {{- toYaml $values.resources | nindent 2 }}
volumeMounts:
  - {name: settings, mountPath: /etc/rivulet, readOnly: true}
  - {name: tmp, mountPath: /tmp}
  {{- if include "rivulet.secrets" . | fromYaml }}
  - {name: secrets, mountPath: /etc/rivulet-secrets, readOnly: true}
  {{- end }}
  {{- if has $component (list "train" "refresh") }}
  - {name: data, mountPath: /data}
  {{- end }}
  {{- with include "rivulet.cache" . }}
  - {name: cache, mountPath: {{ . }}}
  {{- end }}
{{- end }}

{{/* A change of the settings rolls the pods. */}}
{{- define "rivulet.checksum" -}}
checksum/settings: {{ include "rivulet.settings" . | sha256sum }}
{{- end }}
