import type { Found, Reference } from '../../../engine/resource.ts';
import type { AnswerFields } from '../../answer-fields.ts';
import { pairsIn, timeIn } from '../../answer-values.ts';
import type { Owner } from '../../load-balancers.ts';
import {
  type Balancer,
  classicTags,
  isRetained,
  kindNames,
  listenerKey,
  marked,
  membersOf,
  type Server,
  type Servers,
  type Tags,
} from '../clb/found.ts';

/** A server group without its servers. */
export type NetworkGroup = ReturnType<typeof foundNetworkGroup>['body'];
export type NetworkListener = ReturnType<typeof foundNetworkListener>['body'];

const tagsIn = (fields: AnswerFields): Tags => pairsIn(fields, 'Tags', ['Key', 'Value']);

/** Slots of Network Load Balancers begin so: who asks for one has to know all of them. */
export const networkSlots = 'NLB';

export function isNetwork(id: string): boolean {
  return id.startsWith('nlb-');
}

export function foundNetworkBalancer(fields: AnswerFields, clusterId: string): Found<Balancer> {
  const [id, tags] = [fields.text('LoadBalancerId'), tagsIn(fields)];
  const address = fields.optionalText('DNSName') ?? '';
  const isNew = fields.optionalText('LoadBalancerStatus') === 'Provisioning';
  return {
    kind: kindNames.balancer,
    id,
    status: isNew ? 'pending' : 'ready',
    ...(address !== '' && { address }),
    ...marked(tags, clusterId),
    body: {
      id,
      tags,
      address,
      name: fields.optionalText('LoadBalancerName') ?? '',
      wire: fields.json(),
      isProtected: fields.optionalObject('DeletionProtectionConfig')?.optionalFlag('Enabled') === true,
      createdAtMs: timeIn(fields, 'CreateTime'),
    },
  };
}

/** @param within `{within}` in what is desired */
export function networkSlot(within: string, listener: string): string {
  return `${networkSlots} port ${within} ${listener}`;
}

/** @param owner of its load balancer */
export function foundNetworkListener(fields: AnswerFields, owner: Owner | undefined) {
  const [within, port] = [fields.text('LoadBalancerId'), fields.number('ListenerPort')];
  const protocol = fields.text('ListenerProtocol');
  const key = listenerKey(protocol.toLowerCase(), port);
  const group = fields.optionalText('ServerGroupId') ?? '';
  const refs: Reference[] = group === '' ? [] : [{ role: 'group', kind: kindNames.networkGroup, id: group }];
  return {
    kind: kindNames.networkListener,
    id: fields.text('ListenerId'),
    within,
    key,
    status: 'ready',
    refs,
    slots: [networkSlot(within, key)],
    ...(owner && { owner }),
    body: { port, protocol, wire: fields.json(), isStarted: fields.optionalText('ListenerStatus') !== 'Stopped' },
  } satisfies Found;
}

/** Names are those of the classic controller: `k8s.30080.TCP.web.shop.clusterid`. */
export function networkName(port: number | string, protocol: string, service: string, clusterId: string): string {
  const [namespace = '', name = ''] = service.split('/');
  return `k8s.${port}.${protocol}.${name}.${namespace}.${clusterId}`.slice(0, 128);
}

export function networkGroupKey(name: string): string | undefined {
  const [, port, protocol] = /^k8s\.([\w-]+)\.(\w+)\./.exec(name) ?? [];
  return port === undefined ? undefined : `${port}.${protocol}`;
}

export function foundNetworkGroup(fields: AnswerFields, clusterId: string) {
  const [id, tags] = [fields.text('ServerGroupId'), tagsIn(fields)];
  const name = fields.optionalText('ServerGroupName') ?? '';
  const { owner, ...marks } = marked(tags, clusterId);
  return {
    kind: kindNames.networkGroup,
    id,
    status: 'ready',
    ...marks,
    ...(owner && { owner }),
    key: networkGroupKey(name) ?? name,
    body: { name, tags, wire: fields.json() },
  } satisfies Found;
}

/** The servers of one group, whose owner is theirs. */
export function foundServers(
  { id, key = 'all' }: { readonly id: string; readonly key?: string | undefined },
  servers: readonly Server[],
  region: string,
): Found<Servers> {
  return {
    kind: kindNames.servers,
    id: `${id}/servers`,
    within: id,
    key,
    status: 'ready',
    body: { servers, members: membersOf(servers, region) },
  };
}

/** Made by the classic controller for the load balancer of that name. */
export function isClassicGroup({ tags }: NetworkGroup, name: string): boolean {
  return tags[classicTags.name] === name && !isRetained(tags);
}
