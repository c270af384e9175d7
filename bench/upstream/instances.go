package main

import (
	"context"
	"fmt"
	"net/url"
	"strings"

	v1 "k8s.io/api/core/v1"
	cloudprovider "k8s.io/cloud-provider"
)

// instance is what the cloud shows of a VM.
type instance struct {
	ID          string   `json:"id"`
	Name        string   `json:"name"`
	Region      string   `json:"region"`
	Zone        string   `json:"zone"`
	Type        string   `json:"type"`
	Power       string   `json:"power"`
	Hostname    string   `json:"hostname"`
	InternalDNS []string `json:"internalDns"`
	ExternalDNS []string `json:"externalDns"`
	Interfaces  []struct {
		Internal []string `json:"internal"`
		External []string `json:"external"`
	} `json:"interfaces"`
}

const (
	instancePath   = "/instances/"
	powerStopped   = "stopped"
	powerGone      = "terminated"
	noSuchInstance = "instance-not-found"
)

// instances answers each question by one request: by id where the Node has a providerID, by name otherwise.
type instances struct {
	client *client
}

// instanceID takes `simulated://region/id`.
func instanceID(providerID string) (string, error) {
	rest, found := strings.CutPrefix(providerID, providerName+"://")
	parts := strings.Split(rest, "/")
	if !found || len(parts) != 2 || parts[1] == "" {
		return "", fmt.Errorf("providerID %q: expected %s://region/id", providerID, providerName)
	}
	return parts[1], nil
}

func printProviderID(region, id string) string {
	return providerName + "://" + region + "/" + id
}

// find answers nil when there is no such instance, or none any more.
func (i *instances) find(ctx context.Context, node *v1.Node) (*instance, error) {
	if node.Spec.ProviderID == "" {
		var page struct {
			Items []instance `json:"items"`
		}
		if err := i.client.call(ctx, "GET", "/instances?name="+url.QueryEscape(node.Name), nil, &page); err != nil {
			return nil, err
		}
		for at := range page.Items {
			if page.Items[at].Power != powerGone {
				return &page.Items[at], nil
			}
		}
		return nil, nil
	}
	id, err := instanceID(node.Spec.ProviderID)
	if err != nil {
		return nil, err
	}
	var found instance
	err = i.client.call(ctx, "GET", instancePath+url.PathEscape(id), nil, &found)
	if isCode(err, noSuchInstance) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	if found.Power == powerGone {
		return nil, nil
	}
	return &found, nil
}

func (i *instances) InstanceExists(ctx context.Context, node *v1.Node) (bool, error) {
	found, err := i.find(ctx, node)
	return found != nil, err
}

func (i *instances) InstanceShutdown(ctx context.Context, node *v1.Node) (bool, error) {
	found, err := i.find(ctx, node)
	if err != nil {
		return false, err
	}
	if found == nil {
		return false, cloudprovider.InstanceNotFound
	}
	return found.Power == powerStopped, nil
}

func (i *instances) InstanceMetadata(ctx context.Context, node *v1.Node) (*cloudprovider.InstanceMetadata, error) {
	found, err := i.find(ctx, node)
	if err != nil {
		return nil, err
	}
	if found == nil {
		return nil, cloudprovider.InstanceNotFound
	}
	return &cloudprovider.InstanceMetadata{
		ProviderID:    printProviderID(found.Region, found.ID),
		InstanceType:  found.Type,
		Zone:          found.Zone,
		Region:        found.Region,
		NodeAddresses: addressesOf(found),
	}, nil
}

func addressesOf(found *instance) []v1.NodeAddress {
	var addresses []v1.NodeAddress
	add := func(kind v1.NodeAddressType, values ...string) {
		for _, value := range values {
			addresses = append(addresses, v1.NodeAddress{Type: kind, Address: value})
		}
	}
	for _, nic := range found.Interfaces {
		add(v1.NodeInternalIP, nic.Internal...)
	}
	for _, nic := range found.Interfaces {
		add(v1.NodeExternalIP, nic.External...)
	}
	add(v1.NodeHostName, found.Hostname)
	add(v1.NodeInternalDNS, found.InternalDNS...)
	add(v1.NodeExternalDNS, found.ExternalDNS...)
	return addresses
}
