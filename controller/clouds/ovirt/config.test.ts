import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { CloudConfigError } from '../cloud.ts';
import { type OvirtConfig, readConfig } from './config.ts';

async function read(text: string, env: Record<string, string> = {}, files: Record<string, string> = {}) {
  const config = await readConfig({ path: 'ovirt.conf', text }, env, async (path) => files[path]);
  assert.ok(!('reportOnly' in config), 'reportOnly' in config ? config.reportOnly : '');
  return config;
}

const endpoint = 'https://engine.example.com/ovirt-engine/api';
const given = ({ endpoint: url, user, password, search }: OvirtConfig) => [url, user, password, search];

describe('the configuration of oVirt', () => {
  it('reads the file of the controller that was part of Kubernetes', async () => {
    const connection = `[Connection]\nuri = ${endpoint}/\nusername = ccm@ad\npassword = "se;cret"\n`;
    const text = `${connection}[Filters]\nvms = tag=k8s\n`;
    assert.deepEqual(given(await read(text)), [endpoint, 'ccm@ad', 'se;cret', 'tag=k8s']);
  });

  it('reads the properties of its successor, with values as they are, and the sections after them', async () => {
    const properties = `# engine\nurl=${endpoint}\nusername=ccm@internal\npassword=a;b#c"d\\\\e=f\n\n`;
    const text = `${properties}[Filters]\nvmsquery=tag=k8s\n`;
    assert.deepEqual(given(await read(text)), [endpoint, 'ccm@internal', 'a;b#c"d\\e=f', 'tag=k8s']);
  });

  it('lets the environment win, and logs in admin@internal where no user is named', async () => {
    const env = { OVIRT_URL: 'https://other.example.com', OVIRT_PASSWORD: 'p2' };
    const config = await read('url=https://engine\npassword=p1\n', env);
    assert.deepEqual(given(config).slice(0, 3), ['https://other.example.com/ovirt-engine/api', 'admin@internal', 'p2']);
  });

  it('reads the authority of the engine, and watches its file', async () => {
    const config = await read(`url=${endpoint}\npassword=p\ncafile=/ca.pem\n`, {}, { '/ca.pem': 'PEM' });
    assert.deepEqual([config.ca, config.files, config.insecure], ['PEM', ['/ca.pem'], false]);
  });

  it('reads what is a zone, what is a region, and which addresses are external', async () => {
    const labels = '[Labels]\nzone=cluster\nregion=data-center\n';
    const text = `url=${endpoint}\npassword=p\n${labels}[Nodes]\nexternal-network-subnet-cidr=198.18.0.0/15\n`;
    const { zone, region, external, internal } = await read(text);
    assert.deepEqual([zone, region, external.length, internal.length], ['cluster', 'data-center', 1, 0]);
  });

  it('opens report-only without an engine or a password, and says which is missing', async () => {
    const none = await readConfig(undefined, {}, async () => undefined);
    assert.deepEqual(none, { reportOnly: 'no url: tried environment and OVIRT_*' });
    const half = await readConfig(undefined, { OVIRT_URL: endpoint }, async () => undefined);
    assert.deepEqual(half, { reportOnly: 'no password: tried environment and OVIRT_*' });
  });

  it('says which keys there are where a file has none of them', async () => {
    const file = { path: 'ovirt.conf', text: '[Global]\nauth-url=x\n' };
    assert.deepEqual(await readConfig(file, {}, async () => undefined), {
      reportOnly:
        'no url: tried ovirt.conf and OVIRT_*, expected url, username and password in [Connection]; unknown in the ' +
        'cloud config: [global]',
    });
  });

  it('names unknown keys in a warning', async () => {
    const { warnings } = await read(`url=${endpoint}\npassword=p\ncolour=red\n[Labels]\nrack=1\n`);
    assert.deepEqual(warnings, ['unknown in the cloud config: colour, [labels] rack']);
  });

  const bad = [
    ['url=engine.example.com\n', /property url: expected the URL of the API|OVIRT_\* url: expected the URL of the API/],
    ['url=https://user:se-cret@engine.example.com\n', /url: expected the URL of the API/],
    ['url=http://engine.example.com/ovirt-engine/api\n', /url: http shows the password.*expected https/],
    [`url=${endpoint}\ncafile=/none.pem\n`, /cafile: "\/none.pem": no such file/],
    [`url=${endpoint}\ninsecure=perhaps\n`, /insecure: "perhaps", expected true or false/],
    [`url=${endpoint}\n[Labels]\nzone=rack\n`, /\[labels\] zone: "rack", expected host or cluster or data-center/i],
    [`url=${endpoint}\n[Nodes]\ninternal-network-subnet-cidr=10.0.0\n`, /"10.0.0", expected a CIDR/],
    ['se-cret\n', /line 2: expected key=value or a \[section\]/],
  ] as const;
  for (const [text, message] of bad)
    it(`refuses ${JSON.stringify(text.split('\n').at(-2))} and shows no password`, async () => {
      const reading = read(`password=se-cret\n${text}`);
      await assert.rejects(reading, (error) => {
        assert.ok(error instanceof CloudConfigError);
        assert.match(error.message, message);
        assert.doesNotMatch(error.message, /se-cret/);
        return true;
      });
    });
});
