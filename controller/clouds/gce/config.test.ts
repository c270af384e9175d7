import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { CloudConfigError } from '../cloud.ts';
import { readConfig } from './config.ts';

const read = (text: string) => readConfig({ path: 'gce.conf', text });

function refusalOf(text: string): string {
  try {
    read(text);
  } catch (error) {
    assert.ok(error instanceof CloudConfigError);
    return error.message;
  }
  return assert.fail('it was accepted');
}

describe('the configuration of Compute Engine', () => {
  it('returns the defaults without a file', () => {
    assert.deepEqual(readConfig(undefined), {
      project: undefined,
      networkProject: undefined,
      network: undefined,
      named: undefined,
      ipv6First: false,
      namePrefix: undefined,
      endpoint: undefined,
      resourceManagerEndpoint: undefined,
      credentialFile: undefined,
      tokenSource: undefined,
      warnings: [],
      region: undefined,
      subnet: undefined,
      nodeTags: [],
      clusterId: undefined,
    });
  });

  it('reads the gce.conf of the classic controller, and a section of its own', () => {
    const config = read(`[Global]
      project-id = my-project
      network-project-id = host-project
      network-name = nodes
      local-zone = europe-west1-d
      multizone = true
      stack-type = IPV6
      node-instance-prefix = gke-a
      subnetwork-name = https://a.example/projects/host-project/regions/europe-west1/subnetworks/pods
      node-tags = a
      node-tags = b
      token-url = https://tokens.example.com/token
      token-body = "{\\"a\\": 1}"
      api-endpoint = https://compute.example.com/compute/v1/
      [mooring]
      credential-file = /etc/gce/key.json
      cluster-id = 0123456789abcdef
      resource-manager-endpoint = https://crm.example.com/`);
    assert.deepEqual(config, {
      project: 'my-project',
      networkProject: 'host-project',
      network: 'nodes',
      ipv6First: true,
      named: { region: 'europe-west1' },
      namePrefix: 'gke-a',
      credentialFile: '/etc/gce/key.json',
      endpoint: 'https://compute.example.com/compute/v1',
      resourceManagerEndpoint: 'https://crm.example.com',
      tokenSource: { url: 'https://tokens.example.com/token', body: '{"a": 1}' },
      warnings: [],
      region: 'europe-west1',
      subnet: 'pods',
      nodeTags: ['a', 'b'],
      clusterId: '0123456789abcdef',
    });
  });

  it('takes a name for a VM of the local zone, or of its region with multizone or regional', () => {
    const zone = '[global]\nlocal-zone = us-east1-b\n';
    assert.deepEqual(read(zone).named, { zone: 'us-east1-b' });
    for (const key of ['multizone', 'regional'])
      assert.deepEqual(read(`${zone}${key} = true`).named, { region: 'us-east1' });
    assert.equal(read('[global]\nmultizone = true').named, undefined);
  });

  it('takes the region of load balancers from the local zone, or from the key that names one', () => {
    const zone = '[global]\nlocal-zone = us-east1-b\n';
    assert.equal(read(zone).region, 'us-east1');
    assert.equal(read(`${zone}[mooring]\nregion = us-west1`).region, 'us-west1');
  });

  it('takes the URL of a network for its name and project', () => {
    const link = 'https://www.googleapis.com/compute/v1/projects/host/global/networks/nodes';
    const { network, networkProject } = read(`[global]\nnetwork-name = ${link}`);
    assert.deepEqual([networkProject, network], ['host', 'nodes']);
  });

  it('reads token-url = nil as the credentials of the surroundings', () => {
    assert.equal(read('[global]\ntoken-url = nil').tokenSource, undefined);
  });

  it('keeps token-url as it is written: a slash at its end belongs to it', () => {
    const { tokenSource } = read('[global]\ntoken-url = https://tokens.example.com/token/');
    assert.equal(tokenSource?.url, 'https://tokens.example.com/token/');
  });

  it('names every key that has no effect, and every unknown one', () => {
    const { warnings } = read(`[global]
      secondary-range-name = r
      container-api-endpoint = https://c.example.com
      alpha-features = ILBSubsets
      gone = 1
      [other]
      key = 1`);
    assert.deepEqual(warnings, [
      'secondary-range-name has no effect: it has no meaning in the classic controller either',
      'container-api-endpoint has no effect: GKE is not called',
      'alpha-features has no effect: no alpha API is called',
      'unknown in the cloud config: [global] gone, [other]',
    ]);
  });

  for (const [text, expected] of [
    ['project-id = My Project', /\[global\] project-id: "My Project", expected the id or number of a project/],
    ['local-zone = here', /local-zone: "here", expected a zone/],
    ['local-zone = us-central1', /local-zone: "us-central1", expected a zone/],
    ['network-name = https://a.example/projects/P/global/networks/a', /network-name: .*, expected a name or the URL/],
    ['network-name = https://a.example/projects/p/global/networks/A', /network-name: .*, expected a name or the URL/],
    ['network-name = https://example.com/a', /network-name: .*, expected a name or the URL of a network/],
    ['network-name = a/b', /network-name: "a\/b", expected a name or the URL of a network/],
    ['stack-type = IPv5', /stack-type: "IPv5", expected IPV4, IPV6 or IPV4_IPV6/],
    ['node-instance-prefix = a.*', /node-instance-prefix: "a\.\*", expected the beginning/],
    ['node-tags = A', /node-tags: "A", expected a network tag/],
    ['subnetwork-name = a/b', /subnetwork-name: "a\/b", expected a name or the URL of a subnet/],
    ['regional = perhaps', /regional: "perhaps", expected true or false/],
  ] as const)
    it(`refuses ${text}`, () => assert.match(refusalOf(`[global]\n${text}`), expected));

  it('shows no password in a URL', () => {
    const message = refusalOf('[global]\napi-endpoint = https://user:secret@example.com');
    assert.match(
      message,
      /line 2: \[global\] api-endpoint: a wrong value \(not shown\), expected an http or https URL/,
    );
    assert.doesNotMatch(message, /secret/);
  });
});
