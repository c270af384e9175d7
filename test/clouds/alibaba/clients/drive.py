"""Drives a fake Alibaba Cloud with the vendor's own clients for Python: every request is signed and every answer is parsed
by what Mooring has not written.

ALIBABA_URL, ALIBABA_KEY_ID, ALIBABA_KEY_SECRET and ALIBABA_VPC say where, ALIBABA_PODS which network interface has which
address of a pod; ALIBABA_SIGNATURE is `v2` for the signatures of the former generation. Ends in `ok` or in a traceback.
"""

import json
import os

from alibabacloud_ecs20140526.client import Client as Ecs
from alibabacloud_ecs20140526 import models as ecs_models
from alibabacloud_nlb20220430.client import Client as Nlb
from alibabacloud_nlb20220430 import models as nlb_models
from alibabacloud_slb20140515.client import Client as Slb
from alibabacloud_slb20140515 import models as slb_models
from alibabacloud_tea_openapi.utils_models import Config
from alibabacloud_vpc20160428.client import Client as Vpc
from alibabacloud_vpc20160428 import models as vpc_models

scheme, host = os.environ["ALIBABA_URL"].split("://")
signature = os.environ["ALIBABA_SIGNATURE"]
region = "cn-hangzhou"


def config(secret=os.environ["ALIBABA_KEY_SECRET"]):
    made = Config(
        access_key_id=os.environ["ALIBABA_KEY_ID"],
        access_key_secret=secret,
        endpoint=host,
        protocol=scheme.upper(),
        region_id=region,
    )
    if signature:
        made.signature_algorithm = signature
    return made


ecs, vpc, slb, nlb = Ecs(config()), Vpc(config()), Slb(config()), Nlb(config())


def refused(code, call):
    try:
        call()
    except Exception as error:
        assert getattr(error, "code", None) == code, error
        return
    raise AssertionError(f"expected {code}")


# Instances: page after page, and by their ids.
seen, token = [], None
while True:
    request = ecs_models.DescribeInstancesRequest(region_id=region, max_results=100, next_token=token)
    body = ecs.describe_instances(request).body
    seen += body.instances.instance
    token = body.next_token
    if not token:
        break
assert len(seen) == 150, len(seen)
one = next(each for each in seen if each.instance_name == "node-3")
assert one.status == "Running" and one.zone_id == "cn-hangzhou-h" and one.instance_type == "ecs.g7.large", one
assert one.eip_address.ip_address == "8.8.4.4", one
assert one.vpc_attributes.private_ip_address.ip_address[0].startswith("172.16."), one
assert one.network_interfaces.network_interface[0].type == "Primary", one
ids = [one.instance_id, "i-bp1never"]
body = ecs.describe_instances(ecs_models.DescribeInstancesRequest(region_id=region, instance_ids=json.dumps(ids))).body
assert [each.instance_id for each in body.instances.instance] == ids[:1], body
refused(
    "SignatureDoesNotMatch",
    lambda: Ecs(config("wrong")).describe_instances(ecs_models.DescribeInstancesRequest(region_id=region)),
)

# Network interfaces by the addresses of pods, more than nine, so that names are sorted: `.10` after `.1`.
pods = json.loads(os.environ["ALIBABA_PODS"])
interfaces, token = [], None
while True:
    request = ecs_models.DescribeNetworkInterfacesRequest(
        region_id=region,
        vpc_id=os.environ["ALIBABA_VPC"],
        private_ip_address=list(pods) + ["10.244.0.7"],
        max_results=10,
        next_token=token,
    )
    body = ecs.describe_network_interfaces(request).body
    interfaces += body.network_interface_sets.network_interface_set
    token = body.next_token
    if not token:
        break
found = {
    each.private_ip_address: shown.network_interface_id
    for shown in interfaces
    for each in shown.private_ip_sets.private_ip_set
}
assert found == pods, found
assert all(shown.vpc_id == os.environ["ALIBABA_VPC"] for shown in interfaces), interfaces
pod, interface = next(iter(pods.items()))

# Routes
tables = vpc.describe_route_table_list(
    vpc_models.DescribeRouteTableListRequest(region_id=region, vpc_id=os.environ["ALIBABA_VPC"])
).body.router_table_list.router_table_list_type
assert len(tables) == 1, tables
table = tables[0].route_table_id


def entries(kind, ranges):
    return [
        kind(route_table_id=table, dst_cidr_block=each, next_hop=one.instance_id, next_hop_type="Instance")
        for each in ranges
    ]


ranges = ["10.244.1.0/24", "10.244.2.0/24", "10.244.1.0/24"]
made = vpc.create_route_entries(
    vpc_models.CreateRouteEntriesRequest(
        region_id=region, route_entries=entries(vpc_models.CreateRouteEntriesRequestRouteEntries, ranges)
    )
).body
assert made.success_count == 2 and made.failed_count == 1, made
assert made.failed_route_entries[0].failed_code == "InvalidCIDRBlock.Duplicate", made
listed = vpc.describe_route_entry_list(
    vpc_models.DescribeRouteEntryListRequest(region_id=region, route_table_id=table, route_entry_type="Custom")
).body.route_entrys.route_entry
assert [each.destination_cidr_block for each in listed] == ranges[:2], listed
assert listed[0].next_hops.next_hop[0].next_hop_id == one.instance_id, listed
gone = vpc.delete_route_entries(
    vpc_models.DeleteRouteEntriesRequest(
        region_id=region,
        route_entries=[
            vpc_models.DeleteRouteEntriesRequestRouteEntries(
                route_table_id=table, dst_cidr_block=each.destination_cidr_block, next_hop=one.instance_id
            )
            for each in listed
        ],
    )
).body
assert gone.success_count == 2 and gone.failed_count == 0, gone

# Load balancers
tag = slb_models.CreateLoadBalancerRequestTag(key="mooring.dev/cluster", value="c1")
balancer = slb.create_load_balancer(
    slb_models.CreateLoadBalancerRequest(region_id=region, load_balancer_name="front", tag=[tag])
).body
assert balancer.address, balancer
of = {"region_id": region, "load_balancer_id": balancer.load_balancer_id}
servers = [{"ServerId": one.instance_id, "Port": "30080", "Weight": "100", "Type": "ecs"}]
group = slb.create_vserver_group(
    slb_models.CreateVServerGroupRequest(**of, vserver_group_name="k8s/30080/a/b/c", backend_servers=json.dumps(servers))
).body
assert group.backend_servers.backend_server[0].server_id == one.instance_id, group
group_of = {"region_id": region, "vserver_group_id": group.vserver_group_id}
acl = slb.create_access_control_list(slb_models.CreateAccessControlListRequest(region_id=region, acl_name="front")).body
added = json.dumps([{"entry": "192.0.2.0/24", "comment": ""}])
slb.add_access_control_list_entry(
    slb_models.AddAccessControlListEntryRequest(region_id=region, acl_id=acl.acl_id, acl_entrys=added)
)
listener = {"listener_port": 80, "vserver_group_id": group.vserver_group_id, "scheduler": "rr"}
slb.create_load_balancer_tcplistener(
    slb_models.CreateLoadBalancerTCPListenerRequest(
        **of, **listener, bandwidth=-1, acl_status="on", acl_type="white", acl_id=acl.acl_id, health_check_interval=5
    )
)
slb.start_load_balancer_listener(
    slb_models.StartLoadBalancerListenerRequest(**of, listener_port=80, listener_protocol="tcp")
)
slb.set_load_balancer_tcplistener_attribute(
    slb_models.SetLoadBalancerTCPListenerAttributeRequest(
        **of, listener_port=80, vserver_group="on", vserver_group_id=group.vserver_group_id, persistence_timeout=600
    )
)
shown = slb.describe_load_balancer_listeners(
    slb_models.DescribeLoadBalancerListenersRequest(
        region_id=region, load_balancer_id=[balancer.load_balancer_id], max_results=100
    )
).body.listeners
assert len(shown) == 1 and shown[0].status == "running" and shown[0].acl_id == acl.acl_id, shown
assert shown[0].vserver_group_id == group.vserver_group_id and shown[0].listener_port == 80, shown
assert shown[0].tcplistener_config.persistence_timeout == 600, shown
assert shown[0].tcplistener_config.health_check_interval == 5, shown
listed = slb.describe_load_balancers(
    slb_models.DescribeLoadBalancersRequest(
        region_id=region, page_size=100, tag=[slb_models.DescribeLoadBalancersRequestTag(key=tag.key, value=tag.value)]
    )
).body
assert listed.total_count == 1 and listed.load_balancers.load_balancer[0].address == balancer.address, listed
assert listed.load_balancers.load_balancer[0].tags.tag[0].tag_key == tag.key, listed
refused(
    "RspoolVipExist", lambda: slb.delete_vserver_group(slb_models.DeleteVServerGroupRequest(**group_of))
)
ghost = json.dumps([{**servers[0], "ServerId": "i-bp1never"}])
refused(
    "ObtainIpFail",
    lambda: slb.add_vserver_group_backend_servers(
        slb_models.AddVServerGroupBackendServersRequest(**group_of, backend_servers=ghost)
    ),
)
pod_server = {"ServerId": interface, "ServerIp": pod, "Port": "8080", "Weight": "100", "Type": "eni"}
slb.add_vserver_group_backend_servers(
    slb_models.AddVServerGroupBackendServersRequest(**group_of, backend_servers=json.dumps([pod_server]))
)
of_group = slb_models.DescribeVServerGroupAttributeRequest(**group_of)
added = slb.describe_vserver_group_attribute(of_group).body.backend_servers.backend_server
assert [(each.type, each.server_ip) for each in added if each.server_id == interface] == [("eni", pod)], added
for wrong in {"ServerId": "eni-bp1never"}, {"ServerIp": "10.244.0.7"}:
    unknown = json.dumps([{**pod_server, **wrong}])
    refused(
        "ObtainIpFail",
        lambda: slb.add_vserver_group_backend_servers(
            slb_models.AddVServerGroupBackendServersRequest(**group_of, backend_servers=unknown)
        ),
    )
left = slb.remove_vserver_group_backend_servers(
    slb_models.RemoveVServerGroupBackendServersRequest(**group_of, backend_servers=json.dumps([pod_server]))
).body.backend_servers.backend_server
assert [each.type for each in left] == ["ecs"], left
slb.set_vserver_group_attribute(
    slb_models.SetVServerGroupAttributeRequest(**group_of, backend_servers=json.dumps([{**servers[0], "Weight": "0"}]))
)
attribute = slb.describe_vserver_group_attribute(slb_models.DescribeVServerGroupAttributeRequest(**group_of)).body
assert attribute.backend_servers.backend_server[0].weight == 0, attribute
groups = slb.describe_vserver_groups(slb_models.DescribeVServerGroupsRequest(**of)).body.vserver_groups.vserver_group
assert groups[0].vserver_group_name == "k8s/30080/a/b/c", groups
list_of = slb_models.DescribeAccessControlListAttributeRequest(region_id=region, acl_id=acl.acl_id)
entry = slb.describe_access_control_list_attribute(list_of).body.acl_entrys.acl_entry[0]
assert entry.acl_entry_ip == "192.0.2.0/24", entry
slb.delete_load_balancer_listener(
    slb_models.DeleteLoadBalancerListenerRequest(**of, listener_port=80, listener_protocol="tcp")
)
slb.delete_access_control_list(slb_models.DeleteAccessControlListRequest(region_id=region, acl_id=acl.acl_id))
slb.set_load_balancer_delete_protection(
    slb_models.SetLoadBalancerDeleteProtectionRequest(**of, delete_protection="on")
)
refused(
    "OperationUnsupported.DeleteProtection",
    lambda: slb.delete_load_balancer(slb_models.DeleteLoadBalancerRequest(**of)),
)
slb.set_load_balancer_delete_protection(
    slb_models.SetLoadBalancerDeleteProtectionRequest(**of, delete_protection="off")
)
slb.delete_load_balancer(slb_models.DeleteLoadBalancerRequest(**of))

# Network Load Balancers
def done(body):
    status = nlb.get_job_status(nlb_models.GetJobStatusRequest(job_id=body.job_id)).body.status
    assert status == "Succeeded", status


zones = [
    nlb_models.CreateLoadBalancerRequestZoneMappings(zone_id=f"cn-hangzhou-{each}", v_switch_id=f"vsw-bp1{each}")
    for each in "hk"
]
network = nlb.create_load_balancer(
    nlb_models.CreateLoadBalancerRequest(
        region_id=region,
        address_type="Internet",
        load_balancer_name="front",
        vpc_id=os.environ["ALIBABA_VPC"],
        zone_mappings=zones,
        tag=[nlb_models.CreateLoadBalancerRequestTag(key="mooring.dev/cluster", value="c1")],
    )
).body.loadbalancer_id
group = nlb.create_server_group(
    nlb_models.CreateServerGroupRequest(
        region_id=region,
        server_group_name="k8s.30080.TCP.a.b.c",
        protocol="TCP",
        vpc_id=os.environ["ALIBABA_VPC"],
        health_check_config=nlb_models.CreateServerGroupRequestHealthCheckConfig(
            health_check_type="HTTP", health_check_connect_port=10256, health_check_http_code=["http_2xx"]
        ),
    )
).body
done(group)
group_id = group.server_group_id


def members(kind, server_id, weight):
    return [kind(server_id=server_id, server_type="Ecs", port=30080, weight=weight)]


def add(server_id):
    servers = members(nlb_models.AddServersToServerGroupRequestServers, server_id, 100)
    request = nlb_models.AddServersToServerGroupRequest(server_group_id=group_id, servers=servers)
    return nlb.add_servers_to_server_group(request).body


done(add(one.instance_id))
refused("ResourceNotFound.ecs", lambda: add("i-bp1never"))


def pod_servers(kind, **more):
    return [kind(server_id=interface, server_ip=pod, server_type="Eni", port=8080, **more)]


def add_pod(**more):
    servers = pod_servers(nlb_models.AddServersToServerGroupRequestServers, **more)
    request = nlb_models.AddServersToServerGroupRequest(server_group_id=group_id, servers=servers)
    return nlb.add_servers_to_server_group(request).body


done(add_pod(weight=100))
shown = nlb.list_server_group_servers(nlb_models.ListServerGroupServersRequest(server_group_id=group_id)).body.servers
assert [(each.server_id, each.server_ip) for each in shown if each.server_type == "Eni"] == [(interface, pod)], shown
gone = pod_servers(nlb_models.RemoveServersFromServerGroupRequestServers)
done(
    nlb.remove_servers_from_server_group(
        nlb_models.RemoveServersFromServerGroupRequest(server_group_id=group_id, servers=gone)
    ).body
)
made = nlb.create_listener(
    nlb_models.CreateListenerRequest(
        load_balancer_id=network, listener_protocol="TCP", listener_port=80, server_group_id=group_id, idle_timeout=300
    )
).body
done(made)
done(
    nlb.update_listener_attribute(
        nlb_models.UpdateListenerAttributeRequest(listener_id=made.listener_id, cps=100, proxy_protocol_enabled=True)
    ).body
)
weighed = members(nlb_models.UpdateServerGroupServersAttributeRequestServers, one.instance_id, 0)
done(
    nlb.update_server_group_servers_attribute(
        nlb_models.UpdateServerGroupServersAttributeRequest(server_group_id=group_id, servers=weighed)
    ).body
)
joins = nlb_models.LoadBalancerJoinSecurityGroupRequest(load_balancer_id=network, security_group_ids=["sg-bp1a"])
done(nlb.load_balancer_join_security_group(joins).body)
nlb.tag_resources(
    nlb_models.TagResourcesRequest(
        resource_type="loadbalancer",
        resource_id=[network],
        tag=[nlb_models.TagResourcesRequestTag(key="team", value="shop")],
    )
)
[shown] = nlb.list_load_balancers(
    nlb_models.ListLoadBalancersRequest(load_balancer_ids=[network], max_results=100)
).body.load_balancers
assert shown.load_balancer_status == "Active" and shown.dnsname and shown.address_type == "Internet", shown
assert shown.security_group_ids == ["sg-bp1a"], shown
assert {each.key: each.value for each in shown.tags} == {"mooring.dev/cluster": "c1", "team": "shop"}, shown
assert [each.zone_id for each in shown.zone_mappings] == ["cn-hangzhou-h", "cn-hangzhou-k"], shown
[listener] = nlb.list_listeners(nlb_models.ListListenersRequest(load_balancer_ids=[network])).body.listeners
assert listener.listener_status == "Running" and listener.server_group_id == group_id, listener
assert (listener.cps, listener.idle_timeout, listener.proxy_protocol_enabled) == (100, 300, True), listener
[listed] = nlb.list_server_groups(nlb_models.ListServerGroupsRequest(server_group_ids=[group_id])).body.server_groups
assert listed.health_check.health_check_connect_port == 10256, listed
assert listed.health_check.health_check_http_code == ["http_2xx"] and listed.server_count == 1, listed
[server] = nlb.list_server_group_servers(
    nlb_models.ListServerGroupServersRequest(server_group_id=group_id, max_results=100)
).body.servers
assert server.server_id == one.instance_id and server.weight == 0 and server.port == 30080, server
delete_group = nlb_models.DeleteServerGroupRequest(server_group_id=group_id)
refused("ResourceInUse.serverGroup", lambda: nlb.delete_server_group(delete_group))
for protected in True, False:
    nlb.update_load_balancer_protection(
        nlb_models.UpdateLoadBalancerProtectionRequest(load_balancer_id=network, deletion_protection_enabled=protected)
    )
    if protected:
        refused(
            "OperationDenied.DeletionProtection",
            lambda: nlb.delete_load_balancer(nlb_models.DeleteLoadBalancerRequest(load_balancer_id=network)),
        )
done(nlb.delete_load_balancer(nlb_models.DeleteLoadBalancerRequest(load_balancer_id=network)).body)
done(nlb.delete_server_group(delete_group).body)

print("ok")
