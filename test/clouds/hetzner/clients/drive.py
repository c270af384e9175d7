"""Drives a fake Hetzner Cloud with the vendor's own Python client: every answer is parsed by what Mooring has not written.

HETZNER_URL and HETZNER_TOKEN say where. Ends in `ok` or in a traceback.
"""

import os

from hcloud import APIException, Client
from hcloud.load_balancer_types import LoadBalancerType
from hcloud.load_balancers import (
    LoadBalancerAlgorithm,
    LoadBalancerHealthCheck,
    LoadBalancerHealthCheckHttp,
    LoadBalancerService,
    LoadBalancerServiceHttp,
    LoadBalancerTarget,
    LoadBalancerTargetIP,
    LoadBalancerTargetLabelSelector,
)
from hcloud.locations import Location
from hcloud.networks import NetworkRoute

client = Client(
    token=os.environ["HETZNER_TOKEN"],
    api_endpoint=os.environ["HETZNER_URL"],
    poll_interval=0.1,
)


def refused(code, call):
    try:
        call()
    except APIException as error:
        assert error.code == code, error
        return
    raise AssertionError(f"expected {code}")


# Servers
servers = client.servers.get_all()
assert len(servers) == 60, len(servers)
server = client.servers.get_by_name("node-7")
assert server.status == "running" and server.server_type.name == "cpx11"
assert client.servers.get_by_id(server.id).public_net.ipv4.ip == server.public_net.ipv4.ip
assert [one.name for one in client.servers.get_all(label_selector="pool=blue")] == ["node-3"]
refused("not_found", lambda: client.servers.get_by_id(1))

# Routes
network = client.networks.get_by_name("k8s")
gateway = server.private_net[0].ip
route = NetworkRoute(destination="10.244.7.0/24", gateway=gateway)
network.add_route(route).wait_until_finished()
network.reload()
assert [(one.destination, one.gateway) for one in network.routes] == [("10.244.7.0/24", gateway)]
refused("invalid_input", lambda: network.add_route(route))
network.delete_route(route).wait_until_finished()
network.reload()
assert network.routes == []

# Catalog
assert [one.name for one in client.load_balancer_types.get_all()] == ["lb11", "lb21", "lb31"]
assert client.locations.get_by_name("fsn1").network_zone == "eu-central"

# Load balancers
check = LoadBalancerHealthCheck(protocol="tcp", port=30080, interval=15, timeout=10, retries=3)
tcp = LoadBalancerService(
    protocol="tcp", listen_port=80, destination_port=30080, proxyprotocol=False, health_check=check
)
created = client.load_balancers.create(
    name="lb-1",
    load_balancer_type=LoadBalancerType(name="lb11"),
    algorithm=LoadBalancerAlgorithm(type="round_robin"),
    location=Location(name="fsn1"),
    network=network,
    services=[tcp],
    targets=[LoadBalancerTarget(type="server", server=server, use_private_ip=True)],
    labels={"hcloud-ccm/service-uid": "0b6c"},
)
lb = created.load_balancer
refused("locked", lambda: lb.change_algorithm(LoadBalancerAlgorithm(type="least_connections")))
created.action.wait_until_finished()
refused(
    "uniqueness_error",
    lambda: client.load_balancers.create(
        name="lb-1",
        load_balancer_type=LoadBalancerType(name="lb11"),
        algorithm=LoadBalancerAlgorithm(type="round_robin"),
        location=Location(name="fsn1"),
    ),
)
assert client.load_balancers.get_all(label_selector="hcloud-ccm/service-uid=0b6c")[0].id == lb.id
lb = client.load_balancers.get_by_name("lb-1")
assert lb.private_net[0].network.id == network.id
assert lb.targets[0].server.id == server.id and lb.targets[0].use_private_ip
lb.update(labels={"team": "a"})
lb.change_algorithm(LoadBalancerAlgorithm(type="least_connections")).wait_until_finished()
lb.change_type(LoadBalancerType(name="lb21")).wait_until_finished()
lb.change_dns_ptr(lb.public_net.ipv4.ip, "lb.example.com").wait_until_finished()

certificate = client.certificates.create("web", "-----BEGIN CERTIFICATE-----", "-----BEGIN PRIVATE KEY-----")
web_check = LoadBalancerHealthCheck(
    protocol="http",
    port=30443,
    interval=5,
    timeout=3,
    retries=2,
    http=LoadBalancerHealthCheckHttp(domain="a.example", path="/healthz", response="", status_codes=["200"], tls=False),
)
https = LoadBalancerService(
    protocol="https",
    listen_port=443,
    destination_port=30443,
    proxyprotocol=False,
    health_check=web_check,
    http=LoadBalancerServiceHttp(
        cookie_name="sticky",
        cookie_lifetime=600,
        redirect_http=False,
        sticky_sessions=True,
        certificates=[certificate],
    ),
)
lb.add_service(https).wait_until_finished()
refused("source_port_already_used", lambda: lb.add_service(https))
tcp.destination_port = 30081
lb.update_service(tcp).wait_until_finished()
lb.reload()
shown = {one.listen_port: one for one in lb.services}
assert shown[80].destination_port == 30081
assert shown[443].http.certificates[0].id == certificate.id and shown[443].health_check.http.path == "/healthz"
assert lb.algorithm.type == "least_connections" and lb.load_balancer_type.name == "lb21"
assert lb.labels == {"team": "a"} and lb.public_net.ipv4.dns_ptr == "lb.example.com"
refused("resource_in_use", certificate.delete)
lb.delete_service(https).wait_until_finished()
certificate.delete()

more = [
    LoadBalancerTarget(type="server", server=servers[1], use_private_ip=True),
    LoadBalancerTarget(
        type="label_selector",
        label_selector=LoadBalancerTargetLabelSelector(selector="pool=blue"),
        use_private_ip=True,
    ),
    LoadBalancerTarget(type="ip", ip=LoadBalancerTargetIP(ip="10.0.200.1")),
]
for target in more:
    lb.add_target(target).wait_until_finished()
refused("target_already_defined", lambda: lb.add_target(more[0]))
lb.reload()
assert [one.type for one in lb.targets] == ["server", "server", "label_selector", "ip"]
assert [one.server.name for one in lb.targets[2].targets] == [None] or lb.targets[2].targets
refused("targets_without_use_private_ip", lb.disable_public_interface)
for target in more:
    lb.remove_target(target).wait_until_finished()
lb.disable_public_interface().wait_until_finished()
lb.enable_public_interface().wait_until_finished()
refused("load_balancer_already_attached", lambda: lb.attach_to_network(network))
lb.remove_target(LoadBalancerTarget(type="server", server=server)).wait_until_finished()
lb.detach_from_network(network).wait_until_finished()
lb.attach_to_network(network, ip="10.0.9.9").wait_until_finished()
lb.reload()
assert lb.private_net[0].ip == "10.0.9.9" and lb.targets == []
lb.change_protection(delete=True).wait_until_finished()
refused("protected", lb.delete)
lb.change_protection(delete=False).wait_until_finished()
lb.delete().action.wait_until_finished()
assert client.load_balancers.get_by_name("lb-1") is None
refused("unauthorized", Client(token="wrong", api_endpoint=os.environ["HETZNER_URL"]).servers.get_all)
print("ok")
