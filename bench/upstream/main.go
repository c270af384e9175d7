// Command upstream runs the controllers of k8s.io/cloud-provider, as they are, on the simulated cloud: the other half of the side-by-side bench.
// Its flags are upstream's own; --cloud-config takes the YAML that Mooring takes for this cloud.
package main

import (
	"os"

	"k8s.io/apimachinery/pkg/util/wait"
	cloudprovider "k8s.io/cloud-provider"
	"k8s.io/cloud-provider/app"
	"k8s.io/cloud-provider/app/config"
	"k8s.io/cloud-provider/names"
	"k8s.io/cloud-provider/options"
	"k8s.io/component-base/cli"
	cliflag "k8s.io/component-base/cli/flag"
	_ "k8s.io/component-base/metrics/prometheus/clientgo"
	_ "k8s.io/component-base/metrics/prometheus/version"
	"k8s.io/klog/v2"
)

func main() {
	ccmOptions, err := options.NewCloudControllerManagerOptions()
	if err != nil {
		klog.Fatalf("options: %v", err)
	}
	command := app.NewCloudControllerManagerCommand(
		ccmOptions, openCloud, app.DefaultInitFuncConstructors, names.CCMControllerAliases(), cliflag.NamedFlagSets{}, wait.NeverStop)
	os.Exit(cli.Run(command))
}

func openCloud(completed *config.CompletedConfig) cloudprovider.Interface {
	given := completed.ComponentConfig.KubeCloudShared.CloudProvider
	cloud, err := cloudprovider.InitCloudProvider(given.Name, given.CloudConfigFile)
	if err != nil {
		klog.Fatalf("cloud provider %s: %v", given.Name, err)
	}
	return cloud
}
