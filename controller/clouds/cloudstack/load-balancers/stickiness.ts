/** How a rule sends the connections of one client to the same VM. */
export interface Stickiness {
  readonly method: string;
  /** As the cloud takes them: `expire`, `cookie-name`. */
  readonly params: Readonly<Record<string, string>>;
}

/** Parameters that the virtual router takes, by method. */
const known: Readonly<Record<string, readonly string[]>> = {
  LbCookie: ['cookie-name', 'mode', 'nocache', 'indirect', 'postonly', 'domain'],
  AppCookie: ['cookie-name', 'length', 'holdtime', 'request-learn', 'prefix', 'mode'],
  SourceBased: ['tablesize', 'expire'],
};

/** `AppCookie, cookie-name=JSESSIONID`; undefined where it cannot be read. Pure. */
export function stickinessOf(text: string): Stickiness | undefined {
  const [method = '', ...rest] = text.split(',').map((part) => part.trim());
  const pairs = rest.map((part) => /^([a-z-]+)=([\w.:-]{1,200})$/.exec(part));
  const names = Object.hasOwn(known, method) ? known[method]! : undefined;
  if (names === undefined || pairs.some((pair) => pair === null || !names.includes(pair[1]!))) return undefined;
  return { method, params: Object.fromEntries(pairs.map((pair) => [pair![1]!, pair![2]!])) };
}
