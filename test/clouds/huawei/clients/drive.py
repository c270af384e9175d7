"""The vendor's clients for Python on the fake of Huawei Cloud. Its address, keys and ids are in the environment; the
bodies that Mooring has sent are on the standard input. Ends in "ok"."""

import json
import os
import re
import sys

import huaweicloudsdkecs.v2 as ecs
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
    absent = ecs.ShowServerRequest(server_id="00000000-0000-4000-8000-000000000000")
    refused("Ecs.0114", cloud.show_server, absent)
    return one.id


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


def exchanges(sent):
    """What Mooring has sent and got is what the models have."""
    models = [
        (r"/cloudservers/detail$", ecs, "ListServersDetailsResponse", None),
        (r"/cloudservers/[0-9a-f-]{36}$", ecs, "ShowServerResponse", None),
        (r"/routetables$", vpc, "ListRouteTablesResponse", None),
        (r"/routetables/[0-9a-f-]{36}$", vpc, "ShowRouteTableResponse", "UpdateRoutetableReqBody"),
    ]
    seen = set()
    for exchange in sent:
        for pattern, package, answer, request in models:
            if not re.search(pattern, exchange["path"]):
                continue
            hold(package, answer, exchange["answer"], exchange["path"])
            if exchange["method"] == "PUT":
                hold(package, request, exchange["body"], "body")
            seen.add((exchange["method"], pattern))
    assert len(seen) == 5, seen


servers_id = servers()
tables(servers_id)
exchanges(json.load(sys.stdin))
bad = BasicCredentials(os.environ["HUAWEI_AK"], "another", os.environ["HUAWEI_PROJECT"])
cloud = ecs.EcsClient.new_builder().with_credentials(bad).with_endpoint(ENDPOINT).build()
refused("APIGW.0301", cloud.list_servers_details, ecs.ListServersDetailsRequest())
print("ok")
