import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createContext, runInContext } from 'node:vm';
import { labelValue as labelOfMetadata } from '../../agent/metadata/openstack-instance.ts';
import { readTopLevel } from '../../agent/metadata/plain-yaml.ts';
import { parseDuration } from '../../common/process/duration.ts';
import { settingsOf as azureSettings } from '../../controller/clouds/azure/load-balancers/settings.ts';
import { settingsOf as hetznerSettings } from '../../controller/clouds/hetzner/load-balancers/settings.ts';
import { nameMatcher } from '../../controller/clouds/openstack/network/subnet-filters.ts';
import { labelValue as labelOfServer } from '../../controller/clouds/openstack/server.ts';
import { parseSignedMessage } from '../../controller/reports/attestation/signatures.ts';
import { desiredFor, newOwner } from '../clouds/suite/desired.ts';

/** All annotations of one object together have no more characters. */
const length = 256 * 1024;
const filled = (text: string) => text.repeat(length / text.length);
const spaces = filled(' ');
const subnetName = 'a'.repeat(255);

const azure = (annotations: Readonly<Record<string, string>>) =>
  azureSettings(desiredFor(newOwner('c'), [], { annotations }));
const hetzner = (selector: string) =>
  hetznerSettings({ 'load-balancer.hetzner.cloud/node-selector': selector }, new Map());
const yaml = (text: string) => readTopLevel({ cloud: 'nocloud', operation: 'read' }, text);
const signature = (text: string) => assert.throws(() => parseSignedMessage(text), /not base64/);

/** Texts of users, of nodes and of metadata services that a reader could go over again and again. */
const reads: readonly (readonly [what: string, read: () => unknown])[] = [
  ['a duration of many parts', () => parseDuration(`${filled('1111111m')}x`)],
  ['a duration of digits alone', () => parseDuration(filled('1'))],
  ['a duration with one long number', () => parseDuration(`1m${filled('1')}.x`)],
  ['a selector of spaces', () => hetzner(`${spaces}#`)],
  ['a selector with spaces after its key', () => hetzner(`a${spaces}#`)],
  ['a selector of commas', () => hetzner(filled(','))],
  ['a selector of parentheses', () => hetzner(filled('('))],
  ['a selector with an open list', () => hetzner(`a in (${filled('b,')}`)],
  ...['azure-pip-tags', 'azure-pip-ip-tags'].map(
    (name) => [`${name} with spaces`, () => azure({ [`service.beta.kubernetes.io/${name}`]: `a=${spaces}=` })] as const,
  ),
  ['a pattern of stars', () => nameMatcher(`${'*'.repeat(100)}#`)?.(subnetName)],
  ['a pattern of repeated repetitions', () => nameMatcher(`~${'('.repeat(60)}a${'*)+'.repeat(60)}#`)?.(subnetName)],
  ['a pattern of alternatives', () => nameMatcher(`~${'(a|a)'.repeat(50)}#`)?.(subnetName)],
  ['a pattern of spaces', () => nameMatcher(`~${spaces}#`)],
  ['a zone of dots, to the agent', () => labelOfMetadata(`a${filled('.')}b`)],
  ['a zone of dots, to the controller', () => labelOfServer(`a${filled('.')}b`)],
  ['a signature of spaces', () => signature(`A${spaces}!`)],
  ['a signature of line breaks', () => signature(`${filled('A\n')}!`)],
  ['a YAML text with spaces inside', () => yaml(`a: x${spaces}y`)],
  ['a YAML key with spaces after it', () => yaml(`b: c\na:${spaces}\u2028`)],
  ['a YAML document of keys', () => yaml(filled('a:\n'))],
  ['a YAML document of keys with empty lines', () => yaml(`${'a:\n'.repeat(9999)}${filled('\n')}`)],
];

describe('hostile texts as long as they may be', () => {
  for (const [what, read] of reads)
    it(`reads ${what} without stopping the process`, () => {
      // Ends what goes on and on, which nothing else in this process can; what is linear takes some milliseconds.
      runInContext('read()', createContext({ read }), { timeout: 10_000 });
    });
});
