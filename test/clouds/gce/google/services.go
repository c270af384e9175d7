package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/cloud-provider-gcp/providers/gce"
)

// clusterID stands in the ConfigMap kube-system/ingress-uid.
const clusterID = "0123456789abcdef"

type anyClient struct{ client kubernetes.Interface }

func (c anyClient) Config(string) (*rest.Config, error)         { return nil, nil }
func (c anyClient) ConfigOrDie(string) *rest.Config             { return nil }
func (c anyClient) Client(string) (kubernetes.Interface, error) { return c.client, nil }
func (c anyClient) ClientOrDie(string) kubernetes.Interface     { return c.client }

// answerAsAPIServer shows the ConfigMap, and takes every change of a Service.
func answerAsAPIServer(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("content-type", "application/json")
	uid := `{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"ingress-uid","namespace":"kube-system",` +
		`"resourceVersion":"1"},"data":{"uid":"` + clusterID + `","provider-uid":"` + clusterID + `"}}`
	switch {
	case r.URL.Query().Get("watch") != "":
		w.WriteHeader(200)
		w.(http.Flusher).Flush()
		<-r.Context().Done()
	case strings.HasSuffix(r.URL.Path, "/configmaps"):
		fmt.Fprintf(w, `{"kind":"ConfigMapList","apiVersion":"v1","metadata":{"resourceVersion":"1"},"items":[%s]}`, uid)
	case strings.Contains(r.URL.Path, "/configmaps/"):
		fmt.Fprint(w, uid)
	default:
		fmt.Fprint(w, `{"kind":"Service","apiVersion":"v1","metadata":{"name":"any","namespace":"default"}}`)
	}
}

// driveServices ensures, or deletes, the load balancers of the Services in a file, one after the other, with the nodes
// vm-1 and vm-2.
func driveServices(url, verb, file string) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	var services []*v1.Service
	if err := json.Unmarshal(text, &services); err != nil {
		return err
	}
	server := httptest.NewServer(http.HandlerFunc(answerAsAPIServer))
	defer server.CloseClientConnections()
	client, err := kubernetes.NewForConfig(&rest.Config{Host: server.URL})
	if err != nil {
		return err
	}
	provider, err := gce.CreateGCECloud(&gce.CloudConfig{
		APIEndpoint: url, ProjectID: project, NetworkProjectID: project, Region: "us-central1", Zone: zones[0],
		ManagedZones: zones[:2], NetworkName: "default", SubnetworkName: "default", TokenSource: anyToken{},
		NodeTags: []string{"node"}, AlphaFeatureGate: gce.NewAlphaFeatureGate(nil),
	})
	if err != nil {
		return err
	}
	provider.Initialize(anyClient{client}, make(chan struct{}))
	// It reads the ConfigMap at its leisure.
	for tries := 0; tries < 100; tries++ {
		if _, err := provider.ClusterID.GetID(); err == nil {
			break
		}
		time.Sleep(100 * time.Millisecond)
	}
	var nodes []*v1.Node
	for at, name := range []string{"vm-1", "vm-2"} {
		nodes = append(nodes, &v1.Node{
			ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{v1.LabelTopologyZone: zones[at]}},
			Spec:       v1.NodeSpec{ProviderID: "gce://" + project + "/" + zones[at] + "/" + name},
		})
	}
	ctx := context.Background()
	for _, service := range services {
		line := map[string]any{"what": service.Name}
		if verb == "delete" {
			err = provider.EnsureLoadBalancerDeleted(ctx, "kubernetes", service)
		} else {
			var status *v1.LoadBalancerStatus
			status, err = provider.EnsureLoadBalancer(ctx, "kubernetes", service, nodes)
			if status != nil && len(status.Ingress) > 0 {
				line["value"] = status.Ingress[0].IP
			}
		}
		if err != nil {
			line["error"] = err.Error()
		}
		text, _ := json.Marshal(line)
		fmt.Println(string(text))
	}
	return nil
}
