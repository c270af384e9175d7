import { isIP } from 'node:net';
import type { Instance, NodeAddress, NodeAddressType, PowerState } from '../../../common/instance.ts';
import { simulated } from '../../../common/provider-id/simulated.ts';
import { type AnswerFields, answerFields } from '../answer-fields.ts';
import { oneOfIn } from '../answer-values.ts';
import { canonical } from '../ip-address.ts';
import { distinctAddresses, type Seen } from '../machines.ts';
import type { Tags } from './load-balancer-answer.ts';

/** Tags of this prefix become labels of the Node. */
const labelTag = 'label:';
/** The tag for ranges of pods, separated by commas. */
const podRangesTag = 'pod-ranges';
/** The tag for the time of maintenance; empty: there is none. */
const maintenanceTag = 'maintenance';

const powers = {
  pending: 'changing',
  running: 'running',
  stopping: 'changing',
  stopped: 'stopped',
  'shutting-down': 'changing',
  terminated: undefined,
} as const satisfies Readonly<Record<string, PowerState | undefined>>;
const states = Object.keys(powers) as (keyof typeof powers)[];

/** The id an item carries, undefined when it has none that could be one. */
export function idOf(item: unknown): string | undefined {
  const id = fieldOf(item, 'id');
  return typeof id === 'string' && instanceId.test(id) ? id : undefined;
}

/** What this cloud's instance ids look like. */
export const instanceId = /^[A-Za-z0-9][A-Za-z0-9._-]*$/;

/** The name an item carries, if any. */
export function nameOf(item: unknown): string | undefined {
  const name = fieldOf(item, 'name');
  return typeof name === 'string' ? name : undefined;
}

/**
 * @param region the region that was asked; an item of another one is refused
 * @throws CloudError `Invalid`
 */
export function readInstance(item: unknown, region: string, request: 'list' | 'id', operation: string): Seen {
  const fields = answerFields(item, { cloud: simulated.cloud, operation, path: 'instance' });
  const id = fields.text('id');
  if (!instanceId.test(id)) throw fields.wrong('id', 'an instance id');
  const incarnation = fields.text('incarnation');
  if (fields.text('region') !== region) throw fields.wrong('region', region);
  const state = oneOfIn(fields, 'power', states);
  const power = powers[state];
  if (power === undefined) return { state: 'gone', terminalState: state, incarnation };
  const tags = fields.labels('tags');
  const smbiosUuid = fields.optionalText('smbiosUuid')?.toLowerCase();
  const instance: Instance = {
    cloud: simulated.cloud,
    id,
    providerID: simulated.print({ instanceId: id, region }),
    incarnation,
    name: fields.text('name'),
    zone: fields.text('zone'),
    region,
    type: fields.text('type'),
    addresses: addressesOf(fields),
    labels: labelsOf(tags),
    tags,
    ...podRangesOf(tags[podRangesTag]),
    ...maintenanceOf(tags[maintenanceTag]),
    ...(smbiosUuid !== undefined && { smbiosUuid }),
  };
  return { state: 'found', instance, power, request };
}

function addressesOf(fields: AnswerFields): NodeAddress[] {
  const interfaces = fields.objects('interfaces').map((nic) => ({
    index: nic.number('index'),
    internal: addressTexts(nic, 'internal'),
    external: addressTexts(nic, 'external'),
  }));
  interfaces.sort((a, b) => a.index - b.index);
  const of = (type: NodeAddressType, values: readonly string[]) => values.map((address) => ({ type, address }));
  return distinctAddresses([
    ...interfaces.flatMap(({ internal }) => of('InternalIP', internal)),
    ...interfaces.flatMap(({ external }) => of('ExternalIP', external)),
    ...of('Hostname', [fields.text('hostname')]),
    ...of('InternalDNS', fields.texts('internalDns')),
    ...of('ExternalDNS', fields.texts('externalDns')),
  ]);
}

function fieldOf(item: unknown, name: string): unknown {
  return typeof item === 'object' && item !== null ? (item as Readonly<Record<string, unknown>>)[name] : undefined;
}

function labelsOf(tags: Tags): Record<string, string> {
  const ours = Object.entries(tags).filter(([key]) => key.startsWith(labelTag));
  return Object.fromEntries(ours.map(([key, value]) => [key.slice(labelTag.length), value]));
}

function podRangesOf(tag: string | undefined): Pick<Instance, 'podRanges'> {
  return tag === undefined ? {} : { podRanges: tag.split(',').filter((range) => range !== '') };
}

function maintenanceOf(tag: string | undefined): Pick<Instance, 'maintenance'> {
  if (tag === undefined) return {};
  return { maintenance: tag === '' ? [] : [{ deadline: tag, message: 'its tag says so' }] };
}

/** In one spelling, so that equal addresses are equal texts. */
function addressTexts(fields: AnswerFields, field: string): string[] {
  return fields.texts(field).map((address) => {
    if (isIP(address) === 0 || address.includes('%')) throw fields.wrong(field, 'IP addresses');
    return canonical(address);
  });
}
