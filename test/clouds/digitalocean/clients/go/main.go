// Drives a fake DigitalOcean with godo, the client of the classic controller: every answer is parsed by what Mooring has
// not written. DIGITALOCEAN_URL and DIGITALOCEAN_TOKEN say where. Ends in "ok" or in a failure.
package main

import (
	"context"
	"fmt"
	"log"
	"net/http"
	"os"
	"time"

	"github.com/digitalocean/godo"
)

var ctx = context.Background()

func must[T any](value T, _ *godo.Response, err error) T {
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

func refused(status int, err error) {
	answer, isAnswer := err.(*godo.ErrorResponse)
	assert(isAnswer && answer.Response.StatusCode == status, fmt.Sprintf("expected %d, got %v", status, err))
	assert(answer.Message != "", "an error says why")
}

// As the classic controller lists: page after page.
func everyDroplet(client *godo.Client, perPage int) []godo.Droplet {
	options := &godo.ListOptions{PerPage: perPage}
	var all []godo.Droplet
	for {
		droplets, answer, err := client.Droplets.List(ctx, options)
		all = append(all, must(droplets, answer, err)...)
		assert(answer.Meta.Total == 60, "the total")
		if answer.Links == nil || answer.Links.IsLastPage() {
			return all
		}
		page, err := answer.Links.CurrentPage()
		assert(err == nil, "the number of the page")
		options.Page = page + 1
	}
}

func active(client *godo.Client, id string) *godo.LoadBalancer {
	for tries := 0; tries < 100; tries++ {
		lb := must(client.LoadBalancers.Get(ctx, id))
		if lb.Status == "active" {
			return lb
		}
		assert(lb.Status == "new" && lb.IP == "", "a new one has no address")
		time.Sleep(50 * time.Millisecond)
	}
	log.Fatal("it does not become active")
	return nil
}

func main() {
	log.SetFlags(log.Lshortfile)
	client, err := godo.New(http.DefaultClient,
		godo.SetBaseURL(os.Getenv("DIGITALOCEAN_URL")),
		godo.SetRequestHeaders(map[string]string{"Authorization": "Bearer " + os.Getenv("DIGITALOCEAN_TOKEN")}))
	assert(err == nil, "the client")

	assert(must(client.Account.Get(ctx)).Team.UUID != "", "the team")

	droplets := everyDroplet(client, 20)
	assert(len(droplets) == 60 && len(everyDroplet(client, 200)) == 60, "all droplets")
	assert(len(must(client.Droplets.ListWithGPUs(ctx, &godo.ListOptions{}))) == 1, "those with a GPU")
	first := droplets[0]
	private, err := first.PrivateIPv4()
	assert(err == nil && private != "", "a private address")
	public, err := first.PublicIPv4()
	assert(err == nil && public != "", "a public address")
	v6, err := first.PublicIPv6()
	assert(err == nil && v6 != "", "an IPv6 address")
	assert(first.Region.Slug == "nyc3" && first.SizeSlug != "" && first.Status == "active", "a droplet")
	assert(must(client.Droplets.Get(ctx, first.ID)).Name == first.Name, "the same by its id")
	assert(len(must(client.Droplets.ListByName(ctx, first.Name, &godo.ListOptions{}))) == 1, "the same by its name")
	_, _, err = client.Droplets.Get(ctx, 1)
	refused(404, err)

	vpc := must(client.VPCs.Get(ctx, first.VPCUUID))
	assert(vpc.RegionSlug == "nyc3", "the VPC")
	certificates := must(client.Certificates.List(ctx, &godo.ListOptions{}))
	assert(len(certificates) == 1 && certificates[0].Name == "web", "a certificate")

	request := &godo.LoadBalancerRequest{
		Name: "lb-1", Region: "nyc3", Type: godo.LoadBalancerTypeRegional, VPCUUID: first.VPCUUID,
		DropletIDs: []int{first.ID},
		Tags:       []string{"k8s:1"},
		ForwardingRules: []godo.ForwardingRule{
			{EntryProtocol: "tcp", EntryPort: 80, TargetProtocol: "tcp", TargetPort: 30080},
			{EntryProtocol: "https", EntryPort: 443, TargetProtocol: "http", TargetPort: 30443, CertificateID: certificates[0].ID},
		},
		HealthCheck: &godo.HealthCheck{Protocol: "http", Port: 10256, Path: "/healthz", CheckIntervalSeconds: 3,
			ResponseTimeoutSeconds: 5, UnhealthyThreshold: 3, HealthyThreshold: 5},
		StickySessions: &godo.StickySessions{Type: "cookies", CookieName: "lb", CookieTtlSeconds: 60},
		Firewall:       &godo.LBFirewall{Allow: []string{"cidr:192.0.2.0/24"}},
	}
	made := must(client.LoadBalancers.Create(ctx, request))
	assert(made.Status == "new" && len(made.Tags) == 0, "tags are not shown")
	_, _, err = client.LoadBalancers.Create(ctx, request)
	refused(422, err)
	_, _, err = client.LoadBalancers.Update(ctx, made.ID, request)
	refused(403, err)
	lb := active(client, made.ID)
	assert(lb.IP != "" && lb.Region.Slug == "nyc3" && len(lb.ForwardingRules) == 2, "a load balancer")
	assert(lb.StickySessions.CookieName == "lb" && lb.Firewall.Allow[0] == "cidr:192.0.2.0/24", "its settings")
	assert(lb.HealthCheck.Port == 10256 && lb.SizeUnit == 1, "its health check and size")
	assert(len(must(client.LoadBalancers.List(ctx, &godo.ListOptions{}))) == 1, "in the list")

	// What a change leaves out becomes the default.
	changed := lb.AsRequest()
	changed.Name = "lb-2"
	changed.DropletIDs = []int{first.ID, droplets[1].ID}
	changed.StickySessions = nil
	lb = must(client.LoadBalancers.Update(ctx, lb.ID, changed))
	assert(lb.Name == "lb-2" && len(lb.DropletIDs) == 2 && lb.StickySessions.Type == "none", "a change")
	changed.DropletIDs = []int{1}
	_, _, err = client.LoadBalancers.Update(ctx, lb.ID, changed)
	refused(422, err)

	_, err = client.LoadBalancers.Delete(ctx, lb.ID)
	assert(err == nil, "deleted")
	_, _, err = client.LoadBalancers.Get(ctx, lb.ID)
	refused(404, err)
	_, err = client.LoadBalancers.Delete(ctx, lb.ID)
	refused(404, err)
	fmt.Println("ok")
}
