const dateTime = /^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)/;
const zone = /^(Z|[+-]\d\d:\d\d)$/;

export type ParsedTime = { readonly text: string } | { readonly error: string };

function refusal(value: string, layout: string, rest: string, part: string): ParsedTime {
  return { error: `parsing time ${JSON.stringify(value)} as "${layout}": cannot parse "${rest}" as "${part}"` };
}

function inUtc(stamp: string, offset: string): string | undefined {
  const millis = Date.parse(`${stamp}${offset}`);
  return Number.isNaN(millis) ? undefined : new Date(millis).toISOString().slice(0, 19);
}

/** metav1.Time: RFC 3339; fractions are accepted and dropped, offsets become UTC. */
export function parseTime(value: string): ParsedTime {
  const layout = '2006-01-02T15:04:05Z07:00';
  const stamp = dateTime.exec(value)?.[1];
  if (stamp === undefined) return refusal(value, layout, value, '2006');
  const rest = value.slice(stamp.length).replace(/^[.,]\d+/, '');
  if (!zone.test(rest)) return refusal(value, layout, rest, 'Z07:00');
  const utc = inUtc(stamp, rest);
  if (utc === undefined) return { error: `parsing time ${JSON.stringify(value)}: day out of range` };
  return { text: `${utc}Z` };
}

/** metav1.MicroTime: exactly six fractional digits, else refused; offsets become UTC. */
export function parseMicroTime(value: string): ParsedTime {
  const layout = '2006-01-02T15:04:05.000000Z07:00';
  const stamp = dateTime.exec(value)?.[1];
  if (stamp === undefined) return refusal(value, layout, value, '2006');
  const fraction = value.slice(stamp.length, stamp.length + 7);
  if (!/^\.\d{6}$/.test(fraction)) return refusal(value, layout, value.slice(stamp.length), '.000000');
  const rest = value.slice(stamp.length + 7);
  if (!zone.test(rest)) return refusal(value, layout, rest, 'Z07:00');
  const utc = inUtc(stamp, rest);
  if (utc === undefined) return { error: `parsing time ${JSON.stringify(value)}: day out of range` };
  return { text: `${utc}${fraction}Z` };
}

/** metav1.Time of a moment: whole seconds, UTC. */
export function formatTime(ms: number): string {
  return `${new Date(ms).toISOString().slice(0, 19)}Z`;
}
