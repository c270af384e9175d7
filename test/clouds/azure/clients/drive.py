"""Drives a fake Azure with the vendor's own Python clients: every answer is parsed by what Mooring has not written.

AZURE_URL, AZURE_SUBSCRIPTION, AZURE_TENANT, AZURE_CLIENT and AZURE_SECRET say where and as whom. Ends in `ok` or in a
traceback.
"""

import os
from urllib.parse import urlparse

from azure.core.exceptions import ClientAuthenticationError, HttpResponseError, ResourceNotFoundError
from azure.identity import ClientSecretCredential
from azure.mgmt.compute import ComputeManagementClient
from azure.mgmt.compute.models import SubResource as ComputeSubResource
from azure.mgmt.network import NetworkManagementClient
from azure.mgmt.network.models import (
    BackendAddressPool,
    FrontendIPConfiguration,
    LoadBalancer,
    LoadBalancerSku,
    LoadBalancingRule,
    Probe,
    PublicIPAddress,
    PublicIPAddressSku,
    Route,
    RouteTable,
    SecurityRule,
    SubResource,
)

url = os.environ["AZURE_URL"]
subscription = os.environ["AZURE_SUBSCRIPTION"]


def credential(secret):
    return ClientSecretCredential(
        os.environ["AZURE_TENANT"],
        os.environ["AZURE_CLIENT"],
        secret,
        authority=urlparse(url).netloc,
        disable_instance_discovery=True,
    )


own = credential(os.environ["AZURE_SECRET"])
compute = ComputeManagementClient(own, subscription, base_url=url)
network = NetworkManagementClient(own, subscription, base_url=url)


def refused(status, call, kind=HttpResponseError):
    try:
        call()
    except kind as error:
        assert error.status_code == status, error
        assert error.error is not None and error.error.code, "an error has a code"
        return error.error.code
    raise AssertionError(f"expected {status}")


def power(view):
    return [one.code for one in view.statuses if one.code.startswith("PowerState/")]


# VMs: every page, the power state of one, and of all.
vms = {vm.name: vm for vm in compute.virtual_machines.list("rg")}
assert set(vms) == {*(f"node-{each}" for each in range(6)), "flex-node", "off"}, vms
assert vms["node-0"].zones == ["1"] and vms["node-0"].hardware_profile.vm_size == "Standard_D2s_v5"
assert len(vms["node-0"].vm_id) == 36 and vms["flex-node"].virtual_machine_scale_set.id.endswith("/flex")
one = compute.virtual_machines.get("RG", "OFF", expand="instanceView")
assert power(one.instance_view) == ["PowerState/deallocated"]
states = {vm.name: power(vm.instance_view) for vm in compute.virtual_machines.list_all(status_only="true")}
assert states["off"] == ["PowerState/deallocated"] and states["node-1"] == ["PowerState/running"], states
assert refused(404, lambda: compute.virtual_machines.get("rg", "none"), ResourceNotFoundError) == "ResourceNotFound"
missing = refused(404, lambda: list(compute.virtual_machines.list("none")), ResourceNotFoundError)
assert missing == "ResourceGroupNotFound"

# Scale sets and their instances
sets = {one.name: one for one in compute.virtual_machine_scale_sets.list("rg")}
assert {name: one.orchestration_mode for name, one in sets.items()} == {"pool": "Uniform", "flex": "Flexible"}
instances = list(compute.virtual_machine_scale_set_vms.list("rg", "pool", expand="instanceView"))
assert [one.os_profile.computer_name for one in instances] == [f"pool00000{each}" for each in range(1, 7)]
assert power(instances[1].instance_view) == ["PowerState/deallocated"]
got = compute.virtual_machine_scale_set_vms.get("rg", "pool", "3", expand="instanceView")
assert got.sku.name == "Standard_D2s_v5" and got.instance_id == "3" and got.zones == ["1"]
refused(404, lambda: compute.virtual_machine_scale_set_vms.get("rg", "pool", "99"), ResourceNotFoundError)

# Interfaces and addresses, of VMs and of instances
nics = {nic.id: nic for nic in network.network_interfaces.list("rg")}
own_nic = nics[vms["node-1"].network_profile.network_interfaces[0].id]
configuration = own_nic.ip_configurations[0]
assert own_nic.virtual_machine.id == vms["node-1"].id and own_nic.primary
assert configuration.private_ip_address and configuration.private_ip_address_version == "IPv4"
addresses = {ip.id: ip for ip in network.public_ip_addresses.list("rg")}
assert addresses[configuration.public_ip_address.id].ip_address.startswith("198.51.")
of_set = list(network.network_interfaces.list_virtual_machine_scale_set_network_interfaces("rg", "pool"))
assert len(of_set) == 6 and of_set[0].virtual_machine.id == instances[0].id
single = network.network_interfaces.get_virtual_machine_scale_set_network_interface("rg", "pool", "1", "nic-0")
assert single.id == of_set[0].id

# A route table: a document with a version, written by a long operation
table = network.route_tables.get("rg", "pods")
route = Route(name="by-python", address_prefix="192.0.2.0/24", next_hop_type="None")
written = RouteTable(location=table.location, routes=[*table.routes, route])
made = network.route_tables.begin_create_or_update(
    "rg", "pods", written, headers={"If-Match": table.etag}, polling_interval=0.2
).result()
assert made.provisioning_state == "Succeeded" and made.etag != table.etag
assert [one.name for one in made.routes][-1] == "by-python"
stale = {"If-Match": table.etag}
put = lambda headers: network.route_tables.begin_create_or_update("rg", "pods", written, headers=headers)
assert refused(412, lambda: put(stale)) == "PreconditionFailed"
assert [one.name for one in network.route_tables.list("rg")] == ["pods"]
refused(404, lambda: network.route_tables.get("rg", "none"), ResourceNotFoundError)

# A public address and a load balancer with it: documents with versions, and references that have to be there
address = network.public_ip_addresses.begin_create_or_update(
    "rg",
    "front",
    PublicIPAddress(
        location=table.location,
        sku=PublicIPAddressSku(name="Standard"),
        public_ip_allocation_method="Static",
        tags={"k8s-azure-service": "default/web"},
    ),
    polling_interval=0.2,
).result()
assert address.ip_address.startswith("203.0.113.") and address.provisioning_state == "Succeeded"
base = address.id.replace("publicIPAddresses/front", "loadBalancers/web")


def part(kind, name):
    return SubResource(id=f"{base}/{kind}/{name}")


rule = LoadBalancingRule(
    name="http",
    protocol="Tcp",
    frontend_port=80,
    backend_port=80,
    enable_floating_ip=True,
    frontend_ip_configuration=part("frontendIPConfigurations", "f"),
    backend_address_pool=part("backendAddressPools", "nodes"),
    probe=part("probes", "p"),
)
balancer = LoadBalancer(
    location=table.location,
    sku=LoadBalancerSku(name="Standard"),
    frontend_ip_configurations=[FrontendIPConfiguration(name="f", public_ip_address=address)],
    backend_address_pools=[BackendAddressPool(name="nodes")],
    probes=[Probe(name="p", protocol="Http", port=10256, request_path="/healthz", interval_in_seconds=5)],
    load_balancing_rules=[rule],
)
make = lambda one, **more: network.load_balancers.begin_create_or_update(
    "rg", "web", one, polling_interval=0.2, **more
).result()
made = make(balancer)
assert made.provisioning_state == "Succeeded" and made.etag
assert made.frontend_ip_configurations[0].load_balancing_rules[0].id == f"{base}/loadBalancingRules/http"
assert network.public_ip_addresses.get("rg", "front").ip_configuration.id == f"{base}/frontendIPConfigurations/f"
assert [one.name for one in network.load_balancers.list("rg")] == ["web"]

# Nodes behind it: a network interface, and an instance of a scale set, which keeps the pool from going
pool = made.backend_address_pools[0].id
nic = network.network_interfaces.get("rg", own_nic.name)
nic.ip_configurations[0].load_balancer_backend_address_pools = [BackendAddressPool(id=pool)]
put_nic = lambda **more: network.network_interfaces.begin_create_or_update(
    "rg", nic.name, nic, polling_interval=0.2, **more
).result()
assert refused(412, lambda: put_nic(headers={"If-Match": 'W/"old"'})) == "PreconditionFailed"
put_nic(headers={"If-Match": nic.etag})
instance = compute.virtual_machine_scale_set_vms.get("rg", "pool", "1")
(own,) = instance.network_profile_configuration.network_interface_configurations
put_instance = lambda: compute.virtual_machine_scale_set_vms.begin_update(
    "rg", "pool", "1", instance, polling_interval=0.2
).result()
own.ip_configurations[0].load_balancer_backend_address_pools = [ComputeSubResource(id=pool)]
put_instance()
made = network.load_balancers.get("rg", "web")
members = [one.id for one in made.backend_address_pools[0].backend_ip_configurations]
assert len(members) == 2 and any("/pool/virtualMachines/1/networkInterfaces/" in one for one in members), members
delete_balancer = lambda: network.load_balancers.begin_delete("rg", "web", polling_interval=0.2).result()
assert refused(400, delete_balancer) == "InUseBackendAddressPoolCannotBeDeleted"
own.ip_configurations[0].load_balancer_backend_address_pools = []
put_instance()
made = network.load_balancers.get("rg", "web")
assert refused(412, lambda: make(made, headers={"If-Match": 'W/"old"'})) == "PreconditionFailed"
delete_address = lambda: network.public_ip_addresses.begin_delete("rg", "front", polling_interval=0.2).result()
assert refused(400, delete_address) == "PublicIPAddressCannotBeDeleted"
made.load_balancing_rules[0].probe = part("probes", "none")
assert refused(400, lambda: make(made)) == "InvalidResourceReference"
delete_balancer()
assert not network.network_interfaces.get("rg", nic.name).ip_configurations[0].load_balancer_backend_address_pools
delete_address()
assert list(network.load_balancers.list("rg")) == []
refused(404, lambda: network.load_balancers.get("rg", "web"), ResourceNotFoundError)

# A security group: each priority once
group = network.network_security_groups.get("rg", "nodes")
own = lambda name, priority: SecurityRule(
    name=name,
    protocol="Tcp",
    access="Allow",
    direction="Inbound",
    priority=priority,
    source_address_prefix="Internet",
    source_port_range="*",
    destination_address_prefix="203.0.113.9",
    destination_port_range="80",
)
group.security_rules = [own("a", 500), own("b", 501)]
put_group = lambda: network.network_security_groups.begin_create_or_update(
    "rg", "nodes", group, polling_interval=0.2
).result()
assert [one.priority for one in put_group().security_rules] == [500, 501]
group.security_rules = [own("a", 500), own("b", 500)]
assert refused(400, put_group) == "SecurityRuleConflict"

# A credential that is wrong
try:
    list(ComputeManagementClient(credential("wrong"), subscription, base_url=url).virtual_machines.list("rg"))
    raise AssertionError("a wrong secret is accepted")
except ClientAuthenticationError as error:
    assert "AADSTS7000215" in str(error), error

print("ok")
