package main

import (
	"context"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"sync"

	v1 "k8s.io/api/core/v1"
	cloudprovider "k8s.io/cloud-provider"
	"k8s.io/cloud-provider/api"
	"k8s.io/cloud-provider/service/helpers"
)

type healthCheck struct {
	Port int32  `json:"port"`
	Path string `json:"path"`
}

type sessionAffinity struct {
	TimeoutSeconds int32 `json:"timeoutSeconds"`
}

type member struct {
	InstanceID string `json:"instanceId"`
	Weight     int    `json:"weight"`
}

type pool struct {
	ID              string           `json:"id,omitempty"`
	Name            string           `json:"name"`
	HealthCheck     *healthCheck     `json:"healthCheck"`
	SessionAffinity *sessionAffinity `json:"sessionAffinity"`
	Members         []member         `json:"members"`
}

type listener struct {
	ID           string   `json:"id,omitempty"`
	Protocol     string   `json:"protocol"`
	Port         int32    `json:"port"`
	MemberPort   int32    `json:"memberPort"`
	SourceRanges []string `json:"sourceRanges"`
	Pool         string   `json:"pool"`
}

type loadBalancer struct {
	ID        string            `json:"id,omitempty"`
	Name      string            `json:"name"`
	Tags      map[string]string `json:"tags,omitempty"`
	Families  []string          `json:"families,omitempty"`
	State     string            `json:"state,omitempty"`
	Addresses []struct {
		IP string `json:"ip"`
	} `json:"addresses,omitempty"`
	Listeners []listener `json:"listeners"`
	Pools     []pool     `json:"pools"`
}

const (
	poolName           = "nodes"
	noSuchLoadBalancer = "load-balancer-not-found"
	defaultHealthPort  = 10256
	defaultHealthPath  = "/healthz"
)

// place says where the members of a load balancer are, so that changing them needs no search.
type place struct {
	loadBalancer, pool string
}

// loadBalancers keeps one load balancer for each Service, with one pool for all its listeners. They are found by name, as upstream's contract has it; ids that were
// seen are remembered.
type loadBalancers struct {
	client *client
	places sync.Map // of name to place
}

func (l *loadBalancers) GetLoadBalancerName(_ context.Context, _ string, service *v1.Service) string {
	return cloudprovider.DefaultLoadBalancerName(service)
}

// find answers nil when there is none of that name.
func (l *loadBalancers) find(ctx context.Context, name string) (*loadBalancer, error) {
	var page struct {
		Items []loadBalancer `json:"items"`
	}
	if err := l.client.call(ctx, "GET", "/load-balancers?name="+url.QueryEscape(name), nil, &page); err != nil {
		return nil, err
	}
	for at := range page.Items {
		if page.Items[at].State != "deleting" {
			l.remember(&page.Items[at])
			return &page.Items[at], nil
		}
	}
	return nil, nil
}

func (l *loadBalancers) remember(found *loadBalancer) {
	if len(found.Pools) > 0 {
		l.places.Store(found.Name, place{loadBalancer: found.ID, pool: found.Pools[0].ID})
	}
}

func (l *loadBalancers) GetLoadBalancer(ctx context.Context, clusterName string, service *v1.Service) (*v1.LoadBalancerStatus, bool, error) {
	found, err := l.find(ctx, l.GetLoadBalancerName(ctx, clusterName, service))
	if err != nil || found == nil {
		return nil, false, err
	}
	return statusOf(found), true, nil
}

func (l *loadBalancers) EnsureLoadBalancer(ctx context.Context, clusterName string, service *v1.Service, nodes []*v1.Node) (*v1.LoadBalancerStatus, error) {
	desired, err := desiredOf(l.GetLoadBalancerName(ctx, clusterName, service), clusterName, service, nodes)
	if err != nil {
		return nil, err
	}
	found, err := l.find(ctx, desired.Name)
	if err != nil {
		return nil, err
	}
	if found == nil {
		found = &loadBalancer{}
		if err := l.client.call(ctx, "POST", "/load-balancers", desired, found); err != nil {
			return nil, err
		}
		l.remember(found)
	} else if err := l.change(ctx, found, desired); err != nil {
		return nil, err
	}
	if found.State != "active" {
		return nil, api.NewRetryError(fmt.Sprintf("load balancer %s is %s", found.Name, found.State), retryAfter)
	}
	return statusOf(found), nil
}

// change makes what differs as desired, one call for each difference.
func (l *loadBalancers) change(ctx context.Context, found, desired *loadBalancer) error {
	if len(found.Pools) != 1 {
		return fmt.Errorf("load balancer %s: %d pools, expected 1", found.Name, len(found.Pools))
	}
	base := "/load-balancers/" + url.PathEscape(found.ID)
	has, want := found.Pools[0], desired.Pools[0]
	if !equal(has.HealthCheck, want.HealthCheck) || !equal(has.SessionAffinity, want.SessionAffinity) {
		body := map[string]any{"healthCheck": want.HealthCheck, "sessionAffinity": want.SessionAffinity}
		if err := l.client.call(ctx, "PATCH", base+"/pools/"+url.PathEscape(has.ID), body, nil); err != nil {
			return err
		}
	}
	if !slices.Equal(has.Members, want.Members) {
		if err := l.setMembers(ctx, place{loadBalancer: found.ID, pool: has.ID}, want.Members); err != nil {
			return err
		}
	}
	kept := map[string]listener{}
	for _, one := range found.Listeners {
		kept[listenerKey(one)] = one
	}
	for _, one := range desired.Listeners {
		old, there := kept[listenerKey(one)]
		delete(kept, listenerKey(one))
		one.Pool = has.ID
		if !there {
			if err := l.client.call(ctx, "POST", base+"/listeners", one, nil); err != nil {
				return err
			}
		} else if old.MemberPort != one.MemberPort || !slices.Equal(old.SourceRanges, one.SourceRanges) {
			if err := l.client.call(ctx, "PATCH", base+"/listeners/"+url.PathEscape(old.ID), one, nil); err != nil {
				return err
			}
		}
	}
	for _, one := range kept {
		if err := l.client.call(ctx, "DELETE", base+"/listeners/"+url.PathEscape(one.ID), nil, nil); err != nil {
			return err
		}
	}
	return nil
}

func (l *loadBalancers) setMembers(ctx context.Context, at place, members []member) error {
	path := "/load-balancers/" + url.PathEscape(at.loadBalancer) + "/pools/" + url.PathEscape(at.pool) + "/members"
	return l.client.call(ctx, "PUT", path, map[string]any{"members": members}, nil)
}

func (l *loadBalancers) UpdateLoadBalancer(ctx context.Context, clusterName string, service *v1.Service, nodes []*v1.Node) error {
	name := l.GetLoadBalancerName(ctx, clusterName, service)
	members, err := membersOf(nodes)
	if err != nil {
		return err
	}
	if known, ok := l.places.Load(name); ok {
		err := l.setMembers(ctx, known.(place), members)
		if !isCode(err, noSuchLoadBalancer) {
			return err
		}
		l.places.Delete(name)
	}
	found, err := l.find(ctx, name)
	if err != nil {
		return err
	}
	known, ok := l.places.Load(name)
	if found == nil || !ok {
		return fmt.Errorf("no load balancer %s", name)
	}
	return l.setMembers(ctx, known.(place), members)
}

func (l *loadBalancers) EnsureLoadBalancerDeleted(ctx context.Context, clusterName string, service *v1.Service) error {
	name := l.GetLoadBalancerName(ctx, clusterName, service)
	found, err := l.find(ctx, name)
	if err != nil || found == nil {
		return err
	}
	l.places.Delete(name)
	err = l.client.call(ctx, "DELETE", "/load-balancers/"+url.PathEscape(found.ID), nil, nil)
	if isCode(err, noSuchLoadBalancer) {
		return nil
	}
	return err
}

func desiredOf(name, clusterName string, service *v1.Service, nodes []*v1.Node) (*loadBalancer, error) {
	ranges, err := helpers.GetLoadBalancerSourceRanges(service)
	if err != nil {
		return nil, err
	}
	sources := []string{}
	if !helpers.IsAllowAll(ranges) {
		sources = ranges.StringSlice()
		slices.Sort(sources)
	}
	members, err := membersOf(nodes)
	if err != nil {
		return nil, err
	}
	desired := &loadBalancer{
		Name:     name,
		Tags:     map[string]string{"cluster": clusterName, "service": service.Namespace + "/" + service.Name},
		Families: []string{},
		Pools:    []pool{{Name: poolName, HealthCheck: healthOf(service), SessionAffinity: affinityOf(service), Members: members}},
	}
	for _, family := range service.Spec.IPFamilies {
		desired.Families = append(desired.Families, string(family))
	}
	for _, port := range service.Spec.Ports {
		desired.Listeners = append(desired.Listeners, listener{
			Protocol: string(port.Protocol), Port: port.Port, MemberPort: port.NodePort, SourceRanges: sources, Pool: poolName,
		})
	}
	return desired, nil
}

func healthOf(service *v1.Service) *healthCheck {
	if path, port := helpers.GetServiceHealthCheckPathPort(service); path != "" {
		return &healthCheck{Port: port, Path: path}
	}
	return &healthCheck{Port: defaultHealthPort, Path: defaultHealthPath}
}

func affinityOf(service *v1.Service) *sessionAffinity {
	if service.Spec.SessionAffinity != v1.ServiceAffinityClientIP {
		return nil
	}
	timeout := v1.DefaultClientIPServiceAffinitySeconds
	if config := service.Spec.SessionAffinityConfig; config != nil && config.ClientIP != nil && config.ClientIP.TimeoutSeconds != nil {
		timeout = *config.ClientIP.TimeoutSeconds
	}
	return &sessionAffinity{TimeoutSeconds: timeout}
}

// membersOf leaves out Nodes that are not initialised yet: their instance is unknown.
func membersOf(nodes []*v1.Node) ([]member, error) {
	members := []member{}
	for _, node := range nodes {
		if node.Spec.ProviderID == "" {
			continue
		}
		id, err := instanceID(node.Spec.ProviderID)
		if err != nil {
			return nil, err
		}
		members = append(members, member{InstanceID: id, Weight: 1})
	}
	slices.SortFunc(members, func(a, b member) int { return strings.Compare(a.InstanceID, b.InstanceID) })
	return members, nil
}

func statusOf(found *loadBalancer) *v1.LoadBalancerStatus {
	status := &v1.LoadBalancerStatus{}
	for _, address := range found.Addresses {
		status.Ingress = append(status.Ingress, v1.LoadBalancerIngress{IP: address.IP})
	}
	return status
}

func listenerKey(one listener) string {
	return fmt.Sprintf("%s/%d", one.Protocol, one.Port)
}

func equal[T comparable](a, b *T) bool {
	if a == nil || b == nil {
		return a == b
	}
	return *a == *b
}
