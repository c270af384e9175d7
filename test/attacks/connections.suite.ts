import { setTimeout as sleep } from 'node:timers/promises';
import type { ApiSuite } from '../conformance/api-under-test.ts';
import { inWorld } from '../e2e/in-world.ts';
import type { Replica } from '../kit/world/replica.ts';
import { assertThat, until } from '../kit/world/scenario.ts';
import type { World } from '../kit/world/world.ts';
import { holdSilent, type SilentPeersOptions } from './silent-peers.ts';
import { readyLeader, statusOf, takesReport } from './victim.ts';

const attacker = '127.0.0.66';
const probes = 24;

/** Probes from the attacker's own address and from another in turn, spread over that time. */
async function probed(replica: Replica, overMs: number): Promise<string> {
  const answers: number[] = [];
  for (let n = 0; n < probes; n += 1) {
    const localAddress = n % 2 === 0 ? '127.0.0.1' : attacker;
    answers.push(await statusOf(replica.securePort, n % 4 < 2 ? '/livez' : '/readyz', { localAddress }));
    await sleep(overMs / probes);
  }
  return `${answers.filter((status) => status === 200).length} of ${probes}`;
}

/** Holds connections to both ports while probes and reports have to get through. */
async function attacked(
  world: World,
  leader: Replica,
  how: Omit<SilentPeersOptions, 'port'>,
  overMs: number,
): Promise<{ readonly answered: string }> {
  const held = [leader.securePort, leader.reportPort].map((port) => holdSilent({ ...how, port }));
  try {
    const [answered] = await Promise.all([probed(leader, overMs), takesReport(world, leader)]);
    return { answered };
  } finally {
    for (const peers of held) peers.stop();
  }
}

/** Peers that connect and say nothing shut out neither probes nor agents. */
export const connectionsSuite: ApiSuite = {
  name: 'connections',
  run: (api, suiteCheck) =>
    inWorld({ api, nodes: 1, agentProcesses: 0 }, suiteCheck, async (world, check) => {
      const leader = await readyLeader(world);
      const all = `${probes} of ${probes}`;
      for (const tls of [false, true]) {
        const when = tls ? 'after the TLS handshake' : 'before the TLS handshake';
        await check(`300 connections of one address, silent ${when}, keep out no probe and no report`, async () => {
          const { answered } = await attacked(world, leader, { count: 300, from: () => attacker, tls }, 8_000);
          assertThat(answered === all, `${answered} probes were answered`);
        });
      }
      await check(
        '300 connections that are opened again when they are cut keep out no probe and no report',
        async () => {
          const { answered } = await attacked(
            world,
            leader,
            { count: 300, from: () => attacker, tls: false, redialMs: 500 },
            4_000,
          );
          assertThat(answered === all, `${answered} probes were answered`);
        },
      );
      await check('silent connections of 300 addresses keep out no probe and no report', async () => {
        const from = (n: number) => `127.0.${1 + Math.floor(n / 200)}.${1 + (n % 200)}`;
        const { answered } = await attacked(world, leader, { count: 300, from, tls: false }, 3_000);
        assertThat(answered === all, `${answered} probes were answered`);
      });
      await check('silent connections are cut before long', async () => {
        const peers = holdSilent({ port: leader.securePort, count: 20, from: () => attacker, tls: true });
        await until('all are cut', 20_000, async () => peers.open === 0).finally(() => peers.stop());
      });
    }),
};
