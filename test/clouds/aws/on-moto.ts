import assert from 'node:assert/strict';
import type { MotoRule } from './moto-proxy.ts';
import type { AwsServer } from './suites.ts';

/** The moto server that `run.ts` has started. Faults strike every third call; with `ENUMERATE_FAULTS=true` each one. */
export function onMoto(rules: readonly MotoRule[]): AwsServer {
  return {
    on: 'moto',
    // In `npm test` the fake has each kind of fault at every fifth call.
    faultStride: process.env['ENUMERATE_FAULTS'] === 'true' ? 1 : 3,
    // It shows every route as active.
    blackholes: false,
    async start() {
      const server = process.env['MOTO_URL'];
      assert.ok(server, 'MOTO_URL');
      return { server, rules };
    },
  };
}
