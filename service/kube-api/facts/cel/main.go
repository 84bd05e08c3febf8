// Writes what the API server's own code says about CEL (see go.mod for its version): functions.tsv, the functions that new rules of a
// CustomResourceDefinition may use, with their types, and verdicts.json, its errors for the CustomResourceDefinitions that the rules of
// rules.json make. To make both anew:  go run .
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"sort"
	"strings"

	"github.com/google/cel-go/common/types"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/install"
	v1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/validation"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel"
	"k8s.io/apimachinery/pkg/runtime"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/util/version"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
	"k8s.io/apiserver/pkg/cel/environment"
)

// The rules of rules.json, each put at `spec` of a schema, with objects that have such a `spec`.
type table struct {
	Spec  json.RawMessage `json:"spec"`
	Rules []struct {
		Rule    json.RawMessage   `json:"rule"`
		Objects []json.RawMessage `json:"objects"`
	} `json:"rules"`
}

// What the server says of a rule: errors of the definition, and for each object those of the rule.
type verdict struct {
	Rule    json.RawMessage `json:"rule"`
	Errors  []string        `json:"errors"`
	Objects [][]string      `json:"objects"`
}

func main() {
	functions()
	verdicts()
}

// The version whose libraries new rules may use is one before that of the server, so that the server can be rolled back.
func functions() {
	lines := []string{}
	earlier := map[string]string{}
	for minor := uint(28); minor <= 34; minor++ {
		env := environment.MustBaseEnvSet(version.MajorMinor(1, minor), true).NewExpressionsEnv()
		for name, function := range env.Functions() {
			for _, overload := range function.OverloadDecls() {
				arguments := []string{}
				for _, argument := range overload.ArgTypes() {
					arguments = append(arguments, shown(argument))
				}
				kind := "function"
				if overload.IsMemberFunction() {
					kind = "member"
				}
				line := strings.Join([]string{name, kind, strings.Join(arguments, "; "), shown(overload.ResultType())}, "\t")
				if _, known := earlier[line]; !known {
					earlier[line] = fmt.Sprintf("1.%d", minor)
				}
			}
		}
	}
	for line, since := range earlier {
		lines = append(lines, line+"\t"+since)
	}
	sort.Strings(lines)
	check(os.WriteFile("functions.tsv", []byte("name\tkind\targuments\tresult\tsince\n"+strings.Join(lines, "\n")+"\n"), 0o644))
}

func shown(of *types.Type) string { return of.String() }

func verdicts() {
	scheme := runtime.NewScheme()
	install.Install(scheme)
	text, err := os.ReadFile("rules.json")
	check(err)
	rules := table{}
	check(json.Unmarshal(text, &rules))
	found := []verdict{}
	for _, row := range rules.Rules {
		definition := v1.CustomResourceDefinition{}
		check(json.Unmarshal([]byte(fmt.Sprintf(`{"metadata": {"name": "things.rules.example.com"}, "spec": {"group": "rules.example.com",
			"scope": "Namespaced", "names": {"plural": "things", "singular": "thing", "kind": "Thing", "listKind": "ThingList"},
			"versions": [{"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema":
			{"type": "object", "properties": {"spec": %s}}}}]}, "status": {"storedVersions": ["v1"]}}`, rules.Spec)), &definition))
		properties := definition.Spec.Versions[0].Schema.OpenAPIV3Schema.Properties
		rule := v1.ValidationRule{}
		check(json.Unmarshal(row.Rule, &rule))
		spec := properties["spec"]
		spec.XValidations = append(spec.XValidations, rule)
		properties["spec"] = spec
		scheme.Default(&definition)
		internal := apiextensions.CustomResourceDefinition{}
		check(scheme.Convert(&definition, &internal, nil))
		result := verdict{Rule: row.Rule, Errors: []string{}, Objects: [][]string{}}
		for _, err := range validation.ValidateCustomResourceDefinition(context.Background(), &internal) {
			result.Errors = append(result.Errors, err.Error())
		}
		if len(result.Errors) == 0 {
			structural, err := schema.NewStructural(internal.Spec.Validation.OpenAPIV3Schema)
			check(err)
			validator := cel.NewValidator(structural, true, celconfig.PerCallLimit)
			for _, object := range row.Objects {
				whole := map[string]interface{}{}
				check(utiljson.Unmarshal([]byte(fmt.Sprintf(`{"apiVersion": "rules.example.com/v1", "kind": "Thing", "metadata": {"name": "a"}, "spec": %s}`, object)), &whole))
				said := []string{}
				errors, _ := validator.Validate(context.Background(), nil, structural, whole, nil, celconfig.RuntimeCELCostBudget)
				for _, err := range errors {
					said = append(said, err.Error())
				}
				result.Objects = append(result.Objects, said)
			}
		}
		found = append(found, result)
	}
	lines := []string{}
	for _, one := range found {
		line, err := json.Marshal(one)
		check(err)
		lines = append(lines, string(line))
	}
	check(os.WriteFile("verdicts.json", []byte("[\n"+strings.Join(lines, ",\n")+"\n]\n"), 0o644))
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}
