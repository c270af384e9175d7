import { maxReportBytes } from '../../common/report.ts';
import { mutate, type Speaker, validReport } from './bodies.ts';
import type { Dice } from './dice.ts';
import { canary } from './evil-values.ts';
import type { Json } from './json.ts';
import { isReport } from './report-oracle.ts';

/** What the API must make of a body, given that the sender is proved and the rest of the request is in order. */
export type BodyVerdict = 'valid' | 'NotJson' | 'InvalidReport' | 'ReportTooLarge';

export interface Body {
  readonly bytes: Buffer;
  readonly verdict: BodyVerdict;
  /** As it would be kept. */
  readonly report: { readonly [key: string]: Json } | undefined;
}

/** What a strict reader makes of these bytes. */
export function judgeBody(bytes: Buffer): Body {
  if (bytes.length > maxReportBytes) return { bytes, verdict: 'ReportTooLarge', report: undefined };
  let value: unknown;
  try {
    value = JSON.parse(new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes));
  } catch {
    return { bytes, verdict: 'NotJson', report: undefined };
  }
  if (!isReport(value)) return { bytes, verdict: 'InvalidReport', report: undefined };
  return { bytes, verdict: 'valid', report: value as { [key: string]: Json } };
}

export function makeBody(dice: Dice, speaker: Speaker): Body {
  const report = validReport(dice, speaker);
  const make = dice.weighed<() => Buffer>([
    [32, () => printed(dice, report)],
    [40, () => printed(dice, mutate(dice, report))],
    [14, () => brokenText(dice, JSON.stringify(report))],
    [6, () => brokenBytes(dice, printed(dice, report))],
    [5, () => Buffer.from(bomb(dice))],
    [3, () => sized(dice, report)],
  ]);
  return judgeBody(make());
}

function printed(dice: Dice, value: Json): Buffer {
  const text = dice.chance(0.1) ? JSON.stringify(value, null, dice.pick([1, '\t', '\r\n'])) : JSON.stringify(value);
  return Buffer.from(dice.chance(0.05) ? `\n ${text}\t` : text);
}

/** JSON that is none any more, or is another than it seems. */
function brokenText(dice: Dice, text: string): Buffer {
  const at = dice.below(text.length);
  const changed = dice.weighed<() => string>([
    [4, () => text.slice(0, at)],
    [1, () => text.slice(at)],
    [1, () => ''],
    [1, () => text + text],
    [1, () => `${text},`],
    [1, () => `\ufeff${text}`],
    [1, () => text.replace('"version"', 'version')],
    [1, () => text.replaceAll('"', "'")],
    [1, () => `${text.slice(0, -1)},}`],
    [1, () => `/* ${canary} */${text}`],
    [
      1,
      () =>
        text.replace(
          /"sequence":\d+/,
          `"sequence":${dice.pick(['NaN', 'Infinity', '1e999', '-0', '01', '1.0', '1e2', '0x10', '9'.repeat(400)])}`,
        ),
    ],
    // The last of several equal keys wins, for us and for the oracle.
    [2, () => text.replace('{', `{"sequence":"${canary}","agentId":null,`)],
    [2, () => `${text.slice(0, -1)},"sequence":${dice.pick(['7', '-7', 'null', '"7"'])}}`],
    [1, () => `${text.slice(0, -1)},"__proto__":{"version":1}}`],
    [1, () => text.replaceAll('e', '\\u0065')],
    [1, () => text.replace('"agentId":"', '"agentId":"\\ud800')],
    [2, () => text.slice(0, at) + dice.pick(['\u0000', '{', '"', '\\', '\u2028', ',']) + text.slice(at)],
  ])();
  return Buffer.from(changed);
}

function brokenBytes(dice: Dice, bytes: Buffer): Buffer {
  const copy = Buffer.from(bytes);
  if (dice.chance(0.1)) return Buffer.from(bytes.toString(), 'utf16le');
  if (dice.chance(0.1)) return Buffer.concat([Buffer.from([0x1f, 0x8b]), dice.bytes(40)]);
  for (let left = dice.between(1, 5); left > 0; left -= 1) {
    copy[dice.below(copy.length)] = dice.pick([0, 0x7f, 0x80, 0xbf, 0xc0, 0xc3, 0xed, 0xf5, 0xff, dice.below(256)]);
  }
  return copy;
}

/** As much work as fits into the size limit. */
function bomb(dice: Dice): string {
  const half = maxReportBytes / 2 - 200;
  const inReport = (value: string) => `{"version":1,"agentId":"a","instance":${value}}`;
  const made = dice.pick([
    () => '['.repeat(half),
    () => '['.repeat(half) + ']'.repeat(half),
    () => `${'{"a":'.repeat(5000)}1${'}'.repeat(5000)}`,
    () => `[${'1,'.repeat(half)}1]`,
    () => `{${Array.from({ length: 3000 }, (_, n) => `"k${n}":1`).join(',')}}`,
    () => `{"${'k'.repeat(half)}":1}`,
    () => '9'.repeat(half),
    () => `"${'\\u0000'.repeat(5000)}"`,
    () => `{"labels":{"${'a'.repeat(half)}!":""}}`,
    () => `{"x":"${'a.'.repeat(half / 2)}/"}`,
  ])();
  return dice.chance(0.5) ? made : inReport(made);
}

/** Around the limit, on both sides, and far beyond. */
function sized(dice: Dice, report: { [key: string]: Json }): Buffer {
  const text = JSON.stringify(report);
  const goal = dice.pick([maxReportBytes - 1, maxReportBytes, maxReportBytes + 1, 40_000, 200_000]);
  return Buffer.from(text + ' '.repeat(Math.max(0, goal - Buffer.byteLength(text))));
}
