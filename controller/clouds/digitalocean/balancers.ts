import { CloudError, isCloudError } from '../../../common/cloud-error.ts';
import { digitalocean } from '../../../common/provider-id/digitalocean.ts';
import type { Change, Kind, WriteIo } from '../../engine/resource.ts';
import { type Balancer, foundBalancer, type Json, kindNames } from './balancer.ts';
import { cloud, type DigitalOceanClient } from './client.ts';
import type { DigitalOceanConfig } from './config.ts';
import { dropletsPath } from './droplets.ts';
import { type Mark, printName } from './names.ts';

/** What a Service asks of its load balancer. */
export interface BalancerSpec {
  readonly mark: Mark;
  /** In the wire's fields: what others chose, or the cloud, stays. With rules and droplets. */
  readonly body: Json & { readonly droplet_ids: readonly number[] };
  /** The same, of what cannot be changed. */
  readonly fixed: Json;
}

export const balancersPath = '/v2/load_balancers';
/** For how long a list may still miss what was made. */
const settleMs = 5000;
/** A new one takes a minute or two. */
const pendingMs = 10_000;
/** What a change has to send again, because what it leaves out becomes the default. */
const kept = [
  'type',
  'vpc_uuid',
  'subnet_uuid',
  'project_id',
  'network',
  'network_stack',
  'tls_cipher_policy',
  'http_idle_timeout_seconds',
  'disable_lets_encrypt_dns_records',
  'enable_backend_keepalive',
  'domains',
  'firewall',
  'redirect_http_to_https',
  'enable_proxy_protocol',
  'forwarding_rules',
  'health_check',
  'sticky_sessions',
];

/** What a load balancer with the name of a size shows where there are size units. */
const unitsOf: Readonly<Record<string, number>> = { 'lb-small': 1, 'lb-medium': 3, 'lb-large': 6 };

type Io = Pick<WriteIo, 'permit' | 'signal'>;

/** A load balancer: one object, that every change writes as a whole. */
export function balancerKind(client: DigitalOceanClient, config: DigitalOceanConfig): Kind<BalancerSpec, Balancer> {
  const { vpc, clusterId, defaultType } = config;
  let { region } = config;

  async function put(standing: Balancer, name: string, body: Json, { permit, signal }: Io) {
    const whole = { ...wholeOf(standing, body), ...body, name };
    const path = `${balancersPath}/${standing.id}`;
    const answer = await client.call({ path, method: 'PUT', body: whole, permit, signal });
    return { id: standing.id, found: [foundBalancer(answer.object('load_balancer'))] };
  }
  /** What the call answers. Its error is about the droplets that cannot be targets, where the cloud refuses these. */
  async function namingDroplets<T>(call: Promise<T>, ids: readonly number[], place: Json, { signal }: Io): Promise<T> {
    const error: unknown = await call.then(() => undefined).catch((reason) => reason);
    if (!isCloudError(error) || !['Invalid', 'NotFound'].includes(error.kind) || ids.length === 0) return call;
    const lists = await Promise.all(
      [[], [['type', 'gpus'] as const]].map((query) =>
        client.list({ path: dropletsPath, query, urgency: 'change', signal }, 'droplets'),
      ),
    );
    const isGood = (droplet: Json) =>
      (droplet['region'] as Json | undefined)?.['slug'] === place['region'] &&
      (place['vpc_uuid'] === undefined || droplet['vpc_uuid'] === place['vpc_uuid']);
    const good = new Set(lists.flat().flatMap((one) => (isGood(one.json()) ? one.number('id') : [])));
    const subjects = ids.filter((id) => !good.has(id)).map((id) => digitalocean.print({ instanceId: String(id) }));
    throw error.with({ subjects });
  }

  return {
    kind: kindNames.balancer,
    locks: true,
    retryCreate: 'atOnce',
    settleMs,
    pendingMs,
    compare({ body, owner }, { mark, body: chosen, fixed }) {
      const other = Object.keys(fixed).find((name) => body.wire[name] !== undefined && body.wire[name] !== fixed[name]);
      if (other !== undefined)
        return { replace: `${other} ${String(body.wire[other])} to ${String(fixed[other])}`, order: 'deleteFirst' };
      const name = printName(mark);
      const { size: _size, size_unit: _units, ...others } = chosen;
      // The name of what is taken over comes with the mark.
      const fields = [
        ...differencesOf(body.wire, others),
        ...(owner !== undefined && body.name !== name ? ['name'] : []),
      ];
      const sizes = differencesOf(body.wire, sizeOf(body.wire, chosen));
      const change = (what: string, names: readonly string[], sent: Json): Change[] => {
        const summary = `load balancer ${body.name}: ${names.map((one) => summaryOf(one, body, chosen)).join(', ')}`;
        return names.length === 0 ? [] : [{ what, summary, phase: 'set', body: { name, chosen: sent } }];
      };
      // It may change once an hour: until then the rest goes without it.
      const changes = [...change('put', fields, others), ...change('size', sizes, chosen)];
      return changes.length === 0 ? { same: true } : { changes };
    },
    async create({ spec: { mark, body, fixed } }, _inside, { permit, signal }) {
      region ??= await regionOf(client, vpc!, signal);
      const place = { region, vpc_uuid: vpc };
      // No answer shows the tag.
      const tags = clusterId === undefined ? undefined : [`k8s:${clusterId}`];
      const whole = { name: printName(mark), ...place, tags, type: defaultType, ...fixed, ...body };
      const request = { path: balancersPath, method: 'POST', body: whole, permit, signal } as const;
      const answer = await namingDroplets(client.call(request), body.droplet_ids, place, { permit, signal });
      const id = answer.object('load_balancer').text('id');
      // Its address comes when it is active: what is answered now would be taken for all of it.
      return { id, operation: id };
    },
    async update({ body, owner }, change, io) {
      const { name, chosen } = change.body as { readonly name: string; readonly chosen: BalancerSpec['body'] };
      const place = { region: body.region, vpc_uuid: body.wire['vpc_uuid'] };
      const call = put(body, owner === undefined ? body.name : name, chosen, io);
      return namingDroplets(call, chosen.droplet_ids, place, io);
    },
    async remove({ id }, { permit, signal }) {
      await client.send({ path: `${balancersPath}/${id}`, method: 'DELETE', permit, signal });
      return {};
    },
    mark({ body }, as, want, io) {
      const mark = as === 'ours' ? want!.spec.mark : { ...body.mark!, isKept: true };
      return put(body, printName(mark), {}, io);
    },
  };
}

/** The region of a VPC. Throws `Invalid` where there is none: `NotFound` would be taken for another resource's. */
export async function regionOf(client: DigitalOceanClient, vpc: string, signal?: AbortSignal): Promise<string> {
  const found = await client.get({ path: `/v2/vpcs/${vpc}`, signal }, 'vpc');
  if (found !== undefined) return found.text('region');
  const message = `DO_CLUSTER_VPC_ID: ${JSON.stringify(vpc)}, expected the UUID of a VPC of this account`;
  throw new CloudError({ kind: 'Invalid', cloud, operation: 'GET /v2/vpcs/{id}', message });
}

/** What has to be written beside a change so that nothing else changes. */
function wholeOf({ wire, region, droplets }: Balancer, change: Json): Json {
  const fields = kept.filter((name) => wire[name] !== undefined && wire[name] !== null && wire[name] !== '');
  const standing = wire['size_unit'] ? { size_unit: wire['size_unit'] } : { size: wire['size'] || undefined };
  const size = change['size'] === undefined && change['size_unit'] === undefined ? standing : {};
  // One that others made may have its droplets by a tag: the API takes either.
  const targets = wire['tag'] && !('droplet_ids' in change) ? { tag: wire['tag'] } : { droplet_ids: droplets };
  return { ...Object.fromEntries(fields.map((name) => [name, wire[name]])), region, ...size, ...targets };
}

/** The chosen size in the field that the load balancer shows. */
function sizeOf(wire: Json, { size, size_unit: units }: Json): Json {
  if (typeof size !== 'string') return units === undefined ? {} : { size_unit: units };
  return wire['size_unit'] ? { size_unit: unitsOf[size] } : { size };
}

/** Fields whose chosen value is not there. */
function differencesOf(wire: Json, chosen: Json): string[] {
  return Object.keys(chosen).filter((name) => !isThere(wire[name], chosen[name]));
}

/** Lists in any order; the API leaves out what is false, empty or 0. */
function isThere(there: unknown, chosen: unknown): boolean {
  if (Array.isArray(chosen)) {
    const [left, right] = [there ?? [], chosen].map((list) => (list as readonly unknown[]).map(printOf).sort());
    return left!.join() === right!.join();
  }
  if (typeof chosen === 'object' && chosen !== null)
    return Object.entries(chosen).every(([name, value]) => isThere((there as Json | undefined)?.[name], value));
  return there === chosen || (!there && !chosen);
}

function printOf(value: unknown): string {
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  return JSON.stringify(
    Object.entries(value)
      .filter(([, one]) => Boolean(one))
      .sort(([a], [b]) => a.localeCompare(b)),
  );
}

function summaryOf(name: string, { droplets }: Balancer, { droplet_ids: ids }: BalancerSpec['body']): string {
  if (name !== 'droplet_ids') return name;
  const [added, removed] = [ids.filter((id) => !droplets.includes(id)), droplets.filter((id) => !ids.includes(id))];
  return `droplets (${added.length} added, ${removed.length} removed, ${ids.length} in all)`;
}
