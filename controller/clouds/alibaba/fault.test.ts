import assert from 'node:assert/strict';
import { it } from 'node:test';
import { kindOfCode } from './fault.ts';

it('codes of Alibaba Cloud that pass by themselves are busy, and are tried again at once', () => {
  for (const code of [
    'OperationBusy',
    'OperationFailed.ListenerStatusNotSupport',
    'IncorrectVpcStatus',
    'IncorrectVSwitchStatus',
    'IncorrectInstanceStatus',
    'IncorrectRouteEntryStatus',
    'IncorrectStatus.RouteTableStatus',
    'TaskConflict',
    'LastTokenProcessing',
    'OperationFailed.LastTokenProcessing',
    'OperationFailed.DistibuteLock',
  ])
    assert.equal(kindOfCode(code), 'Busy', code);
  assert.equal(kindOfCode('InvalidInstanceId.NotFound'), 'NotFound');
  assert.equal(kindOfCode('InvalidParameter.Scheduler'), undefined);
});
