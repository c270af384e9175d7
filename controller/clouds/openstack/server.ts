import type { PowerState } from '../../../common/instance.ts';
import type { AnswerFields } from '../answer-fields.ts';

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

export function readServer(server: AnswerFields): Server {
  const id = server.text('id').toLowerCase();
  const flavor = server.optionalObject('flavor');
  // Its flavour takes a whole machine of a class of hardware, and no virtual CPU.
  const isBareMetal = flavor?.optionalObject('extra_specs')?.json()['resources:VCPU'] === '0';
  return {
    id,
    name: server.text('name'),
    status: server.text('status'),
    taskState: server.optionalText('OS-EXT-STS:task_state'),
    zone: server.optionalText('OS-EXT-AZ:availability_zone'),
    hostId: server.optionalText('hostId'),
    accessIPv4: server.optionalText('accessIPv4'),
    accessIPv6: server.optionalText('accessIPv6'),
    metadata: server.labels('metadata'),
    addresses: readAddresses(server.optionalObject('addresses')),
    flavor: { id: flavor?.optionalText('id'), originalName: flavor?.optionalText('original_name') },
    smbiosUuid: isBareMetal ? undefined : id,
  };
}

function readAddresses(networks: AnswerFields | undefined): ReadonlyMap<string, readonly ServerAddress[]> {
  const names = Object.keys(networks?.json() ?? {});
  return new Map(
    names.map((name) => [
      name,
      networks!.objects(name).map((item) => ({
        address: item.text('addr'),
        kind: item.json()['OS-EXT-IPS:type'] === 'floating' ? 'floating' : 'fixed',
      })),
    ]),
  );
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
