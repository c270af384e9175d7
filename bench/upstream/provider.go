package main

import (
	"fmt"
	"io"

	cloudprovider "k8s.io/cloud-provider"
)

const providerName = "simulated"

// simulated is the simulated cloud as a provider of k8s.io/cloud-provider.
type simulated struct {
	instances *instances
}

func init() {
	cloudprovider.RegisterCloudProvider(providerName, func(file io.Reader) (cloudprovider.Interface, error) {
		config, err := readConfig(file)
		if err != nil {
			return nil, fmt.Errorf("cloud configuration: %w", err)
		}
		client := newClient(config)
		return &simulated{
			instances: &instances{client: client},
		}, nil
	})
}

func (s *simulated) Initialize(cloudprovider.ControllerClientBuilder, <-chan struct{}) {}

func (s *simulated) InstancesV2() (cloudprovider.InstancesV2, bool) { return s.instances, true }

func (s *simulated) LoadBalancer() (cloudprovider.LoadBalancer, bool) { return nil, false }

func (s *simulated) Routes() (cloudprovider.Routes, bool) { return nil, false }

func (s *simulated) Instances() (cloudprovider.Instances, bool) { return nil, false }

func (s *simulated) Zones() (cloudprovider.Zones, bool) { return nil, false }

func (s *simulated) Clusters() (cloudprovider.Clusters, bool) { return nil, false }

func (s *simulated) ProviderName() string { return providerName }

func (s *simulated) HasClusterID() bool { return true }
