#!/usr/bin/env bash
# A RoleBinding in a cluster template of clusterctl gives its role to a ServiceAccount of the new cluster's namespace, whatever namespace it names.
#
# Expected: `clusterctl generate cluster` puts the objects into the namespace that was asked for, and leaves the subjects of a RoleBinding as the template has
# them: its provider's ServiceAccount lives in the provider's namespace.
# Seen: each subject with a namespace gets the cluster's, of RoleBindings and of ClusterRoleBindings, without a word; the controller has no rights then. A
# subject of kind User (`system:serviceaccount:NAMESPACE:NAME`) stays, and means the same to the API server.
# Needs Go; builds clusterctl's own package of templates, Cluster API 1.14.2.
. "$(dirname "$0")/lib/clusterctl.sh"
program <<'GO'
package main

import (
	"fmt"
	"io"
	"os"

	"sigs.k8s.io/cluster-api/cmd/clusterctl/client/repository"
	"sigs.k8s.io/cluster-api/cmd/clusterctl/client/yamlprocessor"
)

type none struct{}

func (none) Get(name string) (string, error) { return "", fmt.Errorf("%s is not there", name) }
func (none) Set(string, string)              {}

// Prints the objects of the template on its input, as clusterctl makes them for the namespace "racks".
func main() {
	raw, err := io.ReadAll(os.Stdin)
	if err != nil {
		panic(err)
	}
	made, err := repository.NewTemplate(repository.TemplateInput{
		RawArtifact:           raw,
		ConfigVariablesClient: none{},
		Processor:             yamlprocessor.NewSimpleProcessor(),
		TargetNamespace:       "racks",
	})
	if err != nil {
		panic(err)
	}
	for _, object := range made.Objs() {
		subjects := object.Object["subjects"].([]interface{})
		for _, subject := range subjects {
			of := subject.(map[string]interface{})
			fmt.Printf("%s in %q: %s %s in %q\n", object.GetKind(), object.GetNamespace(), of["kind"], of["name"], fmt.Sprint(of["namespace"]))
		}
	}
}
GO

binding() { # KIND
  cat <<YAML
apiVersion: rbac.authorization.k8s.io/v1
kind: $1
metadata:
  name: secrets
roleRef:
  apiGroup: rbac.authorization.k8s.io
  kind: ClusterRole
  name: secrets
subjects:
  - kind: ServiceAccount
    name: manager
    namespace: provider
  - kind: User
    apiGroup: rbac.authorization.k8s.io
    name: system:serviceaccount:provider:manager
YAML
}

seen=$({ binding RoleBinding; echo ---; binding ClusterRoleBinding; } | "$program")
echo "clusterctl $version, a template for the namespace racks whose subjects are of the namespace provider"
echo "$seen" | sed 's/^/  /'
expected='RoleBinding in "racks": ServiceAccount manager in "racks"
RoleBinding in "racks": User system:serviceaccount:provider:manager in "<nil>"
ClusterRoleBinding in "": ServiceAccount manager in "racks"
ClusterRoleBinding in "": User system:serviceaccount:provider:manager in "<nil>"'
[ "$seen" = "$expected" ] || { echo "this has changed; before:" >&2; echo "$expected" >&2; exit 1; }
