// Drives a fake Azure with the provider of the classic controller: every answer is parsed by what Mooring has not
// written. AZURE_JSON is its configuration, AZURE_NODES the Nodes as JSON. Prints what it has found, as JSON, or fails.
// With AZURE_SERVICES, it makes or deletes the load balancers of those Services instead (AZURE_DO is ensure or delete),
// and prints their addresses.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"log"
	"os"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	cloudprovider "k8s.io/cloud-provider"
	"sigs.k8s.io/cloud-provider-azure/pkg/provider"
	"sigs.k8s.io/cloud-provider-azure/pkg/provider/config"
)

// A Node, and the route to create for it.
type nodeInput struct {
	Name       string `json:"name"`
	ProviderID string `json:"providerID"`
	PodCIDR    string `json:"podCIDR"`
}

type nodeFacts struct {
	Exists     bool              `json:"exists"`
	Shutdown   bool              `json:"shutdown"`
	ProviderID string            `json:"providerID"`
	Type       string            `json:"type"`
	Zone       string            `json:"zone"`
	Region     string            `json:"region"`
	Addresses  []v1.NodeAddress  `json:"addresses"`
	Errors     map[string]string `json:"errors"`
}

type route struct {
	Name        string `json:"name"`
	Node        string `json:"node"`
	Destination string `json:"destination"`
}

type output struct {
	Nodes  map[string]nodeFacts `json:"nodes"`
	Before []route              `json:"before"`
	After  []route              `json:"after"`
}

func check(err error) {
	if err != nil {
		log.Output(2, err.Error())
		os.Exit(1)
	}
}

func routesOf(ctx context.Context, cloud *provider.Cloud) []route {
	routes, err := cloud.ListRoutes(ctx, "kubernetes")
	check(err)
	found := []route{}
	for _, one := range routes {
		found = append(found, route{one.Name, string(one.TargetNode), one.DestinationCIDR})
	}
	return found
}

// Its Nodes and Services are as an API server shows them.
func serve(ctx context.Context, cloud *provider.Cloud) {
	var nodes []*v1.Node
	check(json.Unmarshal([]byte(os.Getenv("AZURE_NODES")), &nodes))
	var services []*v1.Service
	check(json.Unmarshal([]byte(os.Getenv("AZURE_SERVICES")), &services))
	objects := []runtime.Object{}
	for _, node := range nodes {
		objects = append(objects, node)
	}
	for _, service := range services {
		objects = append(objects, service)
	}
	cloud.KubeClient = fake.NewSimpleClientset(objects...)
	factory := informers.NewSharedInformerFactory(cloud.KubeClient, 0)
	cloud.SetInformers(factory)
	factory.Start(ctx.Done())
	factory.WaitForCacheSync(ctx.Done())
	addresses := map[string][]string{}
	for _, service := range services {
		if os.Getenv("AZURE_DO") == "delete" {
			check(cloud.EnsureLoadBalancerDeleted(ctx, "kubernetes", service))
			continue
		}
		status, err := cloud.EnsureLoadBalancer(ctx, "kubernetes", service, nodes)
		check(err)
		for _, ingress := range status.Ingress {
			addresses[service.Name] = append(addresses[service.Name], ingress.IP)
		}
	}
	text, err := json.Marshal(addresses)
	check(err)
	fmt.Println(string(text))
}

func main() {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	parsed, err := config.ParseConfig(strings.NewReader(os.Getenv("AZURE_JSON")))
	check(err)
	opened, err := provider.NewCloud(ctx, nil, parsed, true)
	check(err)
	cloud := opened.(*provider.Cloud)
	if os.Getenv("AZURE_SERVICES") != "" {
		serve(ctx, cloud)
		return
	}
	cloud.KubeClient = fake.NewSimpleClientset()

	var inputs []nodeInput
	check(json.Unmarshal([]byte(os.Getenv("AZURE_NODES")), &inputs))
	found := output{Nodes: map[string]nodeFacts{}}
	for _, input := range inputs {
		node := &v1.Node{
			ObjectMeta: metav1.ObjectMeta{Name: input.Name},
			Spec:       v1.NodeSpec{ProviderID: input.ProviderID},
		}
		facts := nodeFacts{Errors: map[string]string{}}
		if facts.Exists, err = cloud.InstanceExists(ctx, node); err != nil {
			facts.Errors["exists"] = err.Error()
		}
		if facts.Exists {
			if facts.Shutdown, err = cloud.InstanceShutdown(ctx, node); err != nil {
				facts.Errors["shutdown"] = err.Error()
			}
			metadata, err := cloud.InstanceMetadata(ctx, node)
			if err != nil {
				facts.Errors["metadata"] = err.Error()
			} else {
				facts.ProviderID, facts.Type = metadata.ProviderID, metadata.InstanceType
				facts.Zone, facts.Region, facts.Addresses = metadata.Zone, metadata.Region, metadata.NodeAddresses
			}
		}
		found.Nodes[input.Name] = facts
	}

	routeTo := func(input nodeInput) *cloudprovider.Route {
		return &cloudprovider.Route{TargetNode: types.NodeName(input.Name), DestinationCIDR: input.PodCIDR}
	}
	found.Before = routesOf(ctx, cloud)
	for _, input := range inputs {
		if input.PodCIDR != "" {
			check(cloud.CreateRoute(ctx, "kubernetes", input.Name, routeTo(input)))
		}
	}
	found.After = routesOf(ctx, cloud)
	text, err := json.Marshal(found)
	check(err)
	fmt.Println(string(text))
}
