"""Drives the fake of CloudStack with cs, a client that neither Mooring nor the vendor has written. CS_ENDPOINT says where.
Ends in "ok" or in a failure."""

import os

from cs import CloudStack, CloudStackApiException

options = {"endpoint": os.environ["CS_ENDPOINT"], "key": os.environ["CS_KEY"], "poll_interval": 0.05}
network = os.environ["CS_NETWORK"]


def refused(code, call, **params):
    try:
        call(**params)
    except CloudStackApiException as error:
        assert error.error["errorcode"] == code, error.error
    else:
        raise AssertionError("it was not refused")


for method in ("get", "post"):
    cs = CloudStack(secret=os.environ["CS_SECRET"], method=method, fetch_result=True, **options)
    vms = cs.listVirtualMachines(fetch_list=True, listall=True, details=["nics", "servoff"])
    assert len({vm["id"] for vm in vms}) == 600, len(vms)
    one = cs.listVirtualMachines(id=vms[3]["id"])["virtualmachine"][0]
    assert one["name"] == "node-3" and one["nic"][0]["networkid"] == network, one
    assert len(cs.listVirtualMachines(fetch_list=True, name="node-59")) == 11

    address = cs.associateIpAddress(networkid=network)["ipaddress"]
    cs.createTags(resourceids=[address["id"]], resourcetype="PublicIpAddress", tags=[{"key": "a b", "value": "ü+/="}])
    (found,) = cs.listPublicIpAddresses(fetch_list=True, tags=[{"key": "a b", "value": "ü+/="}])
    assert found["id"] == address["id"] and found["state"] == "Allocated", found
    assert found["tags"][0]["value"] == "ü+/=", found

    rule = cs.createLoadBalancerRule(
        publicipid=address["id"], networkid=network, name="web", protocol="tcp", algorithm="roundrobin",
        publicport=80, privateport=30080, openfirewall=False, cidrlist=["192.0.2.0/24", "198.51.100.0/24"],
    )["loadbalancer"]
    assert rule["state"] == "Active" and rule["cidrlist"] == "192.0.2.0/24 198.51.100.0/24", rule
    ids = [vm["id"] for vm in vms[:300]] if method == "post" else [vm["id"] for vm in vms[:20]]
    cs.assignToLoadBalancerRule(id=rule["id"], virtualmachineids=ids)
    cs.removeFromLoadBalancerRule(id=rule["id"], virtualmachineids=ids[:1])
    members = cs.listLoadBalancerRuleInstances(fetch_list=True, id=rule["id"])
    assert {vm["id"] for vm in members} == set(ids[1:]), len(members)
    cs.updateLoadBalancerRule(id=rule["id"], algorithm="source")
    refused(537, cs.createLoadBalancerRule, publicipid=address["id"], networkid=network, name="twice", protocol="tcp",
            algorithm="roundrobin", publicport=80, privateport=30081)
    refused(431, cs.createLoadBalancerRule, publicipid=address["id"], name="incomplete")
    refused(431, cs.listVirtualMachines, nosuchparameter="x")
    refused(432, cs.listNothing)

    opened = cs.createFirewallRule(ipaddressid=address["id"], protocol="tcp", startport=80, endport=80, cidrlist=["0.0.0.0/0"])
    assert opened["firewallrule"]["id"] == cs.listFirewallRules(ipaddressid=address["id"])["firewallrule"][0]["id"]
    assert cs.disassociateIpAddress(id=address["id"])["success"] is True
    assert cs.listLoadBalancerRules(fetch_list=True, listall=True) == []

wrong = CloudStack(secret="x" * 86, **options)
refused(401, wrong.listVirtualMachines)
print("ok")
