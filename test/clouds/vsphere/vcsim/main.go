// vcsim with a second port for tests: what a person at the vSphere client would do, by govmomi's own client, and what
// VMware Tools in a guest would report.
package main

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"flag"
	"fmt"
	"log"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/signal"
	"syscall"

	"github.com/vmware/govmomi"
	"github.com/vmware/govmomi/find"
	_ "github.com/vmware/govmomi/lookup/simulator"
	"github.com/vmware/govmomi/object"
	_ "github.com/vmware/govmomi/pbm/simulator"
	"github.com/vmware/govmomi/session"
	"github.com/vmware/govmomi/simulator"
	_ "github.com/vmware/govmomi/sts/simulator"
	"github.com/vmware/govmomi/vapi/rest"
	_ "github.com/vmware/govmomi/vapi/simulator"
	"github.com/vmware/govmomi/vapi/tags"
	"github.com/vmware/govmomi/view"
	"github.com/vmware/govmomi/vim25"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"
)

type nic struct {
	Network   string   `json:"network"`
	Addresses []string `json:"addresses"`
	// -1 for what is no hardware of the VM.
	Key int32 `json:"key"`
}

// One request to the control port.
type order struct {
	Do         string            `json:"do"`
	VM         string            `json:"vm"`
	UUID       string            `json:"uuid"`
	Datacenter string            `json:"datacenter"`
	HostName   string            `json:"hostName"`
	Nics       []nic             `json:"nics"`
	Config     map[string]string `json:"config"`
	Object     string            `json:"object"`
	Category   string            `json:"category"`
	Tag        string            `json:"tag"`
}

type lab struct {
	model  *simulator.Model
	client *govmomi.Client
	tags   *tags.Manager
}

func main() {
	listen := flag.String("listen", "127.0.0.1:18989", "the vCenter")
	control := flag.String("control", "127.0.0.1:18990", "the control port")
	datacenters := flag.Int("dc", 1, "datacenters")
	machines := flag.Int("vm", 1, "VMs in each cluster")
	instance := flag.String("uuid", "", "the vCenter's own id")
	flag.Parse()

	model := simulator.VPX()
	model.Datacenter, model.Machine, model.Host = *datacenters, *machines, 0
	must(model.Create())
	if *instance != "" {
		model.Map().Get(vim25.ServiceInstance).(*simulator.ServiceInstance).Content.About.InstanceUuid = *instance
	}
	model.Service.Listen = &url.URL{Host: *listen, User: url.UserPassword("user", "pass")}
	model.Service.TLS = new(tls.Config)
	model.Service.RegisterEndpoints = true
	server := model.Service.NewServer()
	ctx := context.Background()
	client, err := govmomi.NewClient(ctx, server.URL, true)
	must(err)
	api := rest.NewClient(client.Client)
	must(api.Login(ctx, server.URL.User))
	it := &lab{model, client, tags.NewManager(api)}
	http.HandleFunc("/", it.serve)
	orders, err := net.Listen("tcp", *control)
	must(err)
	go func() { must(http.Serve(orders, nil)) }()
	fmt.Println("ready")

	done := make(chan os.Signal, 1)
	signal.Notify(done, os.Interrupt, syscall.SIGTERM)
	<-done
	server.Close()
	model.Remove()
}

func must(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

func (l *lab) serve(w http.ResponseWriter, r *http.Request) {
	var o order
	var answer any
	err := json.NewDecoder(r.Body).Decode(&o)
	if err == nil {
		answer, err = l.run(r.Context(), o)
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	_ = json.NewEncoder(w).Encode(answer)
}

func (l *lab) run(ctx context.Context, o order) (any, error) {
	if o.Do == "create" {
		return l.create(ctx, o)
	}
	if o.Do == "end sessions" {
		return l.endSessions(ctx)
	}
	if o.Do == "uuids" {
		return l.uuids(ctx)
	}
	finder := find.NewFinder(l.client.Client)
	if o.Do == "tag" {
		element, err := finder.ManagedObjectList(ctx, o.Object)
		if err != nil || len(element) == 0 {
			return nil, fmt.Errorf("%s: %v", o.Object, err)
		}
		return l.attach(ctx, o, element[0].Object.Reference())
	}
	ref, err := object.NewSearchIndex(l.client.Client).FindByUuid(ctx, nil, o.UUID, true, nil)
	if err != nil || ref == nil {
		return nil, fmt.Errorf("no VM %s: %v", o.UUID, err)
	}
	vm := object.NewVirtualMachine(l.client.Client, ref.Reference())
	switch o.Do {
	case "guest":
		return nil, l.guest(vm.Reference(), o)
	case "power off", "power on", "destroy":
		task, err := map[string]func(context.Context) (*object.Task, error){
			"power off": vm.PowerOff, "power on": vm.PowerOn, "destroy": vm.Destroy,
		}[o.Do](ctx)
		if err != nil {
			return nil, err
		}
		return nil, task.Wait(ctx)
	case "configure":
		spec := types.VirtualMachineConfigSpec{Uuid: o.Config["uuid"], GuestId: o.Config["guestId"]}
		for key, value := range o.Config {
			if key != "uuid" && key != "guestId" {
				spec.ExtraConfig = append(spec.ExtraConfig, &types.OptionValue{Key: key, Value: value})
			}
		}
		task, err := vm.Reconfigure(ctx, spec)
		if err != nil {
			return nil, err
		}
		return nil, task.Wait(ctx)
	}
	return nil, fmt.Errorf("unknown: %s", o.Do)
}

// create clones the first VM of a datacenter.
func (l *lab) create(ctx context.Context, o order) (any, error) {
	finder := find.NewFinder(l.client.Client)
	datacenter, err := finder.Datacenter(ctx, o.Datacenter)
	if err != nil {
		return nil, err
	}
	finder.SetDatacenter(datacenter)
	all, err := finder.VirtualMachineList(ctx, "*")
	if err != nil {
		return nil, err
	}
	folders, err := datacenter.Folders(ctx)
	if err != nil {
		return nil, err
	}
	pool, err := all[0].ResourcePool(ctx)
	if err != nil {
		return nil, err
	}
	where := types.VirtualMachineRelocateSpec{Pool: types.NewReference(pool.Reference())}
	task, err := all[0].Clone(ctx, folders.VmFolder, o.VM, types.VirtualMachineCloneSpec{Location: where})
	if err != nil {
		return nil, err
	}
	info, err := task.WaitForResult(ctx)
	if err != nil {
		return nil, err
	}
	ref := info.Result.(types.ManagedObjectReference)
	clone := object.NewVirtualMachine(l.client.Client, ref)
	if task, err = clone.PowerOn(ctx); err == nil {
		err = task.Wait(ctx)
	}
	if err == nil {
		err = l.guest(ref, o)
	}
	if err != nil {
		return nil, err
	}
	var vm mo.VirtualMachine
	err = clone.Properties(ctx, ref, []string{"summary.config.uuid", "config.uuid", "runtime.host"}, &vm)
	if vm.Config.Uuid != vm.Summary.Config.Uuid {
		err = fmt.Errorf("two uuids: %s, %s", vm.Config.Uuid, vm.Summary.Config.Uuid)
	}
	return map[string]string{"uuid": vm.Config.Uuid, "ref": ref.Value, "host": vm.Runtime.Host.Value}, err
}

// uuids of all VMs, by govmomi's own listing.
func (l *lab) uuids(ctx context.Context) (any, error) {
	root := l.client.ServiceContent.RootFolder
	all, err := view.NewManager(l.client.Client).CreateContainerView(ctx, root, []string{"VirtualMachine"}, true)
	if err != nil {
		return nil, err
	}
	var vms []mo.VirtualMachine
	if err = all.Retrieve(ctx, []string{"VirtualMachine"}, []string{"config.uuid"}, &vms); err != nil {
		return nil, err
	}
	uuids := make([]string, 0, len(vms))
	for _, vm := range vms {
		uuids = append(uuids, vm.Config.Uuid)
	}
	return uuids, all.Destroy(ctx)
}

// guest reports what VMware Tools would.
func (l *lab) guest(ref types.ManagedObjectReference, o order) error {
	var net []types.GuestNicInfo
	for _, one := range o.Nics {
		key := one.Key
		if key == 0 {
			key = 4000
		}
		net = append(net, types.GuestNicInfo{Network: one.Network, IpAddress: one.Addresses, Connected: true, DeviceConfigId: key})
	}
	ctx := l.model.Service.Context
	vm := ctx.Map.Get(ref).(*simulator.VirtualMachine)
	ctx.WithLock(vm, func() {
		ctx.Update(vm, []types.PropertyChange{
			{Name: "guest.hostName", Val: o.HostName},
			{Name: "guest.net", Val: net},
		})
	})
	return nil
}

func (l *lab) attach(ctx context.Context, o order, ref types.ManagedObjectReference) (any, error) {
	if category, _ := l.tags.GetCategory(ctx, o.Category); category == nil {
		if _, err := l.tags.CreateCategory(ctx, &tags.Category{Name: o.Category, Cardinality: "MULTIPLE"}); err != nil {
			return nil, err
		}
	}
	tag, _ := l.tags.GetTagForCategory(ctx, o.Tag, o.Category)
	if tag == nil {
		id, err := l.tags.CreateTag(ctx, &tags.Tag{Name: o.Tag, CategoryID: o.Category})
		if err != nil {
			return nil, err
		}
		tag = &tags.Tag{ID: id}
	}
	return nil, l.tags.AttachTag(ctx, tag.ID, ref)
}

// endSessions ends every session but its own.
func (l *lab) endSessions(ctx context.Context) (any, error) {
	manager := session.NewManager(l.client.Client)
	own, err := manager.UserSession(ctx)
	if err != nil {
		return nil, err
	}
	var all mo.SessionManager
	if err := l.client.RetrieveOne(ctx, *l.client.ServiceContent.SessionManager, []string{"sessionList"}, &all); err != nil {
		return nil, err
	}
	ended := 0
	for _, one := range all.SessionList {
		if one.Key == own.Key {
			continue
		}
		if err := manager.TerminateSession(ctx, []string{one.Key}); err != nil {
			return nil, err
		}
		ended++
	}
	return ended, nil
}
