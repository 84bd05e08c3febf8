#!/usr/bin/env bash
# `namespace:` of a kustomization is written into ValidatingAdmissionPolicies and their bindings, which have none: kustomize knows the kinds without a
# namespace from a list, and these two are not on it in 5.5.0. ClusterRoles of the same file stay without.
set -euo pipefail
readonly version=v5.5.0
folder=$(mktemp -d)
trap 'chmod -R u+w "$folder"; rm -rf "$folder"' EXIT
export GOPATH=$folder/go GOBIN=$folder/bin GOFLAGS=-buildvcs=false
go install "sigs.k8s.io/kustomize/kustomize/v5@$version" 2> "$folder/log" || { cat "$folder/log" >&2; exit 2; }
mkdir "$folder/base"
cat > "$folder/base/kustomization.yaml" <<'YAML'
apiVersion: kustomize.config.k8s.io/v1beta1
kind: Kustomization
namespace: here
resources: [objects.yaml]
YAML
cat > "$folder/base/objects.yaml" <<'YAML'
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: rule}
spec:
  matchConstraints:
    resourceRules: [{apiGroups: [""], apiVersions: [v1], operations: [CREATE], resources: [configmaps]}]
  validations: [{expression: "true"}]
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: rule}
spec: {policyName: rule, validationActions: [Deny]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: role}
rules: []
YAML
echo "kustomize $version"
"$folder/bin/kustomize" build "$folder/base" > "$folder/built"
# Kind and namespace of each object.
seen=$(awk '/^kind:/ { kind = $2 } /^metadata:/ { inside = 1; space = "-" } inside && /^  namespace:/ { space = $2 } /^---/ { print kind, space; inside = 0 } END { print kind, space }' "$folder/built" | sort)
echo "$seen"
expected='ClusterRole -
ValidatingAdmissionPolicy here
ValidatingAdmissionPolicyBinding here'
[ "$seen" = "$expected" ] || { echo "this has changed; before:" >&2; echo "$expected" >&2; exit 1; }
