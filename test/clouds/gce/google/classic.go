package main

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"golang.org/x/oauth2"
	cloudprovider "k8s.io/cloud-provider"
	"k8s.io/cloud-provider-gcp/providers/gce"
)

type anyToken struct{}

func (anyToken) Token() (*oauth2.Token, error) {
	return &oauth2.Token{AccessToken: "good", Expiry: time.Now().Add(time.Hour)}, nil
}

// driveClassic does with Google's cloud provider what the classic controller does for one node and one route.
func driveClassic(url string) error {
	ctx := context.Background()
	provider, err := gce.CreateGCECloud(&gce.CloudConfig{
		APIEndpoint: url, ProjectID: project, NetworkProjectID: project, Region: "us-central1", Zone: zones[0],
		ManagedZones: zones[:2], NetworkName: "default", SubnetworkName: "default", TokenSource: anyToken{},
		NodeTags: []string{"node"}, AlphaFeatureGate: gce.NewAlphaFeatureGate(nil),
	})
	if err != nil {
		return err
	}
	tell := func(what string, value any, err error) {
		line := map[string]any{"what": what, "value": value}
		if err != nil {
			line["error"] = err.Error()
		}
		text, _ := json.Marshal(line)
		fmt.Println(string(text))
	}
	for _, name := range []string{"vm-1", "none"} {
		exists, err := provider.InstanceExistsByProviderID(ctx, "gce://"+project+"/"+zones[0]+"/"+name)
		tell("exists "+name, exists, err)
	}
	addresses, err := provider.NodeAddressesByProviderID(ctx, "gce://"+project+"/"+zones[0]+"/vm-1")
	tell("addresses", addresses, err)
	metadata, err := provider.InstanceTypeByProviderID(ctx, "gce://"+project+"/"+zones[0]+"/vm-1")
	tell("type", metadata, err)
	id, err := provider.InstanceID(ctx, "vm-2")
	tell("id of vm-2", id, err)
	route := &cloudprovider.Route{TargetNode: "vm-1", DestinationCIDR: "10.9.0.0/24"}
	tell("create", nil, provider.CreateRoute(ctx, "kubernetes", "7e2b8c1e-0f0a-4f53-b3a5-0c8d6f1f2a3b", route))
	routes, err := provider.ListRoutes(ctx, "kubernetes")
	tell("routes", routes, err)
	for _, each := range routes {
		tell("delete", nil, provider.DeleteRoute(ctx, "kubernetes", each))
	}
	routes, err = provider.ListRoutes(ctx, "kubernetes")
	tell("routes left", len(routes), err)
	return nil
}
