"""The vendor's clients for Python on the fake of Huawei Cloud. Its address, keys and ids are in the environment; the
bodies that Mooring has sent are on the standard input. Ends in "ok"."""

import json
import os
import re
import sys

import huaweicloudsdkecs.v2 as ecs
import huaweicloudsdkeip.v2 as eip2
import huaweicloudsdkeip.v3 as eip
import huaweicloudsdkelb.v2 as elb2
import huaweicloudsdkelb.v3 as elb
import huaweicloudsdkvpc.v2 as vpc
from huaweicloudsdkcore.auth.credentials import BasicCredentials
from huaweicloudsdkcore.exceptions.exceptions import ClientRequestException

ENDPOINT = os.environ["HUAWEI_URL"]
CREDENTIALS = BasicCredentials(
    os.environ["HUAWEI_AK"], os.environ["HUAWEI_SK"], os.environ["HUAWEI_PROJECT"]
)
SCALARS = {"str": str, "int": int, "bool": bool, "float": (int, float), "object": object, "datetime": str}


def hold(package, kind, value, path):
    """Fails where a JSON value has a field or a type that the vendor's model has not."""
    if value is None:
        return
    listed = re.fullmatch(r"list\[(.+)\]", kind)
    mapped = re.fullmatch(r"dict\(str, (.+)\)", kind)
    if listed:
        for at, one in enumerate(value):
            hold(package, listed[1], one, f"{path}[{at}]")
    elif mapped:
        for name, one in value.items():
            hold(package, mapped[1], one, f"{path}.{name}")
    elif kind in SCALARS:
        assert isinstance(value, SCALARS[kind]), f"{path}: {value!r}, expected {kind}"
    else:
        model = getattr(package, kind)
        names = {wire: attribute for attribute, wire in model.attribute_map.items()}
        assert isinstance(value, dict), f"{path}: {value!r}, expected {kind}"
        for name, one in value.items():
            assert name in names, f"{path}.{name}: not in {kind}"
            hold(package, model.openapi_types[names[name]], one, f"{path}.{name}")


def client(package, builder):
    return builder.new_builder().with_credentials(CREDENTIALS).with_endpoint(ENDPOINT).build()


def refused(code, call, *args):
    try:
        call(*args)
    except ClientRequestException as error:
        assert error.error_code == code, error
        return
    raise AssertionError(f"expected {code}")


def servers():
    cloud = client(ecs, ecs.EcsClient)
    listed = cloud.list_servers_details(ecs.ListServersDetailsRequest(limit=50, offset=2))
    assert listed.count == 61 and len(listed.servers) == 11, (listed.count, len(listed.servers))
    one = cloud.show_server(ecs.ShowServerRequest(server_id=listed.servers[0].id)).server
    assert one.os_ext_a_zavailability_zone and one.flavor.name
    address = next(iter(one.addresses.values()))[0]
    assert address.addr and address.os_ext_ip_stype == "fixed" and address.os_ext_ip_sport_id
    named = cloud.list_servers_details(ecs.ListServersDetailsRequest(name=one.name))
    assert one.id in [each.id for each in named.servers]
    by_address = cloud.list_servers_details(ecs.ListServersDetailsRequest(ip_eq=address.addr))
    assert [each.id for each in by_address.servers] == [one.id]
    group = ecs.NovaAddSecurityGroupOption(name="1e2b5d5f-2d1c-4a3f-9a7e-1f0f5a2f7a02")
    body = ecs.NovaAssociateSecurityGroupRequestBody(add_security_group=group)
    cloud.nova_associate_security_group(ecs.NovaAssociateSecurityGroupRequest(server_id=one.id, body=body))
    groups = cloud.show_server(ecs.ShowServerRequest(server_id=one.id)).server.security_groups
    assert group.name in [each.id for each in groups] and len(groups) == 2, groups
    absent = ecs.ShowServerRequest(server_id="00000000-0000-4000-8000-000000000000")
    refused("Ecs.0114", cloud.show_server, absent)
    return one.id, address.addr


def tables(server):
    cloud = client(vpc, vpc.VpcClient)
    first = cloud.list_route_tables(vpc.ListRouteTablesRequest(vpc_id=os.environ["HUAWEI_VPC"], limit=1)).routetables
    marker = vpc.ListRouteTablesRequest(vpc_id=os.environ["HUAWEI_VPC"], limit=1, marker=first[0].id)
    second = cloud.list_route_tables(marker).routetables
    assert len(first) == len(second) == 1 and first[0].id != second[0].id
    table = first[0].id

    def update(**change):
        action = vpc.RouteTableRouteAction(**change)
        body = vpc.UpdateRoutetableReqBody(routetable=vpc.UpdateRouteTableReq(routes=action))
        return cloud.update_route_table(vpc.UpdateRouteTableRequest(routetable_id=table, body=body)).routetable

    route = {"type": "ecs", "destination": "10.77.0.0/24", "nexthop": server}
    added = update(add=[vpc.AddRouteTableRoute(**route, description="theirs")])
    assert [each.destination for each in added.routes if each.nexthop == server] == ["10.77.0.0/24"]
    refused("VPC.2703", lambda: update(add=[vpc.AddRouteTableRoute(**route)]))
    shown = cloud.show_route_table(vpc.ShowRouteTableRequest(routetable_id=table)).routetable
    assert any(each.description == "theirs" for each in shown.routes)
    removed = update(_del=[vpc.DelRouteTableRoute(**route)])
    assert not any(each.destination == "10.77.0.0/24" for each in removed.routes)
    refused("VPC.2701", cloud.show_route_table, vpc.ShowRouteTableRequest(routetable_id="none"))


def balancers(address):
    """Everything of a load balancer is made, read, changed and deleted; errors are those of the service."""
    cloud = client(elb, elb.ElbClient)
    subnet = os.environ["HUAWEI_SUBNET"]

    def create(kind, **fields):
        options = {"IpGroup": "Ip_group", "HealthMonitor": "Healthmonitor", "LoadBalancer": "Loadbalancer"}
        field = options.get(kind, kind).lower().replace("_", "")
        body = getattr(elb, f"Create{kind}RequestBody")(**{field: getattr(elb, f"Create{kind}Option")(**fields)})
        call = getattr(cloud, "create_" + re.sub(r"(?<!^)(?=[A-Z])", "_", kind).lower())
        return getattr(call(getattr(elb, f"Create{kind}Request")(body=body)), field)

    made = create("LoadBalancer", name="theirs", vip_subnet_cidr_id=subnet, availability_zone_list=["cn-north-4a"])
    assert made.guaranteed and made.vip_address and made.provisioning_status == "ACTIVE"
    older = client(elb2, elb2.ElbClient)
    shared = older.create_loadbalancer(
        elb2.CreateLoadbalancerRequest(
            body=elb2.CreateLoadbalancerRequestBody(
                loadbalancer=elb2.CreateLoadbalancerReq(name="shared", vip_subnet_id=subnet, description="theirs")
            )
        )
    ).loadbalancer
    pages = elb.ListLoadBalancersRequest(limit=1)
    seen = {}
    while True:
        page = cloud.list_load_balancers(pages)
        if not page.loadbalancers:
            break
        for one in page.loadbalancers:
            seen[one.id] = one
        pages = elb.ListLoadBalancersRequest(limit=1, marker=page.page_info.next_marker)
    assert seen[shared.id].guaranteed is False and seen[made.id].guaranteed is True
    ours = [one for one in seen.values() if one.description.startswith("mooring ")]
    assert [one.name for one in ours] == ["k8s_service_kubernetes_shop_web-2"], ours
    assert len(ours[0].listeners) == len(ours[0].pools) == 1
    pool = cloud.show_pool(elb.ShowPoolRequest(pool_id=ours[0].pools[0].id)).pool
    assert pool.lb_algorithm == "LEAST_CONNECTIONS" and pool.healthmonitor_id and len(pool.members) == 1
    members = cloud.list_all_members(elb.ListAllMembersRequest(loadbalancer_id=[ours[0].id])).members
    assert [one.weight for one in members] == [0] and members[0].instance_id

    group = create("IpGroup", name="group", ip_list=[elb.CreateIpGroupIpOption(ip="192.0.2.0/24")])
    pool = create("Pool", name="pool", protocol="TCP", lb_algorithm="ROUND_ROBIN", loadbalancer_id=made.id)
    listener = create(
        "Listener",
        **{"name": "listener", "protocol": "TCP", "protocol_port": 80, "loadbalancer_id": made.id},
        default_pool_id=pool.id,
        ipgroup=elb.CreateListenerIpGroupOption(ipgroup_id=group.id),
    )
    refused("ELB.8907", lambda: create("Listener", protocol="TCP", protocol_port=80, loadbalancer_id=made.id))
    refused("ELB.8902", lambda: create("Listener", protocol="HTTPS", protocol_port=81, loadbalancer_id=made.id))
    monitor = create("HealthMonitor", pool_id=pool.id, type="TCP", delay=5, timeout=3, max_retries=3)
    option = elb.UpdateHealthMonitorOption(type="HTTP", monitor_port=10256)
    update = elb.UpdateHealthMonitorRequestBody(healthmonitor=option)
    changed = cloud.update_health_monitor(
        elb.UpdateHealthMonitorRequest(healthmonitor_id=monitor.id, body=update)
    ).healthmonitor
    assert (changed.type, changed.monitor_port, changed.delay) == ("HTTP", 10256, 5)
    off = elb.UpdateListenerOption(ipgroup=elb.UpdateListenerIpGroupOption(group.id, enable_ipgroup=False))
    update = elb.UpdateListenerRequestBody(listener=off)
    changed = cloud.update_listener(elb.UpdateListenerRequest(listener_id=listener.id, body=update)).listener
    assert changed.ipgroup.ipgroup_id == group.id and changed.ipgroup.enable_ipgroup is False
    refused("ELB.8907", cloud.delete_ip_group, elb.DeleteIpGroupRequest(ipgroup_id=group.id))
    option = elb.BatchCreateMembersOption(address=address, protocol_port=30080, subnet_cidr_id=subnet)
    body = elb.BatchCreateMembersRequestBody(members=[option])
    added = cloud.batch_create_members(elb.BatchCreateMembersRequest(pool_id=pool.id, body=body)).members
    assert added[0].ret_status == "successful" and added[0].instance_id
    body = elb.BatchDeleteMembersRequestBody(members=[elb.BatchDeleteMembersOption(id=added[0].id)])
    cloud.batch_delete_members(elb.BatchDeleteMembersRequest(pool_id=pool.id, body=body))
    assert cloud.list_members(elb.ListMembersRequest(pool_id=pool.id)).members == []
    addresses(made.id)
    refused("ELB.8907", cloud.delete_listener, elb.DeleteListenerRequest(listener_id=listener.id))
    cloud.delete_listener_force(elb.DeleteListenerForceRequest(listener_id=listener.id))
    refused("ELB.8907", cloud.delete_load_balancer, elb.DeleteLoadBalancerRequest(loadbalancer_id=made.id))
    for one in (made.id, shared.id):
        cloud.delete_load_balancer_force(elb.DeleteLoadBalancerForceRequest(loadbalancer_id=one))
        refused("ELB.8904", cloud.show_load_balancer, elb.ShowLoadBalancerRequest(loadbalancer_id=one))
    cloud.delete_ip_group(elb.DeleteIpGroupRequest(ipgroup_id=group.id))


def addresses(balancer):
    older, cloud = client(eip2, eip2.EipClient), client(eip, eip.EipClient)
    bandwidth = eip2.CreatePublicipBandwidthOption(name="theirs", share_type="PER", size=5, charge_mode="traffic")
    option = eip2.CreatePublicipOption(type="5_bgp", alias="theirs")
    body = eip2.CreatePublicipRequestBody(publicip=option, bandwidth=bandwidth)
    made = older.create_publicip(eip2.CreatePublicipRequest(body=body)).publicip
    option = eip.AssociatePublicipsOption(associate_instance_type="ELB", associate_instance_id=balancer)
    body = eip.AssociatePublicipsRequestBody(publicip=option)
    bound = cloud.associate_publicips(eip.AssociatePublicipsRequest(publicip_id=made.id, body=body)).publicip
    assert bound.associate_instance_id == balancer and bound.public_ip_address == made.public_ip_address
    listed = {one.id: one for one in cloud.list_publicips(eip.ListPublicipsRequest()).publicips}
    assert listed[made.id].alias == "theirs" and listed[made.id].associate_instance_type == "ELB"
    refused("VPC.0510", older.delete_publicip, eip2.DeletePublicipRequest(publicip_id=made.id))
    body = eip.UpdatePublicipsRequestBody(publicip=eip.UpdatePublicipOption(description="kept"))
    cloud.update_publicip(eip.UpdatePublicipRequest(publicip_id=made.id, body=body))
    assert cloud.show_publicip(eip.ShowPublicipRequest(publicip_id=made.id)).publicip.description == "kept"
    cloud.disassociate_publicips(eip.DisassociatePublicipsRequest(publicip_id=made.id))
    older.delete_publicip(eip2.DeletePublicipRequest(publicip_id=made.id))
    refused("EIP.7904", cloud.show_publicip, eip.ShowPublicipRequest(publicip_id=made.id))


ID = "/[0-9a-f-]{36}$"
PARTS = [("loadbalancers", "LoadBalancer"), ("listeners", "Listener"), ("pools", "Pool")]
PARTS += [("healthmonitors", "HealthMonitor"), ("ipgroups", "IpGroup")]
MODELS = [
    ("GET", "/cloudservers/detail$", ecs, "ListServersDetailsResponse", None),
    ("GET", "/cloudservers" + ID, ecs, "ShowServerResponse", None),
    ("POST", "/v2.1/[^/]+/servers/[^/]+/action$", ecs, None, "NovaAssociateSecurityGroupRequestBody"),
    ("GET", "/routetables$", vpc, "ListRouteTablesResponse", None),
    ("GET", "/routetables" + ID, vpc, "ShowRouteTableResponse", None),
    ("PUT", "/routetables" + ID, vpc, "UpdateRouteTableResponse", "UpdateRoutetableReqBody"),
    ("GET", "/subnets$", vpc, "ListSubnetsResponse", None),
    ("POST", "/v2/[^/]+/elb/loadbalancers$", elb2, "CreateLoadbalancerResponse", "CreateLoadbalancerRequestBody"),
    ("POST", "/v1/[^/]+/publicips$", eip2, "CreatePublicipResponse", "CreatePublicipRequestBody"),
    ("DELETE", "/v1/[^/]+/publicips" + ID, eip2, None, None),
    ("GET", "/eip/publicips$", eip, "ListPublicipsResponse", None),
    ("GET", "/eip/publicips" + ID, eip, "ShowPublicipResponse", None),
    ("PUT", "/eip/publicips" + ID, eip, "UpdatePublicipResponse", "UpdatePublicipsRequestBody"),
    ("POST", "/associate-instance$", eip, "AssociatePublicipsResponse", "AssociatePublicipsRequestBody"),
    ("GET", "/elb/members$", elb, "ListAllMembersResponse", None),
    ("POST", "/members/batch-add$", elb, "BatchCreateMembersResponse", "BatchCreateMembersRequestBody"),
    ("POST", "/members/batch-update$", elb, "BatchUpdateMembersResponse", "BatchUpdateMembersRequestBody"),
    ("POST", "/members/batch-delete$", elb, "BatchDeleteMembersResponse", "BatchDeleteMembersRequestBody"),
    ("DELETE", "/force-elb$", elb, None, None),
    ("DELETE", "/delete-cascade$", elb, None, None),
    ("DELETE", "/elb/listeners/[0-9a-f-]{36}/force$", elb, None, None),
]
for name, kind in PARTS:
    MODELS += [
        ("GET", f"/elb/{name}$", elb, f"List{kind}sResponse", None),
        ("GET", f"/elb/{name}{ID}", elb, f"Show{kind}Response", None),
        ("POST", f"/v3/[^/]+/elb/{name}$", elb, f"Create{kind}Response", f"Create{kind}RequestBody"),
        ("PUT", f"/elb/{name}{ID}", elb, f"Update{kind}Response", f"Update{kind}RequestBody"),
        ("DELETE", f"/elb/{name}{ID}", elb, None, None),
    ]


def exchanges(sent):
    """What Mooring has sent and got is what the models have."""
    seen = set()
    for exchange in sent:
        for method, pattern, package, answer, request in MODELS:
            if exchange["method"] != method or not re.search(pattern, exchange["path"]):
                continue
            seen.add((method, pattern))
            if answer is not None and "error_code" not in exchange["answer"]:
                hold(package, answer, exchange["answer"], exchange["path"])
            if request is not None:
                hold(package, request, exchange["body"], f"{method} {exchange['path']}")
            break
        else:
            known = exchange["path"] == "/v3/projects"
            assert known, f"no model for {exchange['method']} {exchange['path']}"
    missing = [one[:2] for one in MODELS if one[:2] not in seen]
    # These are read by lists alone, and go with all that is in them.
    rare = [("GET", f"/elb/{name}{ID}") for name in ("listeners", "pools", "healthmonitors")]
    rare += [("DELETE", f"/elb/{name}{ID}") for name in ("loadbalancers", "listeners", "pools")]
    rest = [one for one in missing if one not in rare]
    assert rest == [], rest


servers_id, servers_address = servers()
tables(servers_id)
balancers(servers_address)
exchanges(json.load(sys.stdin))
bad = BasicCredentials(os.environ["HUAWEI_AK"], "another", os.environ["HUAWEI_PROJECT"])
cloud = ecs.EcsClient.new_builder().with_credentials(bad).with_endpoint(ENDPOINT).build()
refused("APIGW.0301", cloud.list_servers_details, ecs.ListServersDetailsRequest())
print("ok")
