import { isIP } from 'node:net';
import ipaddr from 'ipaddr.js';
import type { Instance, NodeAddress, NodeAddressType, PowerState } from '../../../common/instance.ts';
import { simulated } from '../../../common/provider-id/simulated.ts';
import { type Fields, isObject, list, text, texts, unexpected } from './answer-fields.ts';

/** An instance as an answer of the API shows it: in some power state, or past the last one. */
export type ShownInstance =
  | { readonly state: 'found'; readonly instance: Instance; readonly power: PowerState }
  | { readonly state: 'gone'; readonly terminalState: string; readonly incarnation: string };

/** Tags of this prefix become labels of the Node. */
const labelTag = 'label:';
/** The tag for ranges of pods, separated by commas. */
const podRangesTag = 'pod-ranges';
/** The tag for the time of maintenance; empty: there is none. */
const maintenanceTag = 'maintenance';

const powers: Readonly<Record<string, PowerState>> = {
  pending: 'changing',
  running: 'running',
  stopping: 'changing',
  stopped: 'stopped',
  'shutting-down': 'changing',
};

/** The id an item carries, undefined when it has none that could be one. */
export function idOf(item: unknown): string | undefined {
  const id = isObject(item) ? item['id'] : undefined;
  return typeof id === 'string' && instanceId.test(id) ? id : undefined;
}

/** What this cloud's instance ids look like. */
export const instanceId = /^[A-Za-z0-9][A-Za-z0-9._-]*$/;

/** The name an item carries, if any. */
export function nameOf(item: unknown): string | undefined {
  const name = isObject(item) ? item['name'] : undefined;
  return typeof name === 'string' ? name : undefined;
}

/**
 * Validates one item of an answer. Throws a TypeError that names the field, what it holds and what was expected.
 * @param region the region that was asked; an item of another one is refused
 */
export function readInstance(item: unknown, region: string): ShownInstance {
  const fields = isObject(item) ? item : {};
  const id = text(fields, 'id');
  if (!instanceId.test(id)) throw unexpected('id', id, 'an instance id');
  const incarnation = text(fields, 'incarnation');
  if (text(fields, 'region') !== region) throw unexpected('region', fields['region'], region);
  const state = text(fields, 'power');
  if (state === 'terminated') return { state: 'gone', terminalState: state, incarnation };
  const power = Object.hasOwn(powers, state) ? powers[state] : undefined;
  if (power === undefined) throw unexpected('power', state, `one of ${Object.keys(powers).join(', ')}, terminated`);
  const instance: Instance = {
    cloud: simulated.cloud,
    id,
    providerID: simulated.print({ instanceId: id, region }),
    incarnation,
    name: text(fields, 'name'),
    zone: text(fields, 'zone'),
    region,
    type: text(fields, 'type'),
    addresses: addressesOf(fields),
    labels: labelsOf(fields['tags']),
    tags: tagsOf(fields['tags']),
    ...podRangesOf(tagOf(fields['tags'], podRangesTag)),
    ...maintenanceOf(tagOf(fields['tags'], maintenanceTag)),
    ...(fields['smbiosUuid'] !== undefined && { smbiosUuid: text(fields, 'smbiosUuid').toLowerCase() }),
  };
  return { state: 'found', instance, power };
}

function addressesOf(fields: Fields): NodeAddress[] {
  const interfaces = list(fields, 'interfaces').map((nic, position) => {
    if (!isObject(nic)) throw unexpected(`interfaces[${position}]`, nic, 'an object');
    const index = nic['index'];
    if (typeof index !== 'number') throw unexpected(`interfaces[${position}].index`, index, 'a number');
    return { index, internal: addressTexts(nic, 'internal'), external: addressTexts(nic, 'external') };
  });
  interfaces.sort((a, b) => a.index - b.index);
  const addresses = new Map<string, NodeAddress>();
  const add = (type: NodeAddressType, values: readonly string[]) => {
    for (const address of values) addresses.set(`${type} ${address}`, { type, address });
  };
  for (const { internal } of interfaces) add('InternalIP', internal);
  for (const { external } of interfaces) add('ExternalIP', external);
  add('Hostname', [text(fields, 'hostname')]);
  add('InternalDNS', texts(fields, 'internalDns'));
  add('ExternalDNS', texts(fields, 'externalDns'));
  return [...addresses.values()];
}

function tagsOf(tags: unknown): Record<string, string> {
  if (tags === undefined) return {};
  if (!isObject(tags)) throw unexpected('tags', tags, 'an object');
  for (const [key, value] of Object.entries(tags))
    if (typeof value !== 'string') throw unexpected(`tags[${JSON.stringify(key)}]`, value, 'a text');
  return tags as Record<string, string>;
}

function labelsOf(tags: unknown): Record<string, string> {
  const ours = Object.entries(tagsOf(tags)).filter(([key]) => key.startsWith(labelTag));
  return Object.fromEntries(ours.map(([key, value]) => [key.slice(labelTag.length), value]));
}

function tagOf(tags: unknown, name: string): string | undefined {
  const value = isObject(tags) ? tags[name] : undefined;
  if (value === undefined || typeof value === 'string') return value;
  throw unexpected(`tags[${JSON.stringify(name)}]`, value, 'a text');
}

function podRangesOf(tag: string | undefined): Pick<Instance, 'podRanges'> {
  return tag === undefined ? {} : { podRanges: tag.split(',').filter((range) => range !== '') };
}

function maintenanceOf(tag: string | undefined): Pick<Instance, 'maintenance'> {
  if (tag === undefined) return {};
  return { maintenance: tag === '' ? [] : [{ deadline: tag, message: 'its tag says so' }] };
}

/** IPv6 in RFC 5952 form, so that equal addresses are equal texts. */
function addressTexts(fields: Fields, field: string): string[] {
  return texts(fields, field).map((address) => {
    const family = isIP(address);
    if (family === 0 || address.includes('%')) throw unexpected(field, address, 'IP addresses');
    return family === 6 ? ipaddr.IPv6.parse(address).toRFC5952String() : address;
  });
}
