import type { Clock } from '../../../../common/process/clock.ts';
import { type FakeAnswer, httpOf, type ReceivedCall } from '../../fake-http.ts';
import { FakeRefusal, type FakeRequest, ok } from './fake-api.ts';
import {
  createBalancer,
  deleteBalancer,
  describeBalancer,
  describeBalancers,
  setBalancer,
  tagResources,
} from './fake-balancers.ts';
import {
  addServers,
  createGroup,
  deleteGroup,
  describeGroup,
  describeGroups,
  removeServers,
  setServers,
} from './fake-groups.ts';
import { answerMetadata, assumeRole } from './fake-identity.ts';
import { describeInstance, describeInstances } from './fake-instances.ts';
import { describeInterfaces } from './fake-interfaces.ts';
import { createListener, deleteListener, describeListeners, setListener, startListener } from './fake-listeners.ts';
import { addEntries, createList, deleteList, describeList, describeLists, removeEntries } from './fake-lists.ts';
import { network } from './fake-network.ts';
import { networkParameters, parameters } from './fake-parameters.ts';
import type { FakeInstance, FakeRegion } from './fake-region.ts';
import { createEntries, deleteEntries, describeEntries, describeTables } from './fake-routes.ts';
import { verified } from './fake-signatures.ts';

export const accessKey = { id: 'LTAI5tMooringFake0000001', secret: 'ZmFrZS1zZWNyZXQtb2YtbW9vcmluZw' };

type Handler = (region: FakeRegion, request: FakeRequest) => FakeAnswer;

const slb: Readonly<Record<string, Handler>> = {
  DescribeLoadBalancers: describeBalancers,
  CreateLoadBalancer: createBalancer,
  DescribeLoadBalancerAttribute: describeBalancer,
  DeleteLoadBalancer: deleteBalancer,
  TagResources: tagResources,
  SetLoadBalancerName: setBalancer,
  SetLoadBalancerDeleteProtection: setBalancer,
  SetLoadBalancerModificationProtection: setBalancer,
  ModifyLoadBalancerInternetSpec: setBalancer,
  ModifyLoadBalancerInstanceChargeType: setBalancer,
  ModifyLoadBalancerInstanceSpec: setBalancer,
  DescribeVServerGroups: describeGroups,
  DescribeVServerGroupAttribute: describeGroup,
  CreateVServerGroup: createGroup,
  AddVServerGroupBackendServers: addServers,
  SetVServerGroupAttribute: setServers,
  RemoveVServerGroupBackendServers: removeServers,
  DeleteVServerGroup: deleteGroup,
  DescribeLoadBalancerListeners: describeListeners,
  StartLoadBalancerListener: startListener,
  DeleteLoadBalancerListener: deleteListener,
  ...Object.fromEntries(
    ['tcp', 'udp', 'http', 'https'].flatMap((protocol) => [
      [`CreateLoadBalancer${protocol.toUpperCase()}Listener`, createListener(protocol)],
      [`SetLoadBalancer${protocol.toUpperCase()}ListenerAttribute`, setListener(protocol)],
    ]),
  ),
  DescribeAccessControlLists: describeLists,
  DescribeAccessControlListAttribute: describeList,
  CreateAccessControlList: createList,
  DeleteAccessControlList: deleteList,
  AddAccessControlListEntry: addEntries,
  RemoveAccessControlListEntry: removeEntries,
};

/** Name of each product in policies, by the version of its API. */
const productOf: Readonly<Record<string, string>> = {
  '2014-05-26': 'ecs',
  '2016-04-28': 'vpc',
  '2014-05-15': 'slb',
  '2022-04-30': 'nlb',
  '2015-04-01': 'sts',
};
const networkVersion = '2022-04-30';

/** By version and action. */
const handlers: Readonly<Record<string, Handler>> = {
  '2014-05-26 DescribeInstanceAttribute': describeInstance,
  '2014-05-26 DescribeInstances': describeInstances,
  '2014-05-26 DescribeNetworkInterfaces': describeInterfaces,
  '2016-04-28 DescribeRouteTableList': describeTables,
  '2016-04-28 DescribeRouteEntryList': describeEntries,
  '2016-04-28 CreateRouteEntries': createEntries,
  '2016-04-28 DeleteRouteEntries': deleteEntries,
  '2015-04-01 GetCallerIdentity': (region) =>
    ok({ AccountId: region.account, Arn: `acs:ram::${region.account}:user/mooring`, IdentityType: 'RAMUser' }),
  ...Object.fromEntries(Object.entries(slb).map(([action, handler]) => [`2014-05-15 ${action}`, handler])),
  ...Object.fromEntries(Object.entries(network).map(([action, handler]) => [`${networkVersion} ${action}`, handler])),
};

/** Of calls that are signed in the former way, these are part of the signature. */
const ofSignature = /^(Action|Version|Format|Timestamp|Signature\w*|AccessKeyId|SecurityToken|RegionId)$/;

function assertKnown({ action, params, version }: FakeRequest): void {
  const known = (version === networkVersion ? networkParameters : parameters)[action]?.split(' ');
  for (const name of params.keys()) {
    if (known === undefined || ofSignature.test(name) || known.includes(name.split('.')[0]!)) continue;
    throw new FakeRefusal(400, 'UnknownParameter', `${action} has no parameter ${name}`);
  }
}

function assertAllowed({ actions, isAllowed }: FakeRegion, action: string): void {
  actions.push(action);
  if (isAllowed?.(action) === false) throw new FakeRefusal(403, 'Forbidden.RAM', action);
}

export function createFakeAlibaba(clock: Clock): FakeRegion {
  let last = 0;
  const nonces = new Set<string>();

  function answer(received: ReceivedCall): FakeAnswer {
    try {
      if (received.path.startsWith('/latest/')) return answerMetadata(region, received);
      if (/\bAction=AssumeRoleWithOIDC\b/.test(received.text)) return assumeRole(region, received);
      const request = verified(received, region.keys, nonces, clock.now());
      region.calls.push(request.action);
      const name = `${productOf[request.version] ?? request.version}:${request.action}`;
      assertAllowed(region, name);
      region.algorithms.add(request.algorithm);
      const instead = region.fault?.(request.action, name);
      if (instead !== undefined) return instead;
      const handler = handlers[`${request.version} ${request.action}`];
      if (handler === undefined) throw new FakeRefusal(404, 'InvalidAction.NotFound', request.action);
      const asked = request.params.get('RegionId');
      if (asked !== undefined && asked !== region.id) throw new FakeRefusal(404, 'InvalidRegionId.NotFound');
      assertKnown(request);
      if (name === 'nlb:CreateLoadBalancer' && !region.hasNetworkRole) {
        assertAllowed(region, 'ram:CreateServiceLinkedRole');
        region.hasNetworkRole = true;
      }
      return handler(region, request);
    } catch (error) {
      if (!(error instanceof FakeRefusal)) throw error;
      return error.answer;
    }
  }

  const region: FakeRegion = {
    id: 'cn-hangzhou',
    account: '1234567890123456',
    vpc: 'vpc-bp1qpo0kug3a20qqe',
    vswitch: 'vsw-bp1s5fnvk4gn2tws',
    calls: [],
    actions: [],
    isAllowed: undefined,
    hasNetworkRole: false,
    algorithms: new Set(),
    keyLifeMs: 3_600_000,
    maxEntries: 200,
    busyMs: 0,
    tablesBusyUntil: 0,
    fault: undefined,
    answer,
    balancers: new Map(),
    maxBalancers: 60,
    maxServers: 200,
    lists: new Map(),
    hidden: new Set(),
    networks: new Map(),
    networkGroups: new Map(),
    jobs: new Map(),
    keys: new Map([[accessKey.id, { secret: accessKey.secret }]]),
    instances: new Map(),
    podAddresses: new Map(),
    routeTables: new Map([['vtb-bp145q7glnuzdvzu2', []]]),
    now: () => clock.now(),
    nextId: (prefix) => {
      last += 1;
      const joint = /[a-z]$/.test(prefix) ? '-' : '';
      return `${prefix}${joint}bp1${String(last).padStart(5, '0')}`;
    },
    addInstance(name, more = {}) {
      const id = region.nextId('i');
      const [high, low] = [(last >> 8) % 250, last % 250];
      const one: FakeInstance = {
        id,
        name,
        status: 'Running',
        zone: 'cn-hangzhou-h',
        type: 'ecs.g7.large',
        eip: '',
        address: `172.16.${high}.${low}`,
        publicAddress: `47.96.${high}.${low}`,
        ipv6: [],
        tags: {},
        interfaceId: region.nextId('eni'),
        ...more,
      };
      region.instances.set(id, one);
      return one;
    },
    addPod(interfaceId = region.nextId('eni')) {
      const address = `172.20.${(last >> 8) % 250}.${region.podAddresses.size + 1}`;
      region.podAddresses.set(address, interfaceId);
      return { address, interfaceId };
    },
    http: httpOf(answer),
  };
  return region;
}
