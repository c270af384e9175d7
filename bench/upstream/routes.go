package main

import (
	"context"
	"errors"
	"fmt"
	"net/url"

	"k8s.io/apimachinery/pkg/types"
	corelisters "k8s.io/client-go/listers/core/v1"
	cloudprovider "k8s.io/cloud-provider"
)

type route struct {
	ID          string            `json:"id,omitempty"`
	Destination string            `json:"destination"`
	InstanceID  string            `json:"instanceId"`
	Description string            `json:"description"`
	Tags        map[string]string `json:"tags,omitempty"`
	Blackhole   bool              `json:"blackhole,omitempty"`
}

const (
	clusterTag  = "cluster"
	noSuchRoute = "route-not-found"
)

// routes keeps the Node's name in the description, and takes its instance from the Node: neither needs a call.
type routes struct {
	client *client
	nodes  corelisters.NodeLister
}

func (r *routes) ListRoutes(ctx context.Context, clusterName string) ([]*cloudprovider.Route, error) {
	var all []*cloudprovider.Route
	query := url.Values{"limit": {"1000"}, "tag": {clusterTag + ":" + clusterName}}
	for {
		var page struct {
			Items         []route `json:"items"`
			NextPageToken string  `json:"nextPageToken"`
		}
		if err := r.client.call(ctx, "GET", "/routes?"+query.Encode(), nil, &page); err != nil {
			return nil, err
		}
		for _, one := range page.Items {
			all = append(all, &cloudprovider.Route{
				Name:            one.ID,
				TargetNode:      types.NodeName(one.Description),
				DestinationCIDR: one.Destination,
				Blackhole:       one.Blackhole,
			})
		}
		if page.NextPageToken == "" {
			return all, nil
		}
		query.Set("pageToken", page.NextPageToken)
	}
}

func (r *routes) CreateRoute(ctx context.Context, clusterName, _ string, wanted *cloudprovider.Route) error {
	if r.nodes == nil {
		return errors.New("no informer of Nodes yet")
	}
	node, err := r.nodes.Get(string(wanted.TargetNode))
	if err != nil {
		return err
	}
	id, err := instanceID(node.Spec.ProviderID)
	if err != nil {
		return fmt.Errorf("node %s: %w", node.Name, err)
	}
	body := route{
		Destination: wanted.DestinationCIDR,
		InstanceID:  id,
		Description: node.Name,
		Tags:        map[string]string{clusterTag: clusterName},
	}
	return r.client.call(ctx, "POST", "/routes", body, nil)
}

func (r *routes) DeleteRoute(ctx context.Context, _ string, listed *cloudprovider.Route) error {
	err := r.client.call(ctx, "DELETE", "/routes/"+url.PathEscape(listed.Name), nil, nil)
	if isCode(err, noSuchRoute) {
		return nil
	}
	return err
}
