import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { conditions } from '../../common/well-known.ts';
import type { ConditionView } from '../model/node-view.ts';
import { exampleNode } from '../model/testing/example-node.ts';
import { waitsForRoutes } from '../nodes/patches.ts';
import { networkChange, type RouteStatus } from './network-condition.ts';

const type = conditions.networkUnavailable;
const routed: RouteStatus = { kind: 'routed' };
const pending: RouteStatus = { kind: 'pending' };
const failed: RouteStatus = { kind: 'missing', reason: 'NoRouteCreated', message: 'refused' };
const full: RouteStatus = { kind: 'missing', reason: 'QuotaExceeded', message: 'full' };

function change(held: Partial<ConditionView> | undefined, routeStatuses: readonly RouteStatus[]): string {
  const view = held && { type, status: 'True', reason: '', message: '', ...held };
  const desired = networkChange(exampleNode({ conditions: view ? [view] : [] }), routeStatuses);
  return desired ? `${desired.status} ${desired.reason}` : 'left';
}

const created = { status: 'False', reason: 'RouteCreated', message: 'RouteController created a route' };
const none = { status: 'True', reason: 'NoRouteCreated', message: 'RouteController failed to create a route' };

describe('the condition NetworkUnavailable', () => {
  const cases: readonly [string, Partial<ConditionView> | undefined, readonly RouteStatus[], string][] = [
    ['sets the condition on a Node without one, once it is routed', undefined, [routed], 'False RouteCreated'],
    ['sets the condition on a Node without one, when its route failed', undefined, [failed], 'True NoRouteCreated'],
    ['turns the condition when the route is made', none, [routed], 'False RouteCreated'],
    ['turns the condition when the route is lost and cannot be made', created, [failed], 'True NoRouteCreated'],
    ['writes the same condition no second time: routed', created, [routed], 'left'],
    ['writes the same condition no second time: not routed', none, [failed], 'left'],
    ['writes no condition for another message alone', { ...none, message: 'other words' }, [failed], 'left'],
    ['changes the condition when the reason changes', none, [full], 'True QuotaExceeded'],
    ['keeps a network plugin`s own reason: up', { status: 'False', reason: 'CalicoIsUp' }, [failed], 'left'],
    ['keeps a network plugin`s own reason: down', { status: 'True', reason: 'CalicoIsDown' }, [routed], 'left'],
    ['keeps a network plugin`s own reason: Cilium', { status: 'False', reason: 'CiliumIsUp' }, [failed], 'left'],
    ['keeps a network plugin`s own reason: Flannel', { status: 'False', reason: 'FlannelIsUp' }, [failed], 'left'],
    ['takes over what an agent said before', { reason: 'NodeInitialization' }, [routed], 'False RouteCreated'],
    ['says nothing before a route was tried', created, [pending], 'left'],
    ['says nothing while one family is not tried yet', none, [routed, pending], 'left'],
    ['says what is missing though one family is routed', created, [routed, failed], 'True NoRouteCreated'],
    ['says the reason that tells most', none, [failed, full], 'True QuotaExceeded'],
    ['counts a Node as routed when both families are', none, [routed, routed], 'False RouteCreated'],
    ['leaves the condition of a Node without a pod range', none, [], 'left'],
  ];
  for (const [name, held, routeStatuses, expected] of cases)
    it(name, () => assert.equal(change(held, routeStatuses), expected));

  it('replaces the initial message by a more specific one, once', () => {
    assert.equal(change(waitsForRoutes, [pending]), 'left');
    assert.equal(change(waitsForRoutes, [failed]), 'True NoRouteCreated');
    assert.equal(change({ ...waitsForRoutes, message: 'refused' }, [failed]), 'left');
  });
});
