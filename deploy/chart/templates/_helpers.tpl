{{- define "mooring.fullname" -}}
{{- $name := default .Chart.Name .Values.nameOverride -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride | trunc 40 | trimSuffix "-" -}}
{{- else if contains $name .Release.Name -}}
{{- .Release.Name | trunc 40 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name $name | trunc 40 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}

{{/* Labels of an object; dict of root and component. */}}
{{- define "mooring.labels" -}}
app.kubernetes.io/name: mooring
{{- with .component }}
app.kubernetes.io/component: {{ . }}
{{- end }}
{{- if not .root.Values.kustomizeBase }}
app.kubernetes.io/instance: {{ .root.Release.Name }}
app.kubernetes.io/version: {{ .root.Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .root.Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .root.Chart.Name .root.Chart.Version }}
{{- end }}
{{- with .root.Values.labels }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{/* Labels that select pods; the component. They never change, since selectors may not. */}}
{{- define "mooring.selector" -}}
app.kubernetes.io/name: mooring
app.kubernetes.io/component: {{ . }}
{{- end -}}

{{/*
Name of an image; dict of root, image and component. A release's chart has the digests of its images in a file of its
own: in the values, --reuse-values would keep those of the release before.
*/}}
{{- define "mooring.image" -}}
{{- $released := .root.Files.Get "files/image-digests.yaml" | fromYaml -}}
{{- $digest := .image.digest | default (ternary "" (get $released .component) (not (empty .image.tag))) -}}
{{- if $digest -}}
{{ .image.repository }}@{{ $digest }}
{{- else if .root.Values.kustomizeBase -}}
{{ .image.repository }}
{{- else -}}
{{ .image.repository }}:{{ .image.tag | default .root.Chart.AppVersion }}
{{- end -}}
{{- end -}}

{{/* Folder of the configuration of the n-th cloud. */}}
{{- define "mooring.configFolder" -}}
/etc/mooring/clouds/{{ . }}
{{- end -}}

{{/* Arguments that name the clouds. */}}
{{- define "mooring.cloudArgs" -}}
{{- $several := gt (len .Values.clouds) 1 -}}
{{- range $index, $cloud := .Values.clouds }}
- --cloud-provider={{ $cloud.name }}
{{- $prefix := ternary (printf "%s=" $cloud.name) "" $several }}
{{- if $cloud.config }}
- --cloud-config={{ $prefix }}{{ include "mooring.configFolder" $index }}/config
{{- else if $cloud.configFrom }}
- --cloud-config={{ $prefix }}{{ include "mooring.configFolder" $index }}/{{ $cloud.configFrom.key }}
{{- end }}
{{- with $cloud.nodeSelector }}
- --node-selector={{ $prefix }}{{ . }}
{{- end }}
{{- end }}
{{- end -}}

{{/* Arguments that name the Lease, where it is another than upstream's. */}}
{{- define "mooring.leaseArgs" -}}
{{- if ne .Values.leaderElection.namespace "kube-system" }}
- --leader-elect-resource-namespace={{ .Values.leaderElection.namespace }}
{{- end }}
{{- if ne .Values.leaderElection.name "cloud-controller-manager" }}
- --leader-elect-resource-name={{ .Values.leaderElection.name }}
{{- end }}
{{- end -}}

{{/* Those arguments of `run` that `check` knows, too; a test compares them with its flags. */}}
{{- define "mooring.checkArgs" -}}
{{- $known := list "kubeconfig" "mooring-namespace" "controllers" "webhooks"
  "cloud-provider" "cloud-module" "cloud-config" "allow-untagged-cloud" "allowed-security-groups"
  "node-selector" "node-labels-from-tags" "bind-by-name" "require-attestation"
  "cluster-cidr" "configure-cloud-routes"
  "leader-elect-resource-name" "leader-elect-resource-namespace" "log-level" "log-format" "v" "-v" -}}
{{- range include "mooring.controllerArgs" . | fromYamlArray }}
{{- if has (splitList "=" . | first | trimPrefix "--") $known }}
- {{ . | quote }}
{{- end }}
{{- end }}
{{- end -}}

{{/* Arguments of `run` after its name. */}}
{{- define "mooring.controllerArgs" -}}
{{- $values := .Values.controller -}}
{{- include "mooring.cloudArgs" . }}
{{- if ne (printf "%s/%s" .Release.Namespace (include "mooring.fullname" .)) "kube-system/mooring" }}
- --agent-service-account={{ .Release.Namespace }}:{{ include "mooring.fullname" . }}-agent
{{- end }}
{{- include "mooring.leaseArgs" . }}
{{- if ne (int $values.ports.report) 10270 }}
- --report-address=:{{ $values.ports.report }}
{{- end }}
{{- if ne (int $values.ports.secure) 10258 }}
- --secure-port={{ $values.ports.secure }}
{{- end }}
{{- with include "mooring.loops" . }}
- {{ . }}
{{- end }}
{{- $webhook := .Values.volumeLabels.webhook }}
{{- if $webhook.enabled }}
- --webhooks=persistentvolumelabel
{{- if ne (int $values.ports.webhook) 10260 }}
- --webhook-secure-port={{ $values.ports.webhook }}
{{- end }}
{{- if $webhook.tlsSecret }}
- --webhook-tls-cert-file=/etc/mooring/webhook/tls.crt
- --webhook-tls-private-key-file=/etc/mooring/webhook/tls.key
{{- end }}
{{- end }}
{{- with $values.args }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{/* The argument that names the loops; empty: all but those that have to be named. */}}
{{- define "mooring.loops" -}}
{{- $loops := list "*" -}}
{{- if not .Values.controller.deletesNodes }}{{ $loops = append $loops "-cloud-node-lifecycle" }}{{ end -}}
{{- if .Values.volumeLabels.controller }}{{ $loops = append $loops "persistent-volume-label" }}{{ end -}}
{{- if gt (len $loops) 1 }}--controllers={{ join "," $loops }}{{ end -}}
{{- end -}}

{{/* What signed the certificate of the webhook, in base64: as given, else that of Mooring as the cluster has it. */}}
{{- define "mooring.webhookCa" -}}
{{- $webhook := .Values.volumeLabels.webhook -}}
{{- if $webhook.caBundle -}}
{{ $webhook.caBundle }}
{{- else if not (or $webhook.annotations $webhook.tlsSecret) -}}
{{- $published := lookup "v1" "ConfigMap" .Release.Namespace "mooring-ca" -}}
{{- dig "data" "ca.crt" "" (default dict $published) | b64enc -}}
{{- end -}}
{{- end -}}

{{- define "mooring.configMounts" -}}
{{- range $index, $cloud := .Values.clouds }}
{{- if or $cloud.config $cloud.configFrom }}
- name: cloud-config-{{ $index }}
  mountPath: {{ include "mooring.configFolder" $index }}
  readOnly: true
{{- end }}
{{- end }}
{{- end -}}

{{/* Beside those of the clouds, for `run` alone. */}}
{{- define "mooring.controllerMounts" -}}
{{- include "mooring.configMounts" . }}
{{- if and .Values.volumeLabels.webhook.enabled .Values.volumeLabels.webhook.tlsSecret }}
- name: webhook-tls
  mountPath: /etc/mooring/webhook
  readOnly: true
{{- end }}
{{- end -}}

{{- define "mooring.configVolumes" -}}
{{- $root := . -}}
{{- range $index, $cloud := .Values.clouds }}
{{- if $cloud.config }}
- name: cloud-config-{{ $index }}
  configMap:
    name: {{ include "mooring.fullname" $root }}-cloud-config
    items:
      - key: {{ printf "%d-%s" $index $cloud.name }}
        path: config
{{- else if $cloud.configFrom }}
- name: cloud-config-{{ $index }}
  {{- if $cloud.configFrom.secret }}
  secret:
    secretName: {{ $cloud.configFrom.secret }}
  {{- else }}
  configMap:
    name: {{ $cloud.configFrom.configMap }}
  {{- end }}
{{- end }}
{{- end }}
{{- end -}}

{{- define "mooring.controllerVolumes" -}}
{{- include "mooring.configVolumes" . }}
{{- $webhook := .Values.volumeLabels.webhook }}
{{- if and $webhook.enabled $webhook.tlsSecret }}
- name: webhook-tls
  secret:
    secretName: {{ $webhook.tlsSecret }}
{{- end }}
{{- end -}}

{{/* Memory limit of the controller in MiB: 256 for up to 15,000 nodes, above in proportion. The heap follows it. */}}
{{- define "mooring.memory" -}}
{{- max 256 (div (add (mul 256 (int .Values.nodeCount)) 14999) 15000) -}}
{{- end -}}

{{- define "mooring.check" -}}
{{- if not .Values.kustomizeBase }}
{{- if not .Values.clouds }}
{{- fail "clouds: empty, expected at least one cloud, such as --set clouds[0].name=aws" }}
{{- end }}
{{- end }}
{{- if and .Values.networkPolicy.enabled .Values.controller.hostNetwork }}
{{- fail "networkPolicy.enabled: true, expected controller.hostNetwork=false beside it: policies do not apply to the host's network" }}
{{- end }}
{{- $ports := list (int .Values.controller.ports.report) (int .Values.controller.ports.secure) }}
{{- if .Values.volumeLabels.webhook.enabled }}{{ $ports = append $ports (int .Values.controller.ports.webhook) }}{{ end }}
{{- if ne (len (uniq $ports)) (len $ports) }}
{{- fail "controller.ports: two are the same, expected different ones" }}
{{- end }}
{{- $modules := list }}
{{- range .Values.controller.args }}
{{- if and (hasPrefix "--bind-address=" .) (not (has (trimPrefix "--bind-address=" .) (list "0.0.0.0" "::" "127.0.0.1"))) }}
{{- fail (printf "controller.args: %s, expected 0.0.0.0, :: or none: the probes ask 127.0.0.1" (quote .)) }}
{{- end }}
{{- if hasPrefix "--cloud-module=" . }}{{ $modules = append $modules (splitList "=" . | rest | first) }}{{ end }}
{{- end }}
{{- if and .Values.agent.enabled (not .Values.agent.cloud) (eq (len .Values.clouds) 1) (has (first .Values.clouds).name $modules) }}
{{- fail "agent.cloud: empty, expected a cloud whose metadata agents read, or agent.enabled=false: agents know no cloud of --cloud-module" }}
{{- end }}
{{- $webhook := .Values.volumeLabels.webhook }}
{{- if $webhook.enabled }}
{{- if and (not $webhook.tlsSecret) (ne (printf "%s/%s" .Release.Namespace (include "mooring.fullname" .)) "kube-system/mooring") }}
{{- fail "volumeLabels.webhook.tlsSecret: empty, expected the name of a Secret with a certificate: Mooring's own is for the Service kube-system/mooring-controller alone" }}
{{- end }}
{{- if not (or $webhook.annotations (include "mooring.webhookCa" .)) }}
{{- fail "volumeLabels.webhook.caBundle: empty, expected what signed its certificate, in base64, or annotations by which it is filled in; Mooring's own is in the ConfigMap mooring-ca once it runs" }}
{{- end }}
{{- end }}
{{- if and .Values.agent.windows.enabled (not .Values.agent.enabled) }}
{{- fail "agent.windows.enabled: true, expected agent.enabled=true beside it" }}
{{- end }}
{{- if and .Values.monitoring.podMonitor .Values.monitoring.serviceMonitor }}
{{- fail "monitoring.serviceMonitor: true, expected monitoring.podMonitor=false beside it: each controller would be scraped twice, and two leaders be counted" }}
{{- end }}
{{- if and .Values.monitoring.agentPodMonitor (not (and .Values.agent.enabled .Values.agent.openMetrics)) }}
{{- fail "monitoring.agentPodMonitor: true, expected agent.openMetrics=true beside it" }}
{{- end }}
{{- end -}}
