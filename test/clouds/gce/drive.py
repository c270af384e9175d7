"""Drives the fake of Compute Engine with google-cloud-compute, Google's client for Python: every answer is parsed by what
Mooring has not written. GCE_URL says where. Ends in "ok" or in a failure."""

import os
from google.api_core import exceptions
from google.auth.credentials import AnonymousCredentials
from google.cloud import compute_v1
from google.cloud.compute_v1.services.global_operations.transports import GlobalOperationsRestTransport
from google.cloud.compute_v1.services.instances.transports import InstancesRestTransport
from google.cloud.compute_v1.services.routes.transports import RoutesRestTransport

scheme, host = os.environ["GCE_URL"].split("://")


class Token(AnonymousCredentials):
    def before_request(self, request, method, url, headers):
        headers["authorization"] = "Bearer good"

    def apply(self, headers, token=None):
        headers["authorization"] = "Bearer good"


def client(kind, transport):
    return kind(transport=transport(host=host, url_scheme=scheme, credentials=Token()))


instances = client(compute_v1.InstancesClient, InstancesRestTransport)
routes = client(compute_v1.RoutesClient, RoutesRestTransport)
operations = client(compute_v1.GlobalOperationsClient, GlobalOperationsRestTransport)
zone = "us-central1-a"

one = instances.get(project="proj", zone=zone, instance="node-3")
assert one.status == "RUNNING" and one.id > 2**60 and one.can_ip_forward, one
assert one.network_interfaces[0].network_i_p.startswith("10.128."), one

listed = list(instances.list(project="proj", zone=zone))
assert len(listed) == 600, len(listed)
request = compute_v1.ListInstancesRequest(project="proj", zone=zone, filter='name = "node-3"')
assert [each.name for each in instances.list(request=request)] == ["node-3"]

# This client knows no returnPartialSuccess.
request = compute_v1.AggregatedListInstancesRequest(project="proj", max_results=500)
pages = list(instances.aggregated_list(request=request).pages)
scopes = [scope for page in pages for scope in page.items.items()]
assert sum(len(scope.instances) for _, scope in scopes) == 600 and len(pages) == 2, len(pages)
assert {scope.warning.code for name, scope in scopes if name == "zones/europe-west1-d"} == {"NO_RESULTS_ON_PAGE"}

try:
    instances.get(project="proj", zone=zone, instance="none")
    raise AssertionError("found")
except exceptions.NotFound as error:
    assert "instances/none" in str(error)

route = compute_v1.Route(
    name="by-python",
    dest_range="10.8.0.0/24",
    network="projects/proj/global/networks/default",
    next_hop_instance=f"projects/proj/zones/{zone}/instances/node-3",
    priority=1000,
)
started = routes.insert_unary(project="proj", route_resource=route)
assert started.status == compute_v1.Operation.Status.RUNNING, started
done = operations.wait(project="proj", operation=started.name)
assert done.status == compute_v1.Operation.Status.DONE and not done.error.errors, done
assert operations.get(project="proj", operation=started.name).target_link.endswith("routes/by-python")
try:
    routes.insert_unary(project="proj", route_resource=route)
    raise AssertionError("inserted twice")
except exceptions.Conflict:
    pass
started = routes.delete_unary(project="proj", route="by-python")
done = operations.wait(project="proj", operation=started.name)
assert done.status == compute_v1.Operation.Status.DONE, done
assert [each.name for each in routes.list(project="proj")] == []
print("ok")
