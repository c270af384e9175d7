import type { Driver } from '../driver.ts';
import type { Found, Kind, Want } from '../resource.ts';
import type { FakeCloud } from './fake-cloud.ts';
import { type Spec, tableKind, tableReader } from './table.ts';

/** The desired state of one Service in these tests. */
export interface Desired {
  readonly name: string;
  readonly ports: readonly { readonly port: number; readonly nodePort: number }[];
  readonly members: readonly string[];
  readonly algorithm: string;
  /** Fixed at creation: another zone needs another load balancer. */
  readonly zone: string;
  readonly attach?: { readonly id: string; readonly allowed: boolean };
}

export const cluster = 'c1';
const noOperations = async () => new Map();

/** Creates that must be looked for before they are repeated, duplicates, references and replacements. */
export function plainDriver(cloud: FakeCloud, options: { readonly answers: boolean; readonly settleMs: number }) {
  const { answers, settleMs } = options;
  const kinds = [
    tableKind(cloud, {
      kind: 'address',
      retryCreate: 'afterSearch',
      settleMs,
      hasAddress: true,
      answers,
      order: 'createFirst',
    }),
    tableKind(cloud, { kind: 'balancer', retryCreate: 'afterSearch', settleMs, answers, isMarkable: true }),
    tableKind(cloud, { kind: 'group', answers, settleMs, order: 'createFirst' }),
    tableKind(cloud, { kind: 'listener', within: 'balancer', answers, settleMs }),
  ] as unknown as readonly Kind[];
  const driver: Driver<Desired> = {
    kinds,
    readers: [tableReader(cloud, ['address', 'balancer', 'group'], cluster)],
    desire({ name, ports, members, algorithm, zone, attach }) {
      const wants: Want<Spec>[] = [
        { kind: 'address', key: 'main', carriesAddress: true, summary: 'address', spec: { body: {} } },
        {
          kind: 'balancer',
          key: 'main',
          needs: ['address/main'],
          summary: `balancer ${name}`,
          slot: `name ${name}`,
          spec: { fixed: zone, body: { algorithm }, refs: { address: 'address/main' } },
          ...(attach !== undefined && { use: attach }),
        },
        ...ports.flatMap(({ port, nodePort }): Want<Spec>[] => [
          {
            kind: 'group',
            key: `${port}`,
            summary: `group ${port}`,
            slot: `group ${name} ${port} ${nodePort}`,
            spec: { fixed: `${nodePort}`, body: { members } },
          },
          {
            kind: 'listener',
            key: `${port}`,
            within: 'balancer/main',
            needs: [`group/${port}`],
            slot: `{within} ${port}`,
            summary: `listener ${port}`,
            spec: { body: {}, refs: { group: `group/${port}` } },
          },
        ]),
      ];
      return {
        wants: attach === undefined ? wants : wants.filter(({ kind }) => kind !== 'address').map(free),
        refusals: [],
      };
    },
    poll: noOperations,
  };
  return driver;
}

/** What the classic controller of the plain cloud made for a Service of that name. */
export function adoptsFor(name: string) {
  return (found: Found) =>
    found.kind === 'balancer' && found.slots?.includes(`name ${name}`) && found.consent ? 'main' : undefined;
}

function free(want: Want<Spec>): Want<Spec> {
  return { ...want, needs: (want.needs ?? []).filter((name) => name !== 'address/main') };
}

/** A load balancer that locks itself, made with all its parts in one call, and an address that follows it. */
export function compositeDriver(cloud: FakeCloud, { settleMs }: { readonly settleMs: number }): Driver<Desired> {
  const part = { within: 'balancer', inline: true, answers: false, settleMs } as const;
  const kinds = [
    tableKind(cloud, { kind: 'balancer', retryCreate: 'afterSearch', settleMs, locks: true, answers: false }),
    tableKind(cloud, { kind: 'pool', ...part, order: 'createFirst' }),
    tableKind(cloud, { kind: 'listener', ...part }),
    tableKind(cloud, { kind: 'floating ip', retryCreate: 'afterSearch', settleMs, loose: true, hasAddress: true }),
  ] as unknown as readonly Kind[];
  return {
    kinds,
    readers: [tableReader(cloud, ['balancer'], cluster), tableReader(cloud, ['floating ip'], cluster)],
    desire: ({ name, ports, members, algorithm, zone, attach }) => ({
      refusals: [],
      wants: [
        {
          kind: 'balancer',
          key: 'main',
          summary: name,
          slot: `name ${name}`,
          spec: { fixed: zone, body: { algorithm } },
          ...(attach !== undefined && { use: attach }),
        },
        ...ports.flatMap(({ port, nodePort }): Want<Spec>[] => [
          {
            kind: 'pool',
            key: `${port}-${nodePort}`,
            within: 'balancer/main',
            summary: `pool ${port}`,
            spec: { body: { members } },
          },
          {
            kind: 'listener',
            key: `${port}`,
            within: 'balancer/main',
            needs: [`pool/${port}-${nodePort}`],
            slot: `{within} ${port}`,
            summary: `listener ${port}`,
            spec: { body: {}, refs: { pool: `pool/${port}-${nodePort}` } },
          },
        ]),
        {
          kind: 'floating ip',
          key: 'main',
          needs: ['balancer/main'],
          carriesAddress: true,
          summary: 'floating ip',
          spec: { body: {}, refs: { at: 'balancer/main' } },
        },
      ],
    }),
    poll: async (ids) => new Map(await cloud.poll(ids)),
  };
}
