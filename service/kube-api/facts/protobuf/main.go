// Writes NAME.bin (the protobuf form, as typed clients send it) and NAME.json (the JSON form) of objects of the built-in kinds, with the
// library that those clients use: go run . (see go.mod). What reads the one must find the other.
package main

import (
	"bytes"
	"os"
	"time"

	authentication "k8s.io/api/authentication/v1"
	authorization "k8s.io/api/authorization/v1"
	certificates "k8s.io/api/certificates/v1"
	coordination "k8s.io/api/coordination/v1"
	core "k8s.io/api/core/v1"
	events "k8s.io/api/events/v1"
	apiextensions "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer/json"
	"k8s.io/apimachinery/pkg/runtime/serializer/protobuf"
)

func pointer[T any](value T) *T { return &value }

func main() {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{core.AddToScheme, coordination.AddToScheme, events.AddToScheme, certificates.AddToScheme,
		authentication.AddToScheme, authorization.AddToScheme, apiextensions.AddToScheme} {
		check(add(scheme))
	}
	at := meta.NewTime(time.Date(2026, 11, 21, 10, 20, 30, 0, time.UTC))
	micro := meta.NewMicroTime(time.Date(2026, 11, 21, 10, 20, 30, 123456000, time.UTC))
	named := func(name string) meta.ObjectMeta {
		return meta.ObjectMeta{
			Name: name, Namespace: "n", UID: "db2d59c4-412c-32af-bb0e-6536bc221196", ResourceVersion: "7", Generation: 2, CreationTimestamp: at,
			Labels: map[string]string{"a": "b", "empty": ""}, Annotations: map[string]string{"x.y/z": "ü"}, Finalizers: []string{"f.g/h"},
			OwnerReferences: []meta.OwnerReference{{APIVersion: "g/v1", Kind: "K", Name: "o", UID: "u", Controller: pointer(true)}},
			ManagedFields: []meta.ManagedFieldsEntry{{Manager: "m", Operation: meta.ManagedFieldsOperationUpdate, APIVersion: "v1", Time: &at,
				FieldsType: "FieldsV1", FieldsV1: &meta.FieldsV1{Raw: []byte(`{"f:data":{".":{},"f:k":{}}}`)}}},
		}
	}
	text := apiextensions.JSONSchemaProps{Type: "string", MaxLength: pointer(int64(64)), MinLength: pointer(int64(0))}
	objects := map[string]runtime.Object{
		"definition": &apiextensions.CustomResourceDefinition{ObjectMeta: meta.ObjectMeta{Name: "papers.library.example.com"}, Spec: apiextensions.CustomResourceDefinitionSpec{
			Group: "library.example.com", Scope: apiextensions.NamespaceScoped, Names: apiextensions.CustomResourceDefinitionNames{Plural: "papers", Kind: "Paper", ShortNames: []string{"pp"}},
			Versions: []apiextensions.CustomResourceDefinitionVersion{{Name: "v1", Served: true, Storage: true,
				Subresources:             &apiextensions.CustomResourceSubresources{Status: &apiextensions.CustomResourceSubresourceStatus{}},
				AdditionalPrinterColumns: []apiextensions.CustomResourceColumnDefinition{{Name: "Pages", Type: "integer", JSONPath: ".spec.pages"}, {Name: "Title", Type: "string", JSONPath: ".spec.title", Priority: 1}},
				Schema: &apiextensions.CustomResourceValidation{OpenAPIV3Schema: &apiextensions.JSONSchemaProps{Type: "object", Properties: map[string]apiextensions.JSONSchemaProps{
					"spec": {Type: "object", Required: []string{"title"}, Properties: map[string]apiextensions.JSONSchemaProps{
						"title": text,
						"pages": {Type: "integer", Format: "int32", Minimum: pointer(0.0), Maximum: pointer(1e4), Default: &apiextensions.JSON{Raw: []byte("1")}},
						"genre": {Type: "string", Enum: []apiextensions.JSON{{Raw: []byte(`"novel"`)}, {Raw: []byte(`"manual"`)}}},
						"port":  {XIntOrString: true, AnyOf: []apiextensions.JSONSchemaProps{{Type: "integer"}, {Type: "string"}}},
						"any":   {Type: "object", XPreserveUnknownFields: pointer(true)},
						"words": {Type: "object", AdditionalProperties: &apiextensions.JSONSchemaPropsOrBool{Allows: true, Schema: &text}},
						"authors": {Type: "array", MaxItems: pointer(int64(9)), XListType: pointer("map"), XListMapKeys: []string{"name"}, Items: &apiextensions.JSONSchemaPropsOrArray{Schema: &apiextensions.JSONSchemaProps{
							Type: "object", Required: []string{"name"}, Properties: map[string]apiextensions.JSONSchemaProps{"name": text, "born": {Type: "string", Format: "date", Nullable: true}}}}},
					}, XValidations: apiextensions.ValidationRules{{Rule: "self.title != ''", Message: "a title is needed", Reason: pointer(apiextensions.FieldValueRequired), FieldPath: ".title"}}},
					"status": {Type: "object", XPreserveUnknownFields: pointer(true)},
				}}}}, {Name: "v1alpha1", Schema: &apiextensions.CustomResourceValidation{OpenAPIV3Schema: &apiextensions.JSONSchemaProps{Type: "object", XPreserveUnknownFields: pointer(true)}}}}}},
		"secret":          &core.Secret{ObjectMeta: named("s"), Type: "Opaque", Data: map[string][]byte{"k": {0, 1, 255}}, StringData: map[string]string{"t": "v"}, Immutable: pointer(false)},
		"configmap":       &core.ConfigMap{ObjectMeta: named("c"), Data: map[string]string{"k": "v"}, BinaryData: map[string][]byte{"b": []byte("bytes")}},
		"namespace":       &core.Namespace{ObjectMeta: named("n"), Spec: core.NamespaceSpec{Finalizers: []core.FinalizerName{"kubernetes"}}},
		"lease":           &coordination.Lease{ObjectMeta: named("l"), Spec: coordination.LeaseSpec{HolderIdentity: pointer("me"), LeaseDurationSeconds: pointer(int32(15)), AcquireTime: &micro, RenewTime: &micro, LeaseTransitions: pointer(int32(0))}},
		"event":           &core.Event{ObjectMeta: named("e"), InvolvedObject: core.ObjectReference{Kind: "K", Name: "o", UID: "u", FieldPath: "spec"}, Reason: "R", Message: "m", Source: core.EventSource{Component: "c"}, FirstTimestamp: at, LastTimestamp: at, Count: 3, Type: "Normal", EventTime: micro, Series: &core.EventSeries{Count: 2, LastObservedTime: micro}},
		"new-event":       &events.Event{ObjectMeta: named("e"), EventTime: micro, ReportingController: "c", ReportingInstance: "i", Action: "A", Reason: "R", Regarding: core.ObjectReference{Name: "o"}, Note: "n", Type: "Warning"},
		"csr":             &certificates.CertificateSigningRequest{ObjectMeta: named("r"), Spec: certificates.CertificateSigningRequestSpec{Request: []byte("pem"), SignerName: "a.b/c", Usages: []certificates.KeyUsage{"client auth"}, ExpirationSeconds: pointer(int32(3600)), Groups: []string{"g"}, Extra: map[string]certificates.ExtraValue{"k": {"1", "2"}}}},
		"identity-review": &authentication.SelfSubjectReview{Status: authentication.SelfSubjectReviewStatus{UserInfo: authentication.UserInfo{Username: "u", Groups: []string{"g"}, Extra: map[string]authentication.ExtraValue{"k": {"1"}}}}},
		"access-review":   &authorization.SelfSubjectAccessReview{Spec: authorization.SelfSubjectAccessReviewSpec{ResourceAttributes: &authorization.ResourceAttributes{Namespace: "n", Verb: "create", Group: "g", Resource: "r", Name: "o"}}},
		"rules-review":    &authorization.SelfSubjectRulesReview{Spec: authorization.SelfSubjectRulesReviewSpec{Namespace: "n"}},
		"node": &core.Node{ObjectMeta: named("w"), Spec: core.NodeSpec{ProviderID: "agent://x", PodCIDRs: []string{"10.0.0.0/24"}, Taints: []core.Taint{{Key: "k", Effect: core.TaintEffectNoSchedule, TimeAdded: &at}}, Unschedulable: true},
			Status: core.NodeStatus{Capacity: core.ResourceList{"cpu": resource.MustParse("4"), "memory": resource.MustParse("16Gi")},
				Conditions: []core.NodeCondition{{Type: "Ready", Status: "True", LastHeartbeatTime: at, LastTransitionTime: at, Reason: "R", Message: "m"}},
				Addresses:  []core.NodeAddress{{Type: "InternalIP", Address: "192.0.2.1"}}, NodeInfo: core.NodeSystemInfo{KubeletVersion: "v1", OSImage: "o"}}},
	}
	toJSON := json.NewSerializerWithOptions(json.DefaultMetaFactory, scheme, scheme, json.SerializerOptions{Pretty: true})
	toProtobuf := protobuf.NewSerializer(scheme, scheme)
	for name, object := range objects {
		kinds, _, err := scheme.ObjectKinds(object)
		check(err)
		object.GetObjectKind().SetGroupVersionKind(kinds[0])
		for end, encoder := range map[string]runtime.Encoder{"json": toJSON, "bin": toProtobuf} {
			var out bytes.Buffer
			check(encoder.Encode(object, &out))
			check(os.WriteFile(name+"."+end, out.Bytes(), 0o644))
		}
	}
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}
