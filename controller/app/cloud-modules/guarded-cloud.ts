import { codecOf } from '../../../common/provider-id/registry.ts';
import {
  type CheckResult,
  type CloudContext,
  type CloudIdentity,
  type InstanceRef,
  type Lookup,
  type OpenedCloud,
  refKey,
} from '../../clouds/cloud.ts';
import { type CallGuard, createCallGuard } from './call-guard.ts';
import { guardDriver } from './guarded-driver.ts';
import { guardNodeTags } from './guarded-node-tags.ts';
import { guardRoutes } from './guarded-routes.ts';
import { guardVolumes } from './guarded-volumes.ts';
import { createLookupReader } from './read-lookup.ts';

const visible = /^[\x21-\x7e]{1,512}$/;

/**
 * A cloud of a module behind the guard: what it throws is a CloudError, what does not end is a `Timeout`, and what it
 * answers in another shape is `unknown` or an error. It answers for the providerIDs `NAME://ID` alone.
 *
 * @throws Error where a part of the cloud is missing
 */
export function guardCloud(opened: OpenedCloud, name: string, context: CloudContext): OpenedCloud {
  const { clock, log } = context;
  const guard = createCallGuard(name, clock);
  const codec = codecOf(name);
  const { instances, loadBalancerDriver: driver, routes, nodeTags, volumes, files = [], credential } = opened;
  assertParts(opened);

  return {
    name,
    identify: (signal) =>
      guard.call('identify', signal, async (ending) => readIdentity(guard, await opened.identify(ending))),
    accepts(providerID) {
      if (codec.parse(providerID) === undefined) return false;
      try {
        return opened.accepts(providerID) !== false;
      } catch {
        // A Node that no cloud accepts would be foreign, and leave load balancers. The lookup decides.
        return true;
      }
    },
    instances: guardInstances(name, instances, guard),
    loadBalancerDriver: driver && guardDriver(driver, guard),
    routes: routes && guardRoutes(routes, guard),
    nodeTags: nodeTags && guardNodeTags(nodeTags, guard),
    volumes: volumes && guardVolumes(volumes, guard),
    files,
    ...(credential !== undefined && { credential }),
    ...(opened.ping && { ping: (signal) => guard.call('ping', signal, async (ending) => opened.ping?.(ending)) }),
    check: (signal) => guard.call('check', signal, async (ending) => readChecks(guard, await opened.check(ending))),
    close() {
      try {
        opened.close();
      } catch (error) {
        log.warn('cloud not closed', { cloud: name, error: String(error) });
      }
    },
  };
}

function assertParts({ identify, accepts, check, close, instances, files = [] }: OpenedCloud): void {
  const parts = { identify, accepts, check, close, 'instances.lookup': instances?.lookup };
  for (const [part, value] of Object.entries(parts))
    if (typeof value !== 'function') throw new Error(`${part}: ${typeof value}, expected a function`);
  const { batchSize } = instances;
  if (!Number.isSafeInteger(batchSize) || batchSize < 1)
    throw new Error(`instances.batchSize: ${JSON.stringify(batchSize)}, expected a whole number of at least 1`);
  if (!Array.isArray(files) || !files.every((file) => typeof file === 'string'))
    throw new Error(`files: ${JSON.stringify(files)}, expected a list of paths`);
}

function guardInstances(name: string, instances: OpenedCloud['instances'], guard: CallGuard): OpenedCloud['instances'] {
  const read = createLookupReader(name, guard);
  return {
    batchSize: instances.batchSize,
    async lookup(refs, options = {}) {
      const { canaries = [], signal } = options;
      let answers: ReadonlyMap<string, unknown>;
      try {
        answers = await guard.call('lookup', signal, async (ending) => {
          // Copies: what the module does to them changes no question of ours.
          const asked = refs.map((ref) => ({ ...ref }));
          const shown = canaries.map((ref) => ({ ...ref }));
          const answered: unknown = await instances.lookup(asked, { ...options, canaries: shown, signal: ending });
          if (answered instanceof Map) return answered;
          throw guard.fault('lookup', `it answered ${typeof answered}, expected a Map`);
        });
      } catch (error) {
        const failure = guard.asCloudError('lookup', error, 'Unavailable');
        return new Map(refs.map((ref) => [refKey(ref), { state: 'unknown', error: failure }]));
      }
      const answered = (ref: InstanceRef) => answers.has(refKey(ref));
      return new Map(
        [...refs, ...canaries.filter(answered)].map((ref): [string, Lookup] => [
          refKey(ref),
          read(ref, answers.get(refKey(ref))),
        ]),
      );
    },
  };
}

/** @throws CloudError `Invalid`: scope and account are kept on Nodes, and compared */
function readIdentity(guard: CallGuard, identity: CloudIdentity | undefined): CloudIdentity {
  const { scope, account, formerScopes } = identity ?? ({} as Partial<CloudIdentity>);
  const wrong = (field: string, value: unknown, expected: string) =>
    guard.fault('identify', `${field}: ${JSON.stringify(value) ?? 'nothing'}, expected ${expected}`);
  if (typeof scope !== 'string' || !visible.test(scope) || scope.startsWith('report:'))
    throw wrong('scope', scope, 'a text without blanks, such as api.example.com/account');
  if (typeof account !== 'string' || !scope.split('/').includes(account))
    throw wrong('account', account, 'a segment of the scope between slashes');
  if (formerScopes !== undefined && !(Array.isArray(formerScopes) && formerScopes.every((one) => visible.test(one))))
    throw wrong('formerScopes', formerScopes, 'a list of scopes');
  return { scope, account, formerScopes };
}

/** @throws CloudError `Invalid` */
function readChecks(guard: CallGuard, results: readonly CheckResult[]): readonly CheckResult[] {
  const isResult = ({ name, ok, message }: CheckResult) =>
    typeof name === 'string' && (ok === null || typeof ok === 'boolean') && typeof message === 'string';
  if (Array.isArray(results) && results.every(isResult)) return results;
  throw guard.fault('check', 'it answered no list of results with name, ok and message');
}
