// The classic cloud controller manager of Compute Engine: Google's cloud provider in the framework of these programs, as
// its own command has it, which the Go module proxy does not have.
package main

import (
	"os"

	"k8s.io/apimachinery/pkg/util/wait"
	cloudprovider "k8s.io/cloud-provider"
	_ "k8s.io/cloud-provider-gcp/providers/gce"
	"k8s.io/cloud-provider/app"
	"k8s.io/cloud-provider/app/config"
	"k8s.io/cloud-provider/names"
	"k8s.io/cloud-provider/options"
	"k8s.io/component-base/cli"
	"k8s.io/component-base/cli/flag"
	"k8s.io/klog/v2"
)

func open(config *config.CompletedConfig) cloudprovider.Interface {
	provider := config.ComponentConfig.KubeCloudShared.CloudProvider
	cloud, err := cloudprovider.InitCloudProvider(provider.Name, provider.CloudConfigFile)
	if err != nil {
		klog.Fatalf("cloud provider: %v", err)
	}
	return cloud
}

func main() {
	options, err := options.NewCloudControllerManagerOptions()
	if err != nil {
		klog.Fatalf("options: %v", err)
	}
	// This version refuses to start with both of its ports off, and has no webhook.
	options.Webhook, options.WebhookServing = nil, nil
	controllers, aliases := app.DefaultInitFuncConstructors, names.CCMControllerAliases()
	os.Exit(cli.Run(app.NewCloudControllerManagerCommand(
		options, open, controllers, aliases, flag.NamedFlagSets{}, wait.NeverStop)))
}
