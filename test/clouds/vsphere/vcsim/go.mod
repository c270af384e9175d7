// Builds vcsim, the vCenter simulator of govmomi, from the Go module proxy. Nothing here is part of the product.
module mooring.dev/test/clouds/vsphere/vcsim

go 1.25.0

require github.com/vmware/govmomi v0.55.1

require (
	github.com/google/uuid v1.6.0 // indirect
	golang.org/x/text v0.38.0 // indirect
)
