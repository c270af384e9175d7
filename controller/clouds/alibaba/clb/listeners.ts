import type { Change, Kind, ResourceName, WriteIo } from '../../../engine/resource.ts';
import { answerFields } from '../../answer-fields.ts';
import type { AlibabaClient, Params } from '../client.ts';
import { cloud } from '../fault.ts';
import { foundListener, type Json, kindNames, type Listener } from './found.ts';
import { fieldsWithAnnotation } from './settings.ts';

export interface ListenerSpec {
  readonly port: number;
  readonly protocol: string;
  /** As the classic controller writes it. */
  readonly description: string;
  readonly group: ResourceName;
  /** Of the source ranges. Undefined: none of ours. */
  readonly list: ResourceName | undefined;
  /** Id of the list that there was for source ranges. */
  readonly formerList: string | undefined;
  /** Port that HTTP is redirected to: it cannot be changed. */
  readonly forwardPort: number | undefined;
  /** In the wire's fields, only those that were chosen. */
  readonly fields: Params;
}

const hashes: ReadonlySet<string> = new Set(['sch', 'tch', 'qch']);
/** For a health check: the port that each server has. It is the default, and may not be shown. */
export const portOfServer = -520;
/** What no annotation says, of the protocols that have it. */
const otherFields = ['Bandwidth', 'Description', 'Gzip', 'XForwardedFor', 'CACertificateId'];

/** One port of a load balancer: it is made stopped, and then started. */
export function listenerKind(client: AlibabaClient): Kind<ListenerSpec, Listener> {
  const actionOf = (before: string, { protocol }: Pick<Listener, 'protocol'>, after: string) =>
    `${before}LoadBalancer${protocol.toUpperCase()}Listener${after}`;

  const send = (action: string, params: Params, io: WriteIo) => client.change('slb', action, params, io);
  function paramsOf(spec: ListenerSpec, { idOf }: Pick<WriteIo, 'idOf'>): Params {
    const list = spec.list === undefined ? {} : { AclStatus: 'on', AclType: 'white', AclId: idOf(spec.list) };
    return { ...spec.fields, ...list, Description: spec.description, VServerGroupId: idOf(spec.group) };
  }

  return {
    kind: kindNames.listener,
    within: kindNames.balancer,
    retryCreate: 'afterSearch',
    compare({ body }, spec, pointsAt) {
      const { wire } = body;
      if (body.protocol !== spec.protocol)
        return { replace: `${body.protocol} to ${spec.protocol}`, order: 'deleteFirst' };
      const forward = wire['ListenerForward'] === 'on' ? Number(wire['ForwardPort']) : undefined;
      if (forward !== spec.forwardPort)
        return {
          replace: `redirected to ${forward ?? 'nothing'}, now to ${spec.forwardPort ?? 'nothing'}`,
          order: 'deleteFirst',
        };
      const scheduler = spec.fields['Scheduler'];
      if (isHashedAnew(body, scheduler))
        return { replace: `Scheduler ${String(wire['Scheduler'])} to ${String(scheduler)}`, order: 'deleteFirst' };
      // What forwards serves nothing itself.
      const isServing = forward === undefined;
      const news = [
        ...(pointsAt('group').includes(spec.group) ? [] : ['server group']),
        ...(spec.list === undefined || pointsAt('list').includes(spec.list) ? [] : ['access list']),
        ...(usesFormer(wire, spec) ? ['no access list'] : []),
        ...Object.keys(spec.fields).filter((name) => !isSame(wire[name], spec.fields[name])),
      ];
      const what = `port ${spec.port}`;
      const changes: Change[] = [
        ...(isServing && news.length > 0
          ? [{ what: 'set', phase: 'set' as const, summary: `${what}: ${news.join(', ')}`, body: spec }]
          : []),
        ...(body.isStarted ? [] : [{ what: 'start', phase: 'set' as const, summary: `start ${what}` }]),
      ];
      return changes.length === 0 ? { same: true } : { changes };
    },
    fresh({ spec }) {
      const { port, protocol, forwardPort, fields, group, list } = spec;
      const forward = forwardPort === undefined ? {} : { ListenerForward: 'on', ForwardPort: forwardPort };
      const points = { group: [group], list: list === undefined ? [] : [list] };
      return { body: { port, protocol, isStarted: false, wire: { ...fields, ...forward } as Json }, points };
    },
    async create({ spec }, _inside, io) {
      const { port, protocol, forwardPort } = spec;
      const params: Params = {
        Bandwidth: -1,
        Scheduler: 'rr',
        ...paramsOf(spec, io),
        ...(protocol.startsWith('http') && { StickySession: 'off', HealthCheck: 'off', ...paramsOf(spec, io) }),
        ...(forwardPort !== undefined && { ListenerForward: 'on', ForwardPort: forwardPort }),
        LoadBalancerId: io.within,
        ListenerPort: port,
      };
      await send(actionOf('Create', spec, ''), asCreated(protocol, params), io);
      const shown = { ...params, ListenerProtocol: protocol, Status: 'stopped' };
      const found = foundListener(answerFields(shown, { cloud, operation: 'Create' }), io.owner);
      return { id: found.id, found: [found] };
    },
    async update(found, { what, body: spec }, io) {
      const { body, within } = found;
      const of = { LoadBalancerId: within, ListenerPort: body.port };
      if (what === 'start') {
        await send('StartLoadBalancerListener', { ...of, ListenerProtocol: body.protocol }, io);
        return { found: [{ ...found, body: { ...body, isStarted: true } }] };
      }
      const chosen = spec as ListenerSpec;
      const list = usesFormer(body.wire, chosen) ? { AclStatus: 'off' } : {};
      const params = { ...standingFields(body), ...paramsOf(chosen, io), ...list };
      await send(
        actionOf('Set', body, 'Attribute'),
        { ...of, ...asSet(body.protocol, params), VServerGroup: 'on' },
        io,
      );
      const wire = { ...body.wire, ...params };
      const shown = answerFields(
        { ...wire, Status: body.isStarted ? 'running' : 'stopped' },
        { cloud, operation: 'Set' },
      );
      return { found: [foundListener(shown, found.owner)] };
    },
    async remove({ body, within }, io) {
      const params = { LoadBalancerId: within, ListenerPort: body.port, ListenerProtocol: body.protocol };
      await send('DeleteLoadBalancerListener', params, io);
      return {};
    },
  };
}

/** No listener changes to a hash: "SetLoadBalancerTCPListenerAttribute" in the API reference of SLB. */
export function isHashedAnew({ wire }: Listener, scheduler: Params[string]): boolean {
  return hashes.has(String(scheduler)) && wire['Scheduler'] !== scheduler;
}

function usesFormer(wire: Json, { list, formerList, fields }: ListenerSpec): boolean {
  if (list !== undefined || formerList === undefined || fields['AclId'] !== undefined) return false;
  return wire['AclStatus'] === 'on' && wire['AclId'] === formerList;
}

/** The settings of a listener, as another one has to get them: what a change leaves out is sent again as it stands. */
export function standingFields({ protocol, wire }: Listener): Params {
  const names = [...otherFields, ...fieldsWithAnnotation(protocol)].filter(
    (name) => !['AclId', 'AclType'].includes(name) || wire['AclStatus'] === 'on',
  );
  const shown = names.filter((name) => wire[name] !== undefined && wire[name] !== null && wire[name] !== '');
  return Object.fromEntries(shown.map((name) => [name, wire[name] as string | number]));
}

/** Health checks of TCP and UDP are switched by another name than the one that they are shown under. */
function asSet(protocol: string, { HealthCheck: isChecked, ...params }: Params): Params {
  if (protocol === 'http' || protocol === 'https') return { HealthCheck: isChecked, ...params };
  return { ...params, HealthCheckSwitch: isChecked };
}

/** The interval has another spelling where these are made, and the default is left out. */
function asCreated(protocol: string, params: Params): Params {
  const { HealthCheckInterval: interval, HealthCheckConnectPort: port, ...rest } = asSet(protocol, params);
  const isWeb = protocol === 'http' || protocol === 'https';
  const HealthCheckConnectPort = port === portOfServer ? undefined : port;
  return { ...rest, HealthCheckConnectPort, [isWeb ? 'HealthCheckInterval' : 'healthCheckInterval']: interval };
}

function isSame(shown: unknown, chosen: Params[string]): boolean {
  if (chosen === undefined || (chosen === portOfServer && !shown)) return true;
  return String(shown ?? '').toLowerCase() === String(chosen).toLowerCase();
}
