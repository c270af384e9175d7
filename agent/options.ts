import { isIP } from 'node:net';
import { defineFlags, type FlagValues } from '../common/process/flags.ts';
import { logLevels } from '../common/process/log.ts';
import { names } from '../common/well-known.ts';
import { isControllerUrl } from './controller-access.ts';
import { sourceKinds } from './metadata/registry.ts';

const aPath = (text: string) => (text === '' ? 'a path' : undefined);
const hourMs = 3_600_000;

/** Flags of all commands: where the instance is read from. */
export const sourceFlags = defineFlags({
  cloud: {
    kind: 'string',
    default: 'auto',
    choices: ['auto', ...sourceKinds.keys()],
    help:
      'The cloud this machine runs in; auto asks the firmware, then looks for a volume labelled cidata, and fails ' +
      'rather than guess.',
  },
  'metadata-url': {
    kind: 'string',
    check: (text) => (isHttpUrl(text) ? undefined : 'a URL such as http://169.254.169.254'),
    help: 'Replaces scheme, host and port of the metadata service.',
  },
  'config-drive': {
    kind: 'string',
    check: aPath,
    help:
      'Folder of a mounted config drive or NoCloud seed, read instead of the metadata service, where the cloud ' +
      'has such (cloudstack, huaweicloud, nocloud, openstack, ovirt).',
  },
  region: {
    kind: 'string',
    // The region becomes part of providerIDs, which are immutable.
    check: (text) => (/^[^\s/]+$/.test(text) ? undefined : 'the name of a region, such as RegionOne'),
    help: 'Region of this machine, where the metadata does not tell it.',
  },
  'regional-provider-id': {
    kind: 'bool',
    env: 'OS_CCM_REGIONAL',
    help: 'OpenStack: the providerID contains the region.',
  },
  'scheduled-events': {
    kind: 'bool',
    help: 'Azure: report scheduled events (maintenance, preemption). Asking for them switches them on for the VM.',
  },
  'system-root': {
    kind: 'string',
    default: '/',
    check: aPath,
    help: 'Folder that holds the sys, proc and dev file systems of the machine.',
  },
  'log-level': { kind: 'string', default: 'info', choices: logLevels, help: 'Least level of the lines on stderr.' },
  'log-format': { kind: 'string', default: 'json', choices: ['json', 'text'], help: 'Form of the lines on stderr.' },
});

export type SourceValues = FlagValues<typeof sourceFlags>;

export const runFlags = defineFlags({
  'node-name': {
    kind: 'string',
    env: 'NODE_NAME',
    help: 'Name of the Node, for log lines; reports are tied to a node by their token alone.',
  },
  'controller-url': {
    kind: 'list',
    check: (text) => (text.split(',').every(isControllerUrl) ? undefined : 'https://host:port'),
    help: 'A controller; asked after those of --controller-url-file.',
  },
  'controller-url-file': {
    kind: 'string',
    check: aPath,
    help: 'File of controller URLs, one a line; read again for each report.',
  },
  'token-file': {
    kind: 'string',
    default: '/var/run/secrets/mooring/token',
    check: aPath,
    help: 'ServiceAccount token for the audience mooring; read again for each report.',
  },
  'ca-file': {
    kind: 'string',
    default: '/etc/mooring/ca.crt',
    check: aPath,
    help: "CA of the controllers' certificates; used alone, and read again for each report.",
  },
  'server-name': {
    kind: 'string',
    default: names.serverName,
    check: (text) => (/^[A-Za-z0-9]([A-Za-z0-9.-]*[A-Za-z0-9])?$/.test(text) ? undefined : 'a host name'),
    help: "Name that the controllers' certificates carry.",
  },
  'poll-interval': {
    kind: 'duration',
    default: '60s',
    min: 1000,
    max: 24 * hourMs,
    help: 'How often the metadata is read.',
  },
  heartbeat: {
    kind: 'duration',
    default: '60s',
    min: 1000,
    max: hourMs,
    help: 'How often to report when nothing changes; a controller may ask for longer.',
  },
  'health-address': {
    kind: 'string',
    default: '127.0.0.1:10271',
    check: (text) =>
      parseHostPort(text) === undefined ? 'host:port, with the host in [] for IPv6, or :port' : undefined,
    help: 'Plain HTTP for /livez, /readyz and /metrics; port 0 takes any.',
  },
  ...sourceFlags,
});

export type RunValues = FlagValues<typeof runFlags>;

/** `host:port`, `[::1]:port` or `:port`; undefined when it is none of them. Pure. */
export function parseHostPort(text: string): { readonly host: string | undefined; readonly port: number } | undefined {
  const found = /^(?:\[([0-9A-Fa-f:.]+)\]|([^:[\]\s]*)):(\d{1,5})$/.exec(text);
  if (found === null || Number(found[3]) > 65_535) return undefined;
  const looksNumeric = found[2] !== undefined && /^[\d.]+$/.test(found[2]);
  if ((looksNumeric && isIP(found[2]!) === 0) || (found[1] !== undefined && isIP(found[1]) !== 6)) return undefined;
  return { host: found[1] ?? (found[2] || undefined), port: Number(found[3]) };
}

function isHttpUrl(text: string): boolean {
  // `URL` refuses a link-local address with an interface, which the client supports.
  return /^https?:\/\/(\[[0-9A-Fa-f:.]+(%[^\]]+)?\]|[^/?#@:\s[\]]+)(:\d{1,5})?(\/[^?#\s]*)?$/.test(text);
}
