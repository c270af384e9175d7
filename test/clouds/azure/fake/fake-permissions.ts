import type { ReceivedCall } from '../../fake-http.ts';
import { FakeRefusal } from './fake-api.ts';

/**
 * The action of a request is made of the types in its path; a write also needs the `join` of whatever it refers to.
 *
 * @param allowed actions of a role, in lower case. Undefined: all
 */
export function assertAllowed(call: ReceivedCall, allowed: ReadonlySet<string> | undefined): void {
  if (allowed === undefined) return;
  const { method, path } = call;
  const [, , , ...rest] = path.split('/');
  const [group, , , provider, ...types] = rest;
  const isInGroup = group?.toLowerCase() === 'resourcegroups' && provider !== undefined;
  const kinds = types.filter((_, at) => at % 2 === 0);
  const action = [provider, ...kinds, method === 'GET' ? 'read' : method === 'DELETE' ? 'delete' : 'write'].join('/');
  if (isInGroup && allowed.has(action.toLowerCase())) {
    for (const linked of method === 'PUT' ? linkedActions(call) : [])
      if (!allowed.has(linked)) throw new FakeRefusal(403, 'LinkedAuthorizationFailed', `no permission for ${linked}`);
    return;
  }
  const message = `The client does not have authorization to perform action '${action}' over scope '${path}'.`;
  throw new FakeRefusal(403, 'AuthorizationFailed', message);
}

/** Azure fills these in by itself and reads them in no write. */
const readOnly: ReadonlySet<string> = new Set(['backendIPConfigurations', 'ipConfiguration']);

function linkedActions({ body, path }: ReceivedCall): ReadonlySet<string> {
  const resource = path.toLowerCase().split('/').slice(0, 9).join('/');
  const actions = new Set<string>();
  const walk = (value: unknown): void => {
    if (typeof value !== 'object' || value === null) return;
    for (const [key, inner] of Object.entries(value)) {
      if (key !== 'id') {
        if (!readOnly.has(key)) walk(inner);
        continue;
      }
      const action = joinOf(String(inner).toLowerCase(), resource);
      if (action !== undefined) actions.add(action);
    }
  };
  walk(body);
  return actions;
}

/** Undefined: to refer to that takes no permission. */
function joinOf(id: string, resource: string): string | undefined {
  const [, parts] = /\/providers\/microsoft\.network\/(.*)$/.exec(id) ?? [];
  const kind = parts
    ?.split('/')
    .filter((_, at) => at % 2 === 0)
    .join('/');
  // Of its own parts the classic controller's list of permissions has the NAT rules alone.
  const isOwn = id === resource || (id.startsWith(`${resource}/`) && kind !== 'loadbalancers/inboundnatrules');
  if (kind === undefined || isOwn) return undefined;
  if (kind === 'virtualnetworks') return 'microsoft.network/virtualnetworks/joinloadbalancer/action';
  if (kind !== 'applicationsecuritygroups') return `microsoft.network/${kind}/join/action`;
  const joined = resource.includes('/networksecuritygroups/') ? 'joinnetworksecurityrule' : 'joinipconfiguration';
  return `microsoft.network/${kind}/${joined}/action`;
}
