"""Drives a fake oVirt with the vendor's own Python client, which speaks XML: what Mooring has not written parses it.

OVIRT_URL, OVIRT_USERNAME, OVIRT_PASSWORD and OVIRT_VM (an id) say what. Ends in `ok` or in a traceback.
"""

import os

import ovirtsdk4 as sdk
from ovirtsdk4 import types


def connect(password):
    return sdk.Connection(
        url=os.environ["OVIRT_URL"],
        username=os.environ["OVIRT_USERNAME"],
        password=password,
        insecure=True,
    )


def refused(error_class, call):
    try:
        call()
    except error_class as error:
        return error
    raise AssertionError(f"expected {error_class}")


connection = connect(os.environ["OVIRT_PASSWORD"])
system = connection.system_service()
vms = system.vms_service()

# The engine
product = system.get().product_info
assert product.instance_id and product.name == "oVirt Engine", product

# Lists, pages and searches
everything = vms.list()
assert len(everything) == 450, len(everything)
pages = [vms.list(search=f"sortby name asc page {page}", max=200) for page in (1, 2, 3)]
assert [len(page) for page in pages] == [200, 200, 50]
assert {vm.id for page in pages for vm in page} == {vm.id for vm in everything}
named = vms.list(search="name=node-7 or fqdn=node-7", follow="nics")
assert [vm.name for vm in named] == ["node-7"], named
assert vms.list(search="name=none") == []
refused(sdk.Error, lambda: vms.list(search="this is no search"))

# One VM, as Mooring asks for it
vm = vms.vm_service(os.environ["OVIRT_VM"]).get(follow="nics")
assert vm.id == os.environ["OVIRT_VM"] and vm.status == types.VmStatus.UP, vm
assert vm.fqdn == "node-0.example.com", vm.fqdn
assert vm.memory == 4 * 2**30 and vm.cpu.topology.sockets == 2
assert vm.host.id and vm.cluster.id
(nic,) = vm.nics
(device,) = nic.reported_devices
assert [ip.address for ip in device.ips] == ["10.1.0.1", "fe80::1"], device.ips
assert device.ips[0].version == types.IpVersion.V4
(same,) = vms.vm_service(vm.id).nics_service().list()
assert same.mac.address == nic.mac.address
# Without being asked for they are links.
assert not vms.vm_service(vm.id).get().nics

# Places
host = next(host for host in system.hosts_service().list() if host.id == vm.host.id)
cluster = next(cluster for cluster in system.clusters_service().list() if cluster.id == vm.cluster.id)
centers = system.data_centers_service().list()
assert host.name == "host-1" and cluster.name == "rack-1"
assert [center.name for center in centers if center.id == cluster.data_center.id] == ["helsinki"]

# Failures
absent = refused(sdk.NotFoundError, lambda: vms.vm_service("0a6e30c4-58a1-4c1e-9f7c-2f5d3a1b0c9d").get())
assert absent.code == 404, absent.code
refused(sdk.AuthError, lambda: connect("another").system_service().get())

connection.close()
print("ok")
