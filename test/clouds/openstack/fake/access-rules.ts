import { readFileSync } from 'node:fs';

/** A rule of an application credential, as Keystone keeps it. */
export interface AccessRule {
  readonly service: string;
  readonly method: string;
  /** `{name}` and `*` = one segment or part of one, `**` = anything. */
  readonly path: string;
}

/** The rules that are shipped. */
export function shippedRules(): readonly AccessRule[] {
  const path = new URL('../../../../deploy/examples/openstack/access-rules.json', import.meta.url);
  return JSON.parse(readFileSync(path, 'utf8')) as AccessRule[];
}

/**
 * Whether a rule lets a request through, as keystonemiddleware decides it in front of every service.
 *
 * @param path of the whole URL, with what a service is mounted under
 */
export function lets(rule: AccessRule, service: string, method: string, path: string): boolean {
  return rule.service === service && rule.method === method && patternOf(rule.path).test(path);
}

function patternOf(path: string): RegExp {
  const tokens = path.match(/\{[^}]*\}|\*\*|\*|[^{*]+/g) ?? [];
  const parts = tokens.map((token) => {
    if (token === '**') return '.*';
    return token === '*' || token.startsWith('{') ? '[^/]+' : token.replace(/[.+?^$()|[\]\\]/g, '\\$&');
  });
  return new RegExp(`^${parts.join('')}$`);
}
