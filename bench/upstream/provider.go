package main

import (
	"fmt"
	"io"
	"time"

	"k8s.io/client-go/informers"
	cloudprovider "k8s.io/cloud-provider"
)

const (
	providerName = "simulated"
	retryAfter   = 2 * time.Second
)

// simulated is the simulated cloud as a provider of k8s.io/cloud-provider, written as a good one would be: no call that can be saved within upstream's contract.
type simulated struct {
	instances     *instances
	loadBalancers *loadBalancers
	routes        *routes
}

func init() {
	cloudprovider.RegisterCloudProvider(providerName, func(file io.Reader) (cloudprovider.Interface, error) {
		config, err := readConfig(file)
		if err != nil {
			return nil, fmt.Errorf("cloud configuration: %w", err)
		}
		client := newClient(config)
		return &simulated{
			instances:     &instances{client: client},
			loadBalancers: &loadBalancers{client: client},
			routes:        &routes{client: client},
		}, nil
	})
}

func (s *simulated) Initialize(cloudprovider.ControllerClientBuilder, <-chan struct{}) {}

func (s *simulated) SetInformers(factory informers.SharedInformerFactory) {
	s.routes.nodes = factory.Core().V1().Nodes().Lister()
}

func (s *simulated) InstancesV2() (cloudprovider.InstancesV2, bool) { return s.instances, true }

func (s *simulated) LoadBalancer() (cloudprovider.LoadBalancer, bool) { return s.loadBalancers, true }

func (s *simulated) Routes() (cloudprovider.Routes, bool) { return s.routes, true }

func (s *simulated) Instances() (cloudprovider.Instances, bool) { return nil, false }

func (s *simulated) Zones() (cloudprovider.Zones, bool) { return nil, false }

func (s *simulated) Clusters() (cloudprovider.Clusters, bool) { return nil, false }

func (s *simulated) ProviderName() string { return providerName }

func (s *simulated) HasClusterID() bool { return true }
