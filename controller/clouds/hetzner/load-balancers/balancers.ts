import { isCloudError } from '../../../../common/cloud-error.ts';
import type { Change, Kind, Want, WriteIo } from '../../../engine/resource.ts';
import { answerFields } from '../../answer-fields.ts';
import type { HetznerClient } from '../client.ts';
import { cloud } from '../fault.ts';
import { type Balancer, kindNames } from './balancer.ts';
import { act, path, put, startedBy } from './calls.ts';
import { sameLabels } from './claims.ts';
import { labelsOfNew, type Marks, marked, ownerOf, retained } from './labels.ts';
import type { NetworkSpec } from './networks.ts';
import { newService, type ServiceSpec } from './services.ts';
import type { Settings } from './settings.ts';
import { type TargetSpec, targetOf } from './targets.ts';

export interface BalancerSpec {
  readonly name: string;
  readonly marks: Marks;
  readonly settings: Pick<
    Settings,
    'name' | 'location' | 'zone' | 'isPlaceAsked' | 'type' | 'algorithm' | 'isPublic' | 'rdns'
  >;
}

const defaultType = 'lb11';
/** Of services and targets; of types that came later more is known when the API refuses some. */
const limits: Readonly<Record<string, readonly [services: number, targets: number]>> = {
  lb11: [5, 25],
  lb21: [15, 75],
  lb31: [30, 150],
};
const defaultAlgorithm = 'round_robin';
/** For how long a list may still miss what was made. */
export const settleMs = 5000;

/** A load balancer of ours. */
export function balancerKind(client: HetznerClient): Kind<BalancerSpec, Balancer> {
  return {
    // Names are unique in a project: a second one is refused.
    kind: kindNames.balancer,
    locks: true,
    retryCreate: 'atOnce',
    settleMs,
    compare({ body }, spec) {
      const { location, zone, isPlaceAsked } = spec.settings;
      const [is, asked] = location === undefined ? [body.zone, zone] : [body.location, location];
      if (isPlaceAsked && is !== asked && !isId(asked))
        return { replace: `from ${is} to ${asked}`, order: 'deleteFirst' };
      const changes = changesOf(body, spec);
      return changes.length === 0 ? { same: true } : { changes };
    },
    async create({ spec }, inside, io) {
      try {
        return await create(client, spec, inside, io);
      } catch (error) {
        // One part that is refused refuses all of it. Alone, each is refused for itself.
        const mayBePart = isCloudError(error) && ['Invalid', 'NotFound', 'QuotaExceeded'].includes(error.kind);
        if (inside.length === 0 || !mayBePart) throw error;
        return create(client, spec, [], io);
      }
    },
    update({ id }, { what, body }, io) {
      return what === 'put' ? put(client, id, body as object, io) : act(client, id, what.split(' ')[0]!, body, io);
    },
    async remove({ id, body }, { permit, signal }) {
      // As the classic controller does: the Service goes, and a load balancer that is protected stays.
      if (body.isProtected) return put(client, id, { labels: retained(body.labels) }, { permit, signal });
      const answer = await client.send({ path: `${path}/${id}`, method: 'DELETE', permit, signal });
      // Before 2026 it was gone with an empty answer.
      return answer === undefined ? {} : startedBy(answerFields(answer, { cloud, operation: `DELETE ${path}/{id}` }));
    },
    mark: ({ id, body: { labels } }, as, want, io) =>
      put(client, id, { labels: as === 'ours' ? marked(labels, want!.spec.marks) : retained(labels) }, io),
  };
}

/** The API takes ids for names. */
function isId(text: string | undefined): boolean {
  return /^\d+$/.test(text ?? '');
}

function changesOf(body: Balancer, { name, marks, settings }: BalancerSpec): Change[] {
  const { type, algorithm, isPublic, rdns } = settings;
  const changes: Change[] = [];
  const labels = marked(body.labels, marks);
  // Those of what is taken over come with the mark, which waits for a change where the status does not depend on them.
  const isOurs = ownerOf(body.labels)?.service === marks.owner.service || marks.hostname || marks.hidden;
  const news = {
    ...(settings.name !== undefined && body.name !== name && { name }),
    ...(isOurs && !sameLabels(body.labels, labels) && { labels }),
  };
  const set = (what: string, summary: string, body: unknown, more: Partial<Change> = {}) =>
    changes.push({ what, summary, phase: 'set', body, ...more });

  if (Object.keys(news).length > 0) set('put', `update ${Object.keys(news).join(' and ')}`, news);
  if (type !== undefined && type !== body.type && !isId(type))
    set('change_type', `type ${body.type} to ${type}`, { load_balancer_type: type });
  if (algorithm !== undefined && algorithm !== body.algorithm)
    set('change_algorithm', `algorithm ${body.algorithm} to ${algorithm}`, { type: algorithm });
  if (isPublic === true && !body.isPublic) set('enable_public_interface', 'enable the public interface', {});
  if (isPublic === false && body.isPublic)
    set('disable_public_interface', 'disable the public interface', {}, { changesAddress: true });
  for (const family of ['ipv4', 'ipv6'] as const) {
    const [address, asked] = [body[family], rdns[family]];
    if (address === undefined || asked === undefined) continue;
    const { rdns: there = '' } = address;
    // An empty annotation asks for the name that the cloud gives.
    if (asked === '' ? there === '' || there.endsWith('.your-server.de') : there === asked) continue;
    const wire = { ip: address.ip, dns_ptr: asked === '' ? null : asked };
    set(`change_dns_ptr ${family}`, `reverse DNS of ${address.ip} to ${asked}`, wire);
  }
  return changes;
}

async function create(
  client: HetznerClient,
  { name, marks, settings }: BalancerSpec,
  inside: readonly Want[],
  { permit, signal, idOf }: WriteIo,
) {
  const { type = defaultType, algorithm = defaultAlgorithm, location, zone, isPublic } = settings;
  const specs = <S>(kind: string) => inside.filter((part) => part.kind === kind).map(({ spec }) => spec as S);
  const [maxServices, maxTargets] = limits[type] ?? [];
  const [network] = specs<NetworkSpec>(kindNames.network);
  const body = {
    name,
    labels: labelsOfNew(marks),
    load_balancer_type: type,
    algorithm: { type: algorithm },
    ...(location === undefined ? { network_zone: zone } : { location }),
    ...(isPublic !== undefined && { public_interface: isPublic }),
    ...(network !== undefined && { network: Number(network.network) }),
    services: specs<ServiceSpec>(kindNames.service)
      .slice(0, maxServices)
      .map((spec) => newService(spec, idOf)),
    targets: specs<TargetSpec>(kindNames.target).slice(0, maxTargets).map(targetOf),
  };
  const answer = await client.call({ path, method: 'POST', body, permit, signal });
  // It may not have its addresses yet.
  return { id: answer.object('load_balancer').id('id'), ...startedBy(answer) };
}
