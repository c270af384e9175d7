import assert from 'node:assert/strict';
import { CloudError, type CloudErrorKind } from '../../../common/cloud-error.ts';
import type { EngineParts } from '../engine.ts';
import type { Request, Result } from '../request.ts';
import type { Desired } from './drivers.ts';
import { drive, ownerOf } from './environment.ts';
import { type CloudName, createScene, type Scene, type WrapDriver } from './scenes.ts';

/** A fault of the next `times` calls whose text matches. */
export interface Trouble {
  readonly call: RegExp;
  readonly is: CloudErrorKind | 'lost';
  readonly times?: number;
}

export interface Harness extends Scene {
  /** One call of `reconcile`, by the process that runs. */
  reconcile(service: string, desired: Desired | undefined, more?: Partial<Request<Desired>>): Promise<Result>;
  /** The same, until it has an end. */
  settle(service: string, desired: Desired | undefined, more?: Partial<Request<Desired>>): Promise<Result>;
  audit(): Promise<void>;
  forget(service: string): boolean;
  restart(more?: Partial<EngineParts<Desired>>): void;
  /** All calls since the last time this was asked, without polls. */
  calls(): readonly string[];
  trouble(...all: Trouble[]): void;
  pass(ms: number): Promise<void>;
  readonly engine: Scene['engine'];
}

export function desire(name: string, more: Partial<Desired> = {}): Desired {
  const ports = [
    { port: 80, nodePort: 30080 },
    { port: 443, nodePort: 30443 },
  ];
  return { name, ports, members: ['n1', 'n2'], algorithm: 'rr', zone: 'z1', ...more };
}

export function createHarness(
  name: CloudName,
  lagMs = 0,
  more: Partial<EngineParts<Desired>> = {},
  wrap?: WrapDriver,
): Harness {
  const scene = createScene(name, lagMs, wrap);
  const { cloud, clock } = scene;
  let engine = scene.engine(more);
  const reconcile: Harness['reconcile'] = (service, desired, request = {}) =>
    drive(clock, engine.reconcile({ owner: ownerOf(service), desired, mayChangeAddress: true, ...request }));
  return {
    ...scene,
    reconcile,
    async settle(service, desired, request) {
      for (let tries = 0; tries < 40; tries += 1) {
        const result = await reconcile(service, desired, request);
        if (result.state === 'settled' || result.state === 'refused') return result;
        await clock.advance(result.againInMs ?? 1000);
      }
      return assert.fail(`${service} does not settle`);
    },
    audit: () => drive(clock, engine.audit()),
    forget: (service) => engine.forget(ownerOf(service)),
    restart(again = more) {
      engine = scene.engine(again);
    },
    calls: () => cloud.calls.splice(0).filter((call) => call !== 'poll'),
    trouble(...all) {
      const left = all.map((one) => ({ ...one, times: one.times ?? 1 }));
      cloud.setHook({
        before(call) {
          const one = left.find((each) => each.times > 0 && each.call.test(call));
          if (one === undefined) return undefined;
          one.times -= 1;
          if (one.is === 'lost') return 'lose';
          throw new CloudError({ kind: one.is, cloud: 'fake', operation: call, message: 'trouble' });
        },
        crash: () => assert.fail('no crash here'),
      });
    },
    pass: (ms) => clock.advance(ms),
  };
}
