// Control planes without machines: the API server and etcd of each node are played in memory by the packages that Cluster API tests itself
// with. What a machine would do is requested over HTTP:
//
//	POST   /clusters                {"name", "port"}
//	GET    /clusters/NAME           -> {"members": [NAME], "nodes": [NAME]}: members that etcd lists
//	POST   /clusters/NAME/machines  {"name", "providerID", "version", "controlPlane", "ca", "etcdCA": {"tls.crt", "tls.key"}}
//	DELETE /clusters/NAME/machines/MACHINE
//
// Prints the address that it listens on. Source: docs/protocol/capi-day1.md#4.
package main

import (
	"context"
	"crypto/rsa"
	"crypto/x509"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"net"
	"net/http"
	"os"
	"strconv"
	"sync"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cloudv1 "sigs.k8s.io/cluster-api/test/infrastructure/inmemory/pkg/cloud/api/v1alpha1"
	inmemoryruntime "sigs.k8s.io/cluster-api/test/infrastructure/inmemory/pkg/runtime"
	inmemoryserver "sigs.k8s.io/cluster-api/test/infrastructure/inmemory/pkg/server"
	"sigs.k8s.io/cluster-api/util/certs"
)

const host = "127.0.0.1"

// Static pods of a control plane, etcd aside.
var components = []string{"kube-apiserver", "kube-scheduler", "kube-controller-manager"}

type authority struct {
	Certificate []byte `json:"tls.crt"`
	Key         []byte `json:"tls.key"`
}

type machine struct {
	Name         string    `json:"name"`
	ProviderID   string    `json:"providerID"`
	Version      string    `json:"version"`
	ControlPlane bool      `json:"controlPlane"`
	CA           authority `json:"ca"`
	EtcdCA       authority `json:"etcdCA"`
}

type player struct {
	lock    sync.Mutex
	manager inmemoryruntime.Manager
	mux     *inmemoryserver.WorkloadClustersMux
	ids     uint64
}

func main() {
	debug := flag.Int("debug-port", 0, "port of the packages' own debug server")
	flag.Parse()
	ctrl.SetLogger(klog.Background())
	if err := serve(*debug); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func serve(debug int) error {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{
		cloudv1.AddToScheme, corev1.AddToScheme, appsv1.AddToScheme, rbacv1.AddToScheme, storagev1.AddToScheme, policyv1.AddToScheme,
	} {
		if err := add(scheme); err != nil {
			return err
		}
	}
	manager := inmemoryruntime.NewManager(scheme)
	if err := manager.Start(context.Background()); err != nil {
		return err
	}
	ports := inmemoryserver.CustomPorts{MinPort: 1, MaxPort: 65535, DebugPort: int32(debug)}
	mux, err := inmemoryserver.NewWorkloadClustersMux(manager, host, ports)
	if err != nil {
		return err
	}
	p := &player{manager: manager, mux: mux}
	routes := http.NewServeMux()
	routes.HandleFunc("POST /clusters", p.answering(p.addCluster))
	routes.HandleFunc("GET /clusters/{cluster}", p.answering(p.showCluster))
	routes.HandleFunc("POST /clusters/{cluster}/machines", p.answering(p.addMachine))
	routes.HandleFunc("DELETE /clusters/{cluster}/machines/{machine}", p.answering(p.removeMachine))
	listener, err := net.Listen("tcp", net.JoinHostPort(host, "0"))
	if err != nil {
		return err
	}
	fmt.Println(listener.Addr())
	return http.Serve(listener, routes)
}

// One request at a time; errors as text.
func (p *player) answering(handle func(*http.Request) (any, error)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		p.lock.Lock()
		defer p.lock.Unlock()
		answer, err := handle(r)
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		_ = json.NewEncoder(w).Encode(answer)
	}
}

func (p *player) addCluster(r *http.Request) (any, error) {
	var wanted struct {
		Name string `json:"name"`
		Port int32  `json:"port"`
	}
	if err := json.NewDecoder(r.Body).Decode(&wanted); err != nil {
		return nil, err
	}
	p.manager.AddResourceGroup(wanted.Name)
	for _, name := range []string{metav1.NamespaceDefault, metav1.NamespacePublic, metav1.NamespaceSystem} {
		namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"kubernetes.io/metadata.name": name}}}
		if err := p.create(r.Context(), wanted.Name, namespace); err != nil {
			return nil, err
		}
	}
	if _, err := p.mux.InitWorkloadClusterListener(wanted.Name, wanted.Port); err != nil {
		return nil, err
	}
	return map[string]string{}, p.mux.RegisterResourceGroup(wanted.Name, wanted.Name)
}

func (p *player) create(ctx context.Context, cluster string, object client.Object) error {
	err := p.manager.GetResourceGroup(cluster).GetClient().Create(ctx, object)
	if apierrors.IsAlreadyExists(err) {
		return nil
	}
	return err
}

func (p *player) showCluster(r *http.Request) (any, error) {
	cluster := r.PathValue("cluster")
	pods, err := p.etcdPods(r.Context(), cluster)
	if err != nil {
		return nil, err
	}
	// As requests over the API left them, which are of no type.
	nodes := &unstructured.UnstructuredList{}
	nodes.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("NodeList"))
	if err := p.manager.GetResourceGroup(cluster).GetClient().List(r.Context(), nodes); err != nil {
		return nil, err
	}
	shown := struct {
		Members []string `json:"members"`
		Nodes   []string `json:"nodes"`
	}{Members: []string{}, Nodes: []string{}}
	for _, pod := range pods {
		shown.Members = append(shown.Members, pod.Spec.NodeName)
	}
	for _, node := range nodes.Items {
		shown.Nodes = append(shown.Nodes, node.GetName())
	}
	return shown, nil
}

// Pods of members that were not removed from etcd.
func (p *player) etcdPods(ctx context.Context, cluster string) ([]corev1.Pod, error) {
	all := &corev1.PodList{}
	group := p.manager.GetResourceGroup(cluster)
	if group == nil {
		return nil, fmt.Errorf("no cluster %s", cluster)
	}
	labels := client.MatchingLabels{"component": "etcd", "tier": "control-plane"}
	if err := group.GetClient().List(ctx, all, client.InNamespace(metav1.NamespaceSystem), labels); err != nil {
		return nil, err
	}
	var listed []corev1.Pod
	for _, pod := range all.Items {
		if _, removed := pod.Annotations[cloudv1.EtcdMemberRemoved]; !removed {
			listed = append(listed, pod)
		}
	}
	return listed, nil
}

func (p *player) addMachine(r *http.Request) (any, error) {
	cluster := r.PathValue("cluster")
	var wanted machine
	if err := json.NewDecoder(r.Body).Decode(&wanted); err != nil {
		return nil, err
	}
	ctx := r.Context()
	if err := p.create(ctx, cluster, node(wanted)); err != nil {
		return nil, err
	}
	if !wanted.ControlPlane {
		return map[string]string{}, nil
	}
	if err := p.addMember(ctx, cluster, wanted); err != nil {
		return nil, err
	}
	for _, component := range components {
		if err := p.create(ctx, cluster, pod(component, wanted.Name)); err != nil {
			return nil, err
		}
	}
	if err := p.addOfKubeadm(ctx, cluster, wanted.Version); err != nil {
		return nil, err
	}
	name := "kube-apiserver-" + wanted.Name
	if p.mux.HasAPIServer(cluster, name) {
		return map[string]string{}, nil
	}
	certificate, key, err := wanted.CA.read()
	if err != nil {
		return nil, err
	}
	return map[string]string{}, p.mux.AddAPIServer(cluster, name, certificate, key)
}

func (p *player) addMember(ctx context.Context, cluster string, wanted machine) error {
	name := "etcd-" + wanted.Name
	if p.mux.HasEtcdMember(cluster, name) {
		return nil
	}
	others, err := p.etcdPods(ctx, cluster)
	if err != nil {
		return err
	}
	p.ids++
	annotations := map[string]string{cloudv1.EtcdMemberIDAnnotationName: strconv.FormatUint(p.ids, 10)}
	if len(others) == 0 {
		annotations[cloudv1.EtcdClusterIDAnnotationName] = "1"
		annotations[cloudv1.EtcdLeaderFromAnnotationName] = time.Now().Format(time.RFC3339)
	} else {
		annotations[cloudv1.EtcdClusterIDAnnotationName] = others[0].Annotations[cloudv1.EtcdClusterIDAnnotationName]
	}
	member := pod("etcd", wanted.Name)
	member.Annotations = annotations
	if err := p.create(ctx, cluster, member); err != nil {
		return err
	}
	certificate, key, err := wanted.EtcdCA.read()
	if err != nil {
		return err
	}
	return p.mux.AddEtcdMember(cluster, name, certificate, key)
}

// What kubeadm leaves in a cluster and KubeadmControlPlane reads.
func (p *player) addOfKubeadm(ctx context.Context, cluster, version string) error {
	system := func(name string) metav1.ObjectMeta {
		return metav1.ObjectMeta{Namespace: metav1.NamespaceSystem, Name: name}
	}
	template := func(name, image string) corev1.PodTemplateSpec {
		return corev1.PodTemplateSpec{Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: name, Image: image}}}}
	}
	for _, object := range []client.Object{
		&corev1.ConfigMap{ObjectMeta: system("kubeadm-config"), Data: map[string]string{"ClusterConfiguration": ""}},
		&corev1.ConfigMap{ObjectMeta: system("coredns"), Data: map[string]string{"Corefile": ""}},
		&appsv1.DaemonSet{ObjectMeta: system("kube-proxy"), Spec: appsv1.DaemonSetSpec{Template: template("kube-proxy", "registry.k8s.io/kube-proxy:"+version)}},
		&appsv1.Deployment{ObjectMeta: system("coredns"), Spec: appsv1.DeploymentSpec{Template: template("coredns", "registry.k8s.io/coredns/coredns:v1.12.1")}},
	} {
		if err := p.create(ctx, cluster, object); err != nil {
			return err
		}
	}
	return nil
}

func (p *player) removeMachine(r *http.Request) (any, error) {
	cluster, name := r.PathValue("cluster"), r.PathValue("machine")
	objects := []client.Object{&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}}, pod("etcd", name)}
	for _, component := range components {
		objects = append(objects, pod(component, name))
	}
	var failed []error
	for _, object := range objects {
		err := p.manager.GetResourceGroup(cluster).GetClient().Delete(r.Context(), object)
		failed = append(failed, client.IgnoreNotFound(err))
	}
	failed = append(failed, p.mux.DeleteEtcdMember(cluster, "etcd-"+name), p.mux.DeleteAPIServer(cluster, "kube-apiserver-"+name))
	return map[string]string{}, errors.Join(failed...)
}

func node(wanted machine) *corev1.Node {
	made := &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: wanted.Name},
		Spec:       corev1.NodeSpec{ProviderID: wanted.ProviderID},
		Status: corev1.NodeStatus{
			NodeInfo: corev1.NodeSystemInfo{KubeletVersion: wanted.Version},
			Conditions: []corev1.NodeCondition{
				{Type: corev1.NodeReady, Status: corev1.ConditionTrue, Reason: "KubeletReady", LastTransitionTime: metav1.Now()},
				{Type: corev1.NodeMemoryPressure, Status: corev1.ConditionFalse, Reason: "KubeletHasSufficientMemory", LastTransitionTime: metav1.Now()},
				{Type: corev1.NodeDiskPressure, Status: corev1.ConditionFalse, Reason: "KubeletHasNoDiskPressure", LastTransitionTime: metav1.Now()},
				{Type: corev1.NodePIDPressure, Status: corev1.ConditionFalse, Reason: "KubeletHasSufficientPID", LastTransitionTime: metav1.Now()},
			},
		},
	}
	if wanted.ControlPlane {
		const role = "node-role.kubernetes.io/control-plane"
		made.Labels = map[string]string{role: ""}
		made.Spec.Taints = []corev1.Taint{{Key: role, Effect: corev1.TaintEffectNoSchedule}}
	}
	return made
}

func pod(component, node string) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: metav1.NamespaceSystem, Name: component + "-" + node,
			Labels: map[string]string{"component": component, "tier": "control-plane"},
		},
		Spec: corev1.PodSpec{NodeName: node},
		Status: corev1.PodStatus{
			Phase:      corev1.PodRunning,
			Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}},
		},
	}
}

func (a authority) read() (*x509.Certificate, *rsa.PrivateKey, error) {
	certificate, err := certs.DecodeCertPEM(a.Certificate)
	if err != nil {
		return nil, nil, err
	}
	signer, err := certs.DecodePrivateKeyPEM(a.Key)
	if err != nil {
		return nil, nil, err
	}
	key, ok := signer.(*rsa.PrivateKey)
	if !ok {
		return nil, nil, errors.New("the authority's key is not RSA")
	}
	return certificate, key, nil
}
