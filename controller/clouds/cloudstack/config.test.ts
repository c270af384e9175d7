import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { silentLog } from '../../../common/process/log.ts';
import { seededRandom } from '../../../common/process/random.ts';
import { fakeClock } from '../../../common/testing/fake-clock.ts';
import { configRefusal } from '../testing/config-refusal.ts';
import { readConfig } from './config.ts';
import { cloudModule } from './index.ts';

const file = (...lines: readonly string[]) => ({ path: 'cloud.conf', text: `[Global]\n${lines.join('\n')}\n` });
const needed = ['api-url = https://cs.example.com/client/api', 'api-key = key', 'secret-key = hidden'];
const refusal = (...lines: readonly string[]) => configRefusal((async () => readConfig(file(...lines)))());

describe('the INI file of the classic controller', () => {
  it('reads every key, and warns of what has no effect', () => {
    const project = '9C2A0B8E-4C0F-4D0D-9D6A-0F3B7A0B9E11';
    const more = [`project-id = ${project}`, 'zone = SimZone1', 'region = north', 'ssl-no-verify = true', 'other = 1'];
    assert.deepEqual(readConfig(file(...needed, ...more)), {
      endpoint: 'https://cs.example.com/client/api',
      apiKey: 'key',
      secretKey: 'hidden',
      project: project.toLowerCase(),
      region: 'north',
      isInsecure: true,
      warnings: [
        'zone has no effect: each VM tells its own',
        'ssl-no-verify: the certificate of the API is not checked',
        'unknown in the cloud config: [global] other',
      ],
    });
  });

  it('makes the cloud report-only where it is missing or has no keys', async () => {
    const context = { clock: fakeClock(), random: seededRandom(1), log: silentLog, env: {}, onCall: () => {} };
    for (const given of [undefined, file('region = north')])
      assert.ok('reportOnly' in (await cloudModule.open(given, context)));
  });

  it('names unknown keys where all that is needed is missing', () => {
    const reportOnly = 'neither api-url nor api-key nor secret-key in [Global] of cloud.conf';
    const unknown = 'unknown in the cloud config: [global] api_url, [global] api_key';
    assert.deepEqual(readConfig(file('api_url = x', 'api_key = y')), { reportOnly: `${reportOnly}; ${unknown}` });
  });

  for (const [what, lines, message] of [
    ['a missing key', needed.slice(0, 2), /secret-key: missing, expected it beside api-url, api-key, secret-key/],
    [
      'an address that is none',
      ['api-url = cs.example.com', ...needed.slice(1)],
      /api-url: a wrong value \(not shown\), expected/,
    ],
    [
      'an address with a password',
      ['api-url = https://a:hidden@cs/', ...needed.slice(1)],
      /api-url: a wrong value \(not shown\)/,
    ],
    [
      'a key of two words',
      [...needed.slice(0, 2), 'secret-key = hidden word'],
      /secret-key: a wrong value \(not shown\), expected one word/,
    ],
    ['a project by its name', [...needed, 'project-id = web'], /project-id: "web", expected the UUID of a project/],
  ] as const)
    it(`refuses ${what}, and does not show the secret`, async () => {
      const text = await refusal(...lines);
      assert.match(text, message);
      assert.match(text, /^cloud\.conf/);
      assert.doesNotMatch(text, /hidden/);
    });
});
