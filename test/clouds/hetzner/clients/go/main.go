// Drives a fake Hetzner Cloud with hcloud-go, the client of the classic controller: every answer is parsed by what Mooring
// has not written. HETZNER_URL and HETZNER_TOKEN say where. Ends in "ok" or in a failure.
package main

import (
	"context"
	"fmt"
	"log"
	"net"
	"os"
	"time"

	"github.com/hetznercloud/hcloud-go/v2/hcloud"
)

var ctx = context.Background()

func must[T any](value T, _ *hcloud.Response, err error) T {
	if err != nil {
		log.Output(2, err.Error())
		os.Exit(1)
	}
	return value
}

func assert(holds bool, what string) {
	if !holds {
		log.Output(2, what)
		os.Exit(1)
	}
}

func refused(code hcloud.ErrorCode, err error) {
	assert(hcloud.IsError(err, code), fmt.Sprintf("expected %s, got %v", code, err))
}

func main() {
	log.SetFlags(log.Lshortfile)
	client := hcloud.NewClient(
		hcloud.WithEndpoint(os.Getenv("HETZNER_URL")),
		hcloud.WithToken(os.Getenv("HETZNER_TOKEN")),
		hcloud.WithPollOpts(hcloud.PollOpts{BackoffFunc: hcloud.ConstantBackoff(100 * time.Millisecond)}),
		hcloud.WithRetryOpts(hcloud.RetryOpts{MaxRetries: 0}),
	)
	wait := func(actions ...*hcloud.Action) {
		if err := client.Action.WaitFor(ctx, actions...); err != nil {
			log.Output(2, err.Error())
			os.Exit(1)
		}
	}

	servers, err := client.Server.All(ctx)
	assert(err == nil && len(servers) == 60, fmt.Sprintf("servers: %d, %v", len(servers), err))
	server := must(client.Server.Get(ctx, "node-7"))
	assert(server.Status == hcloud.ServerStatusRunning && server.Location.Name == "fsn1", "node-7")
	assert(server.PublicNet.IPv6.Network != nil && server.ServerType.Name == "cpx11", "network and type of node-7")
	missing, _, err := client.Server.GetByID(ctx, 1)
	assert(missing == nil && err == nil, "a server that is not there")

	network := must(client.Network.Get(ctx, "k8s"))
	_, destination, _ := net.ParseCIDR("10.244.8.0/24")
	route := hcloud.NetworkRoute{Destination: destination, Gateway: server.PrivateNet[0].IP}
	wait(must(client.Network.AddRoute(ctx, network, hcloud.NetworkAddRouteOpts{Route: route})))
	network = must(client.Network.GetByID(ctx, network.ID))
	assert(len(network.Routes) == 1 && network.Routes[0].Gateway.Equal(route.Gateway), "the route")
	_, _, err = client.Network.AddRoute(ctx, network, hcloud.NetworkAddRouteOpts{Route: route})
	refused(hcloud.ErrorCodeInvalidInput, err)
	wait(must(client.Network.DeleteRoute(ctx, network, hcloud.NetworkDeleteRouteOpts{Route: route})))

	types, err := client.LoadBalancerType.All(ctx)
	assert(err == nil && len(types) == 3 && types[0].MaxTargets == 25, "types of load balancers")
	_, err = client.Location.All(ctx)
	assert(err == nil, "locations")

	opts := hcloud.LoadBalancerCreateOpts{
		Name:             "lb-2",
		LoadBalancerType: &hcloud.LoadBalancerType{Name: types[0].Name},
		Location:         &hcloud.Location{Name: "fsn1"},
		Labels:           map[string]string{"hcloud-ccm/service-uid": "0b6c"},
		Network:          network,
		Algorithm:        &hcloud.LoadBalancerAlgorithm{Type: hcloud.LoadBalancerAlgorithmTypeRoundRobin},
	}
	made := must(client.LoadBalancer.Create(ctx, opts))
	wait(made.Action)
	_, _, err = client.LoadBalancer.Create(ctx, opts)
	refused(hcloud.ErrorCodeUniquenessError, err)
	lb := made.LoadBalancer

	service := hcloud.LoadBalancerAddServiceOpts{
		Protocol:        hcloud.LoadBalancerServiceProtocolTCP,
		ListenPort:      hcloud.Ptr(80),
		DestinationPort: hcloud.Ptr(30080),
		Proxyprotocol:   hcloud.Ptr(true),
		HealthCheck: &hcloud.LoadBalancerAddServiceOptsHealthCheck{
			Protocol: hcloud.LoadBalancerServiceProtocolTCP,
			Port:     hcloud.Ptr(30080),
			Interval: hcloud.Ptr(15 * time.Second),
			Timeout:  hcloud.Ptr(10 * time.Second),
			Retries:  hcloud.Ptr(3),
		},
	}
	first := must(client.LoadBalancer.AddService(ctx, lb, service))
	_, _, err = client.LoadBalancer.AddService(ctx, lb, service)
	refused(hcloud.ErrorCodeLocked, err)
	wait(first)
	wait(must(client.LoadBalancer.AddServerTarget(ctx, lb, hcloud.LoadBalancerAddServerTargetOpts{
		Server: server, UsePrivateIP: hcloud.Ptr(true),
	})))
	wait(must(client.LoadBalancer.AddIPTarget(ctx, lb, hcloud.LoadBalancerAddIPTargetOpts{IP: net.ParseIP("10.0.200.1")})))
	lb = must(client.LoadBalancer.GetByID(ctx, lb.ID))
	assert(len(lb.Services) == 1 && lb.Services[0].Proxyprotocol && lb.Services[0].HealthCheck.Port == 30080, "service")
	assert(len(lb.Targets) == 2 && lb.Targets[0].UsePrivateIP && lb.Targets[1].IP.IP == "10.0.200.1", "targets")
	assert(lb.PublicNet.IPv4.IP != nil && len(lb.PrivateNet) == 1, "addresses")
	wait(must(client.LoadBalancer.RemoveIPTarget(ctx, lb, net.ParseIP("10.0.200.1"))))
	wait(must(client.LoadBalancer.RemoveServerTarget(ctx, lb, server)))
	wait(must(client.LoadBalancer.DeleteService(ctx, lb, 80)))

	managed, _, err := client.Certificate.CreateCertificate(ctx, hcloud.CertificateCreateOpts{
		Name: "managed", Type: hcloud.CertificateTypeManaged, DomainNames: []string{"a.example"},
	})
	assert(err == nil && managed.Action != nil, "managed certificate")
	wait(managed.Action)
	_, err = client.Certificate.Delete(ctx, managed.Certificate)
	assert(err == nil, "removal of the certificate")

	deleted := must(client.LoadBalancer.DeleteWithResult(ctx, lb))
	wait(deleted.Action)
	gone := must(client.LoadBalancer.Get(ctx, "lb-2"))
	assert(gone == nil, "the load balancer is still there")
	fmt.Println("ok")
}
