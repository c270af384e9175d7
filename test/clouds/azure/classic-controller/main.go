// The node manager of the classic controller of Azure, which initialises Nodes for it, for several of them in one
// process: its own program runs on each VM, and takes the zone of the VM on which it runs.
package main

import (
	"context"
	"flag"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
	cloudprovider "k8s.io/cloud-provider"
	"k8s.io/klog/v2"
	"sigs.k8s.io/cloud-provider-azure/pkg/nodemanager"
	"sigs.k8s.io/cloud-provider-azure/pkg/provider"
)

// As its own program asks Resource Manager, and for the zone of a Node as on Windows.
type byName struct{ *provider.Cloud }

func (cloud byName) InstanceID(ctx context.Context, node types.NodeName) (string, error) {
	id, err := cloud.Cloud.InstanceID(ctx, node)
	return cloud.ProviderName() + "://" + id, err
}

func (cloud byName) GetZone(ctx context.Context, node types.NodeName) (cloudprovider.Zone, error) {
	return cloud.GetZoneByNodeName(ctx, node)
}

func (byName) GetPlatformSubFaultDomain(context.Context) (string, error) { return "", nil }

func check(err error) {
	if err != nil {
		klog.Fatal(err)
	}
}

func main() {
	cloudConfig := flag.String("cloud-config", "", "path of azure.json")
	kubeconfig := flag.String("kubeconfig", "", "path of a kubeconfig")
	klog.InitFlags(nil)
	flag.Parse()
	ctx := context.Background()
	config, err := clientcmd.BuildConfigFromFlags("", *kubeconfig)
	check(err)
	// It would speak protobuf.
	config.ContentType = "application/json"
	client, err := kubernetes.NewForConfig(config)
	check(err)
	cloud, err := provider.NewCloudFromConfigFile(ctx, nil, *cloudConfig, false)
	check(err)
	shared := informers.NewSharedInformerFactory(client, 0)
	for _, node := range flag.Args() {
		of := byName{cloud.(*provider.Cloud)}
		manager := nodemanager.NewCloudNodeController(
			node, shared.Core().V1().Nodes(), client, of, 5*time.Second, false, false)
		go manager.Run(ctx)
	}
	shared.Start(ctx.Done())
	<-ctx.Done()
}
