import type { PowerState } from '../../../common/instance.ts';
import { type JsonObject, listOf, objectOf, textOf } from './json.ts';

export interface ServerAddress {
  readonly address: string;
  readonly kind: 'fixed' | 'floating';
}

/** One Nova server, as far as nodes need it. */
export interface Server {
  readonly id: string;
  readonly name: string;
  readonly status: string;
  readonly taskState: string | undefined;
  readonly zone: string | undefined;
  readonly hostId: string | undefined;
  readonly accessIPv4: string | undefined;
  readonly accessIPv6: string | undefined;
  readonly metadata: Readonly<Record<string, string>>;
  readonly addresses: ReadonlyMap<string, readonly ServerAddress[]>;
  readonly flavor: { readonly id: string | undefined; readonly originalName: string | undefined };
  /** Nova gives a VM its server id as SMBIOS UUID. Undefined for bare metal, whose UUID is the hardware's own. */
  readonly smbiosUuid: string | undefined;
}

/** A server of Nova's answer; where it is not one, which field is missing, and whose it was if that can be read. */
export function readServer(json: unknown): Server | { readonly id: string | undefined; readonly lacks: string } {
  const server = objectOf(json);
  const id = textOf(server?.['id'])?.toLowerCase();
  const name = textOf(server?.['name']);
  const status = textOf(server?.['status']);
  if (server === undefined || id === undefined) return { id, lacks: 'id' };
  if (status === undefined) return { id, lacks: 'status' };
  if (name === undefined) return { id, lacks: 'name' };
  const flavor = objectOf(server['flavor']);
  return {
    id,
    name,
    status,
    taskState: textOf(server['OS-EXT-STS:task_state']),
    zone: textOf(server['OS-EXT-AZ:availability_zone']),
    hostId: textOf(server['hostId']),
    accessIPv4: textOf(server['accessIPv4']),
    accessIPv6: textOf(server['accessIPv6']),
    metadata: textsOf(server['metadata']),
    addresses: readAddresses(server['addresses']),
    flavor: { id: textOf(flavor?.['id']), originalName: textOf(flavor?.['original_name']) },
    smbiosUuid: isBareMetal(flavor) ? undefined : id,
  };
}

/** The entries that are texts. */
function textsOf(json: unknown): Record<string, string> {
  const entries = Object.entries(objectOf(json) ?? {});
  return Object.fromEntries(entries.filter((entry): entry is [string, string] => typeof entry[1] === 'string'));
}

/** Its flavour takes a whole machine of a class of hardware, and no virtual CPU. */
function isBareMetal(flavor: JsonObject | undefined): boolean {
  return textOf(objectOf(flavor?.['extra_specs'])?.['resources:VCPU']) === '0';
}

function readAddresses(json: unknown): ReadonlyMap<string, readonly ServerAddress[]> {
  const addresses = new Map<string, readonly ServerAddress[]>();
  for (const [network, list] of Object.entries(objectOf(json) ?? {})) {
    const read = (listOf(list) ?? []).flatMap((item) => {
      const address = textOf(objectOf(item)?.['addr']);
      const kind = objectOf(item)?.['OS-EXT-IPS:type'] === 'floating' ? ('floating' as const) : ('fixed' as const);
      return address === undefined ? [] : [{ address, kind }];
    });
    addresses.set(network, read);
  }
  return addresses;
}

/** The states in which Nova keeps a record of a server that is no more. */
export function isTerminal(status: string): boolean {
  return status === 'DELETED' || status === 'SOFT_DELETED';
}

const runningStatuses: ReadonlySet<string> = new Set(['ACTIVE', 'PASSWORD', 'RESCUE', 'VERIFY_RESIZE']);

/**
 * As with upstream, only SHUTOFF is off, and not while the server starts. A paused, suspended, shelved or failed server
 * is neither off nor running.
 */
export function powerOf({ status, taskState }: Pick<Server, 'status' | 'taskState'>): PowerState {
  if (status === 'SHUTOFF') return /^(powering-on|reboot|spawning)/.test(taskState ?? '') ? 'changing' : 'stopped';
  return runningStatuses.has(status) ? 'running' : 'changing';
}

/** A label value of a zone's or host's name, cut and cleaned as upstream does; undefined when nothing is left. */
export function labelValue(text: string | undefined): string | undefined {
  const clean = (text ?? '')
    .replace(/[^-A-Za-z0-9_.]+/g, '-')
    .replace(/^[-_.]+|(?<![-_.])[-_.]+$/g, '')
    .slice(0, 63);
  return clean.replace(/[-_.]+$/, '') || undefined;
}

export function isLabelValue(text: string): boolean {
  return /^[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$/.test(text);
}
