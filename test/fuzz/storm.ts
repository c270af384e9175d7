import { readFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { type ConnectionOptions, connect as connectTls, createSecureContext, type TLSSocket } from 'node:tls';
import { seededRandom } from '../../common/process/random.ts';
import { names } from '../../common/well-known.ts';
import { issueAuthority, issueServing } from '../../controller/reports/certificates/ca.ts';
import { readAnswer } from './answers.ts';
import { validReport } from './bodies.ts';
import { startCluster } from './cluster.ts';
import { createDice } from './dice.ts';
import { bytesOf } from './requests.ts';
import { startTarget, type Target } from './target.ts';
import { createWire, type Wire } from './wire.ts';

/**
 * Many agents at once, and slow peers, against the report server with its shipped limits: prints how long it takes
 * until every agent was heard, and the cost. `node test/fuzz/storm.ts [agents]`
 */
const size = Number(process.argv[2] ?? 5000);

interface Agent {
  readonly name: string;
  readonly token: string;
  /** One for each, as nodes have. */
  readonly address: string;
}

async function cost(
  target: Target,
): Promise<{ readonly cpu: number; readonly peakMiB: number; readonly rssMiB: number }> {
  const [stat, status] = await Promise.all([
    readFile(`/proc/${target.pid}/stat`, 'utf8'),
    readFile(`/proc/${target.pid}/status`, 'utf8'),
  ]);
  const fields = stat.split(') ')[1]?.split(' ') ?? [];
  const mebibytes = (field: string) => Number(new RegExp(`${field}:\\s+(\\d+)`).exec(status)?.[1]) / 1024;
  return {
    cpu: (Number(fields[11]) + Number(fields[12])) / 100,
    peakMiB: mebibytes('VmHWM'),
    rssMiB: mebibytes('VmRSS'),
  };
}

/**
 * All start together. A refused agent tries again as the agent does: after the time it was told, or a little longer
 * each time.
 */
async function storm(
  title: string,
  agents: readonly Agent[],
  wire: Wire,
  target: Target,
  sequence: number,
): Promise<void> {
  const dice = createDice(seededRandom(sequence));
  const before = await cost(target);
  const started = performance.now();
  const took: number[] = [];
  let tries = 0;
  const refusals = new Map<string, number>();

  async function report(agent: Agent): Promise<void> {
    const body = Buffer.from(JSON.stringify(validReport(dice, { agentId: agent.name, sequence, others: ['i-1'] })));
    const request = bytesOf({
      headers: [
        ['host', names.serverName],
        ['authorization', `Bearer ${agent.token}`],
        ['content-type', 'application/json'],
        ['content-length', String(body.length)],
      ],
      body,
    });
    for (let attempt = 0; ; attempt += 1) {
      tries += 1;
      const heard = await wire.send(target.ports.shipped, {
        tls: 'yes',
        parts: [request],
        ending: 'wait',
        from: agent.address,
      });
      const reading = readAnswer(heard);
      const outcome = 'fault' in reading ? reading.fault : reading.outcome;
      if (outcome === 'kept') break;
      refusals.set(outcome, (refusals.get(outcome) ?? 0) + 1);
      if (attempt === 20) throw new Error(`${agent.name} was never heard: ${outcome}`);
      await sleep(Math.min(30_000, 1000 * 2 ** attempt) * (0.5 + dice.random()));
    }
    took.push(performance.now() - started);
  }

  await Promise.all(agents.map(report));
  const after = await cost(target);
  const { heapUsed, external } = await target.account();
  took.sort((a, b) => a - b);
  const seconds = (share: number) => ((took[Math.ceil(took.length * share) - 1] ?? 0) / 1000).toFixed(1);
  const refused = [...refusals].map(([what, count]) => `${count} ${what}`).join(', ') || 'none';
  console.log(
    `${title}: ${agents.length} accepted in ${seconds(1)} s (half in ${seconds(0.5)}, 99 % in ${seconds(0.99)}), ` +
      `${tries} tries; refused for now: ${refused}; ` +
      `processor ${(after.cpu - before.cpu).toFixed(1)} s = ` +
      `${(((after.cpu - before.cpu) * 1000) / agents.length).toFixed(2)} ms each; ` +
      `RSS ${before.rssMiB.toFixed(0)} before, peak ${after.peakMiB.toFixed(0)}, ${after.rssMiB.toFixed(0)} MiB ` +
      `after, of which ${((heapUsed + external) / 2 ** 20).toFixed(0)} MiB held by JavaScript`,
  );
}

/** Peers that begin and never finish; meanwhile agents are heard. */
async function slowPeers(agents: readonly Agent[], ca: string, wire: Wire, target: Target): Promise<void> {
  const secureContext = createSecureContext({ ca });
  const port = target.ports.shipped;
  const tls = { host: '127.0.0.1', port, secureContext, servername: names.serverName };
  const ends = new Map<string, number[]>();
  const kinds: readonly (readonly [kind: string, first: string])[] = [
    ['no handshake', ''],
    ['no byte', ''],
    ['half the headers', 'POST /v1/report HTTP/1.1\r\nhost: x\r\n'],
    [
      'half the body',
      'POST /v1/report HTTP/1.1\r\nhost: x\r\ncontent-length: 100\r\ncontent-type: application/json\r\n\r\n{',
    ],
    ['a byte a second', 'POST /v1/report HTTP/1.1\r\nhost: x\r\nx: '],
  ];
  const held = Array.from({ length: 900 }, (_, index) => {
    const [kind, first] = kinds[index % kinds.length]!;
    const began = performance.now();
    const localAddress = `127.2.0.${index % 5}`;
    const socket =
      kind === 'no handshake'
        ? connect({ host: '127.0.0.1', port, localAddress })
        : connectTls({ ...tls, localAddress } as ConnectionOptions, () => {
            if (first !== '') (socket as TLSSocket).write(first);
          });
    const drip = kind === 'a byte a second' ? setInterval(() => socket.write('y'), 1000) : undefined;
    socket.on('error', () => {});
    socket.resume();
    return new Promise<void>((resolve) =>
      socket.on('close', () => {
        clearInterval(drip);
        ends.set(kind, [...(ends.get(kind) ?? []), performance.now() - began]);
        resolve();
      }),
    );
  });
  await sleep(1000);
  await storm('  beside 900 slow peers of five addresses', agents.slice(0, 500), wire, target, 3);
  const limit = sleep(60_000).then(() => 'late');
  const all = await Promise.race([Promise.all(held).then(() => 'all'), limit]);
  for (const [kind, times] of ends) {
    console.log(`  ${kind}: ${times.length} cut after at most ${(Math.max(...times) / 1000).toFixed(1)} s`);
  }
  console.log(
    `  slow peers left after a minute: ${all === 'all' ? 0 : 900 - [...ends.values()].flat().length}; sockets ` +
      `${await target.sockets()}`,
  );
  if (all !== 'all') process.exitCode = 1;
}

const cluster = await startCluster();
const validity = { notBefore: Date.now() - 60_000, notAfter: Date.now() + 86_400_000 };
const authority = await issueAuthority(validity);
const credentials = await issueServing(authority, [names.serverName], validity);
const { url: apiUrl, caPem: apiCa, adminToken: apiToken } = cluster.server;
const target = await startTarget({ apiUrl, apiCa, apiToken, credentials });
const wire = createWire(authority.cert, { resume: false, patienceMs: 120_000 });
try {
  const agents = Array.from({ length: size }, (_, index): Agent => {
    const name = `storm-${index}`;
    cluster.putNode(name);
    return {
      name,
      token: cluster.issue({ bound: cluster.putPod(name) }),
      address: `127.1.${index >> 8}.${index & 255}`,
    };
  });
  await storm('first reports, each with a token review', agents, wire, target, 1);
  await storm('again, verdicts known', agents, wire, target, 2);
  await slowPeers(agents, authority.cert, wire, target);
} finally {
  await target.stop();
  await cluster.stop();
}
