import type { Dice } from './dice.ts';
import { canary, evil, evilKey } from './evil-values.ts';
import type { Json } from './json.ts';

/** Which agent says it, and how often it has spoken. */
export interface Speaker {
  readonly agentId: string;
  readonly sequence: number;
  /** Instances of other nodes, for reports that claim them. */
  readonly others: readonly string[];
}

/** A report that keeps to the contract, in any of its forms. */
export function validReport(dice: Dice, speaker: Speaker): { [key: string]: Json } {
  const report: { [key: string]: Json } = {
    version: 1,
    agentVersion: dice.pick(['0.1.0', 'v1.2.3-rc.1', 'dev', 'ünïcode 😀']),
    agentId: speaker.agentId,
    sequence: speaker.sequence,
    observedAt: dice.pick([
      '2026-01-01T00:00:00Z',
      '2026-01-01T00:00:00.000Z',
      '2024-02-29t23:59:60z',
      '2024-02-29T00:59:60.5+01:00',
    ]),
    metadata: metadata(dice),
  };
  if (dice.chance(0.5)) report['bootId'] = '6b0e8a2c-6d0c-4a8c-9d5e-0f6c3b7a1e11';
  if (dice.chance(0.5)) report['smbiosUuid'] = `ec2e1916-9099-7caf-fd21-${dice.text(12, '0123456789abcdef')}`;
  if (dice.chance(0.8)) report['instance'] = instance(dice, speaker);
  if (dice.chance(0.3)) report['notices'] = many(dice, 16, () => notice(dice));
  if (dice.chance(0.2)) {
    report['evidence'] = { cloud: 'aws', kind: 'rsa2048', document: canary + dice.text(dice.between(1, 300)) };
  }
  if (dice.chance(0.2)) report['leaving'] = dice.chance(0.5);
  return report;
}

function many(dice: Dice, most: number, make: () => Json): Json[] {
  return Array.from({ length: dice.chance(0.1) ? most : dice.below(4) }, make);
}

function metadata(dice: Dice): Json {
  const ok = dice.chance(0.7);
  const age = dice.pick([0, 0.5, 60, 1e10]);
  return {
    ok,
    ageSeconds: age,
    failures: dice.pick([0, 1, Number.MAX_SAFE_INTEGER]),
    ...(ok ? {} : { error: dice.pick(['timeout', 'línea única 😀', '']) }),
  };
}

function notice(dice: Dice): Json {
  return {
    kind: dice.pick(['preemption', 'maintenance', 'termination', 'rebalance']),
    ...(dice.chance(0.5) ? { deadline: '2026-01-01T00:10:00Z' } : {}),
    ...(dice.chance(0.3) ? { message: dice.text(dice.below(2000)) } : {}),
  };
}

function instance(dice: Dice, { others }: Speaker): Json {
  const name = dice.chance(0.2) ? dice.pick(others) : `i-${dice.text(17, '0123456789abcdef')}`;
  const [cloud, id, providerID] = dice.pick([
    ['aws', name, `aws:///eu-west-1a/${name}`],
    ['openstack', name, `openstack:///${name}`],
    ['openstack', name, `openstack://region-1/${name}`],
    ['gce', `p/europe-west1-b/${name}`, `gce://p/europe-west1-b/${name}`],
    ['simulated', name, `simulated://sim-1/${name}`],
    ['nobody-knows', name, `x-1://${name}`],
  ] as const);
  const optional = (name: string, value: () => Json) => (dice.chance(0.6) ? { [name]: value() } : {});
  return {
    cloud,
    id,
    providerID,
    ...optional('incarnation', () => id),
    ...optional('name', () => dice.pick(['vm-1', 'vm mit Leerzeichen', '虚拟机'])),
    ...optional('zone', () => dice.pick(['eu-west-1a', 'no label/value', 'z'.repeat(128)])),
    ...optional('region', () => 'eu-west-1'),
    ...optional('type', () => dice.pick(['m5.large', 'GP1 Large (SSD)'])),
    addresses: [...new Set(many(dice, 100, () => JSON.stringify(address(dice))))].map((text) =>
      JSON.parse(String(text)),
    ),
    ...optional('labels', () => labels(dice)),
  };
}

function address(dice: Dice): Json {
  const part = () => dice.between(1, 223);
  return dice.weighed<() => Json>([
    [4, () => ({ type: 'InternalIP', address: `10.${part()}.${part()}.${part()}` })],
    [2, () => ({ type: 'ExternalIP', address: `198.51.100.${part()}` })],
    [2, () => ({ type: 'InternalIP', address: `2001:db8::${dice.text(4, '0123456789abcdef')}` })],
    [1, () => ({ type: 'Hostname', address: `vm-${dice.text(5)}` })],
    [1, () => ({ type: 'InternalDNS', address: `vm-${dice.text(5)}.internal.` })],
  ])();
}

function labels(dice: Dice): Json {
  const count = dice.chance(0.1) ? 64 : dice.below(4);
  const entries = Array.from({ length: count }, (_, index) => [
    dice.pick([`k${index}`, `example.com/k${index}`, `node.kubernetes.io/k${index}`, `a.b.c.d/k_${index}.x`]),
    dice.pick(['', 'v', 'V.a_l-0', 'x'.repeat(63)]),
  ]);
  return Object.fromEntries(entries);
}

/** Changes some places of a value, any places in any way. */
export function mutate(dice: Dice, root: Json): Json {
  let changed = root;
  for (let left = dice.chance(0.7) ? 1 : dice.between(2, 4); left > 0; left -= 1) changed = mutateOnce(dice, changed);
  return changed;
}

function mutateOnce(dice: Dice, value: Json): Json {
  if (typeof value !== 'object' || value === null || dice.chance(0.08)) return replaced(dice, value);
  if (Array.isArray(value)) {
    const copy = [...value];
    const at = dice.below(copy.length + 1);
    const was = copy[at];
    const act = dice.pick(['add', 'repeat', 'drop', 'change', 'change', 'change'] as const);
    if (was === undefined || act === 'add') copy.splice(at, 0, evil(dice));
    else if (act === 'repeat') copy.splice(at, 0, was);
    else if (act === 'drop') copy.splice(at, 1);
    else copy[at] = mutateOnce(dice, was);
    return copy;
  }
  const copy = Object.fromEntries(Object.entries(value));
  const keys = Object.keys(copy);
  const key = keys.length === 0 ? '' : dice.pick(keys);
  if (key === '' || dice.chance(0.2)) define(copy, evilKey(dice), dice.chance(0.3) ? canary : evil(dice));
  else if (dice.chance(0.15)) delete copy[key];
  else if (dice.chance(0.05)) {
    define(copy, evilKey(dice), copy[key] ?? null);
    delete copy[key];
  } else define(copy, key, mutateOnce(dice, copy[key] ?? null));
  return copy;
}

/** As JSON.parse does: `__proto__` becomes a field of its own. */
function define(target: { [key: string]: Json }, key: string, value: Json): void {
  Object.defineProperty(target, key, { value, enumerable: true, configurable: true, writable: true });
}

function replaced(dice: Dice, value: Json): Json {
  if (typeof value === 'string' && dice.chance(0.5)) return mutateText(dice, value);
  if (typeof value === 'number' && dice.chance(0.5)) {
    return dice.pick([value + 1, -value, value * 1e20, value + 0.5, -1, Number.MAX_SAFE_INTEGER + 1, 1e308, 5e-324]);
  }
  return evil(dice);
}

function mutateText(dice: Dice, text: string): string {
  const at = dice.below(text.length + 1);
  const odd = dice.pick([
    '\u0000',
    '\n',
    '\u001b[31m',
    '\u0085',
    '\u202e',
    '\ud800',
    '\ufeff',
    ' ',
    '/',
    '%',
    'é',
    'e\u0301',
    '😀',
  ]);
  return dice.pick([
    text.slice(0, at),
    text.slice(at),
    text + text,
    text.slice(0, at) + odd + text.slice(at),
    odd.repeat(dice.pick([1, 63, 64, 65, 512])) + text,
    text.toUpperCase(),
    `${text} `,
    `${text}${'x'.repeat(dice.pick([60, 200, 300, 600, 3000]))}`,
    text + '\u0301'.repeat(dice.pick([1, 100, 2000])),
  ]);
}
