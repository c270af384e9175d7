import type { Dice } from './dice.ts';
import type { Json } from './json.ts';

/** Put where nothing of a report may come out again: in tokens, evidence and fields that do not exist. */
export const canary = 'cAnArY7f3e';

const keys = [
  '__proto__',
  'constructor',
  'prototype',
  'toString',
  'hasOwnProperty',
  'nodeName',
  'nodeUid',
  'node',
  '',
  ' ',
  'a/b~c',
  '~0~1',
  '0',
  'instance.id',
  'k'.repeat(64),
  'k'.repeat(300),
  '\u0000',
  '\u001b[2J',
  '\u202eevil',
  '\ud800',
  'kubernetes.io/x',
  '😀',
] as const;

export function evilKey(dice: Dice): string {
  return dice.chance(0.2) ? dice.text(dice.between(1, 70)) : dice.pick(keys);
}

const values: readonly (() => Json)[] = [
  () => null,
  () => true,
  () => false,
  () => 0,
  () => -0,
  () => -1,
  () => 1.5,
  () => 2 ** 53,
  () => 1e308,
  () => '',
  () => '__proto__',
  () => '0x7f.1',
  () => '127.0.0.1',
  () => '::ffff:127.0.0.1',
  () => '0.0.0.0',
  () => '255.255.255.255',
  () => '010.0.0.1',
  () => '1.2.3',
  () => '::',
  () => '::1%eth0',
  () => '1:2:3:4:5:6:7:8:9',
  () => 'localhost',
  () => '[::1]',
  () => '$(id)',
  () => "'; DROP TABLE nodes; --",
  () => '../../../etc/passwd',
  () => '%s%n%x',
  () => '{{.}}',
  () => 'line\r\nx-injected: 1',
  () => '\ud800\ud800',
  () => '\u202egnirts',
  () => 'e\u0301'.repeat(300),
  () => '2026-02-30T00:00:00Z',
  () => '9999-12-31T23:59:59.999999999999Z',
  () => [],
  () => ({}),
  () => [[[[]]]],
  () => JSON.parse('{"then":"x","toJSON":"x","length":5}'),
  () => JSON.parse('{"__proto__":{"ok":true}}'),
  () => 'x'.repeat(3000),
  () => Array.from({ length: 70 }, () => ({ type: 'InternalIP', address: '10.0.0.1' })),
  () => Array.from({ length: 3000 }, (_, index) => index),
  () => Object.fromEntries(Array.from({ length: 500 }, (_, index) => [`k${index}`, 'v'])),
];

/** Any value that has broken something somewhere. */
export function evil(dice: Dice): Json {
  return dice.chance(0.15) ? dice.text(dice.below(40), ' ~!"#$%&/()=?`{[]}\\*+_:;,.-<>|^°') : dice.pick(values)();
}
