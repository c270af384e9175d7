import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { viewNode } from '../../model/node-view.ts';
import { exampleService, finalized, recorded } from '../../services/testing/example-service.ts';
import { nodeRow } from '../ui/rows.ts';
import { clusterStatus, type Group } from './cluster-status.ts';
import { printStatus } from './print-status.ts';
import type { Cluster } from './read-cluster.ts';

const nowMs = Date.parse('2026-05-01T12:00:00Z');
const at = (secondsAgo: number) => new Date(nowMs - secondsAgo * 1000).toISOString();
const options = { loadBalancerClasses: [], moduleNames: [] };

const cluster = (changes: Partial<Cluster>): Cluster => ({
  leader: { identity: 'one', renewTime: at(2), annotations: {} },
  pausedForAll: false,
  pausedNodes: new Set(),
  hidden: [],
  events: [],
  nowMs,
  nodes: [],
  services: [],
  ...changes,
});

function condition(type: string, status: string, reason: string, message = '', secondsAgo = 600) {
  return { type, status, reason, message, lastTransitionTime: at(secondsAgo) };
}

const initialized = condition('CloudInitialized', 'True', 'Initialized');

function node(name: string, conditions: readonly object[], changes: object = {}) {
  return viewNode({
    apiVersion: 'v1',
    kind: 'Node',
    spec: {},
    status: { conditions },
    metadata: { name, uid: name, resourceVersion: '1', creationTimestamp: at(600), ...changes },
  });
}

function service(name: string, reason: string) {
  return exampleService({
    metadata: { name, ...finalized, ...recorded('http://cloud/demo/sim-1 lb-1') },
    status: { conditions: [condition('CloudLoadBalancer', 'True', reason, `${reason} of it`)] },
  });
}

describe('the status of a cluster', () => {
  it('names Nodes whose pods are cut off, first', () => {
    const cutOff = node('cut-off', [initialized, condition('NetworkUnavailable', 'True', 'QuotaExceeded', 'no room')]);
    const { nodes } = clusterStatus(cluster({ nodes: [node('well', [initialized]), cutOff] }), options);
    assert.deepEqual(
      nodes?.map(({ reason, ok, names }) => [reason, ok, names]),
      [
        ['QuotaExceeded', false, ['cut-off']],
        ['Initialized', true, ['well']],
      ],
    );
    assert.equal(nodeRow(cutOff, cluster({}), options).ok, false);
  });

  it('names Services that are served with a fault', () => {
    const faults = ['MembersRefused', 'MemberRemovalWithheld', 'RetentionNotAllowed', 'ClusterWideConsent'];
    const services = ['Ensured', ...faults].map((reason) => service(reason.toLowerCase(), reason));
    const status = clusterStatus(cluster({ services }), options);
    const isOk = (reason: string) => status.services?.find((group: Group) => group.reason === reason)?.ok;
    for (const fault of faults) assert.equal(isOk(fault), false, fault);
    assert.equal(isOk('Ensured'), true);
    assert.match(
      printStatus(status, nowMs),
      /ensured +MembersRefused +1 .* default\/membersrefused: MembersRefused of it/,
    );
  });

  it('tells why of all where they agree, and otherwise of the oldest alone', () => {
    const waiting = (name: string, why: string, secondsAgo: number) => {
      const taints = [{ key: 'node.cloudprovider.kubernetes.io/uninitialized', effect: 'NoSchedule' }];
      const shown = condition('CloudInitialized', 'False', 'AwaitingReport', why, secondsAgo);
      return { ...node(name, [shown]), taints };
    };
    const shownOf = (...nodes: readonly ReturnType<typeof waiting>[]) => {
      const status = clusterStatus(cluster({ nodes }), options);
      return [status.nodes?.[0]?.why, printStatus(status, nowMs).match(/\d min +(.*)/)?.[1]];
    };
    const [a, b] = [waiting('a', 'no report', 300), waiting('b', 'no report', 600)];
    assert.deepEqual(shownOf(a, b), ['no report', 'b, a: no report']);
    const c = waiting('c', 'a refused report', 900);
    assert.deepEqual(shownOf(a, b, c), ['c: a refused report', 'c: a refused report; also b, a']);
  });

  it('knows since when only by the condition that has the reason', () => {
    const paused = node('paused', [initialized], { annotations: { 'mooring.dev/paused': 'true' } });
    const cutOff = node('cut-off', [initialized, condition('NetworkUnavailable', 'True', 'QuotaExceeded', '', 60)]);
    const { nodes } = clusterStatus(cluster({ nodes: [paused, cutOff] }), options);
    assert.deepEqual(
      nodes?.map(({ reason, since }) => [reason, since]),
      [
        ['Paused', null],
        ['QuotaExceeded', at(60)],
      ],
    );
  });

  it('names the Nodes that are protected from deletion, and names there that no Node has', () => {
    const pausedNodes = new Set(['n2x', 'n1']);
    const some = cluster({ nodes: [node('n1', [initialized]), node('n2', [initialized])], pausedNodes });
    const status = clusterStatus(some, options);
    assert.deepEqual(status.protectedNodes, { names: ['n1'], absent: ['n2x'] });
    assert.match(printStatus(status, nowMs), /^PROTECTED +n1; n2x: no such Node$/m);
    for (const part of [{ pausedNodes: new Set<string>() }, { nodes: undefined }, { hidden: ['pause'] as const }])
      assert.doesNotMatch(printStatus(clusterStatus({ ...some, ...part }, options), nowMs), /PROTECTED/);
  });
});
