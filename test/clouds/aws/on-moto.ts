import assert from 'node:assert/strict';
import type { MotoRule } from './moto-proxy.ts';
import type { AwsServer } from './suites.ts';

/** The moto server that `run.ts` has started. */
export function onMoto(rules: readonly MotoRule[]): AwsServer {
  return {
    on: 'moto',
    // It shows every route as active.
    blackholes: false,
    async start() {
      const server = process.env['MOTO_URL'];
      assert.ok(server, 'MOTO_URL');
      return { server, rules };
    },
  };
}
