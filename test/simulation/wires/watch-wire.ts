import { errorOfAnswer } from '../../../controller/kube/answer.ts';
import { KubeError, type WatchCall, type WatchEvent } from '../../../controller/kube/api.ts';
import { resourceOf } from '../../../controller/kube/client.ts';
import type { JsonObject } from '../../kit/kube-api/json.ts';
import type { ObjectEvent } from './object-event.ts';
import { keyIn, type Wire } from './wire.ts';

const expired: WatchEvent = {
  type: 'ERROR',
  object: {
    kind: 'Status',
    apiVersion: 'v1',
    status: 'Failure',
    reason: 'Expired',
    code: 410,
    message: 'too old resource version',
  },
};

/**
 * A watch of one process. Its events travel one after another. It may be refused, cut, ended, expire, hang, be late, or
 * repeat events, and neighbouring events of different objects may change places, as behind a server that watches
 * several stores.
 */
export function openWatch(wire: Wire, request: WatchCall): Promise<void> {
  const { core, faults, dice, clock, world, process, observers } = wire;
  const resource = resourceOf(request.path);
  const site = `kube watch ${resource}`;

  return new Promise((resolve, reject) => {
    let over = false;
    let silent = false;
    let lastAt = world.monotonic();
    let stream: { close(): void } | undefined;
    /** Held back, to be told after the next one. */
    let late: ObjectEvent | undefined;
    const memory = wire.lastEvents;

    const finish = (act: () => void) => {
      if (over) return;
      over = true;
      request.signal.removeEventListener('abort', aborted);
      stream?.close();
      act();
    };
    const fail = (reason: string, message: string) =>
      finish(() => reject(new KubeError({ status: 0, reason, message: `watch ${request.path}: ${message}` })));
    const aborted = () => fail('Aborted', 'given up');

    /** In order, however late. */
    function deliver(act: () => void, delayMs = dice.between(0.5, 10)): void {
      const now = world.monotonic();
      lastAt = Math.max(lastAt, now + delayMs);
      clock.deliver(lastAt - now, () => {
        if (!over && !silent) act();
      });
    }

    function tell(event: ObjectEvent): void {
      deliver(() => {
        const { metadata } = event.object;
        if (metadata !== undefined && event.type !== 'BOOKMARK' && event.type !== 'ERROR') {
          const key = keyIn(metadata.namespace ?? '', metadata.name);
          const object = event.type === 'DELETED' ? undefined : (event.object as JsonObject);
          for (const observer of observers)
            observer.told?.({ at: world.monotonic(), process, resource, key, object, list: false });
          memory.set(request.path, event);
        }
        hand(event as WatchEvent);
      });
    }

    /** A throw of the reader ends the watch. */
    function hand(event: WatchEvent): void {
      try {
        request.onEvent(event);
      } catch (error) {
        finish(() => reject(error));
      }
    }

    /** It delivers nothing more, until the client gives it up, or the network recovers and breaks it. */
    function fallSilent(): void {
      silent = true;
      const check = () => {
        if (over) return;
        if (faults.rates.watch > 0 || faults.outage.watch === 'silent') world.setTimer(5000, check);
        else clock.deliver(1, () => fail('Unreachable', 'the watch was cut'));
      };
      check();
    }

    function receive(event: ObjectEvent): void {
      const held = late;
      late = undefined;
      if (held !== undefined && held.object.metadata?.name === event.object.metadata?.name) {
        tell(held);
        tell(event);
        return;
      }
      const fault = event.type === 'BOOKMARK' ? undefined : faults.watch(site, false);
      if (fault !== undefined) wire.trace?.(`${process.identity}  watch ${resource}  !! ${fault}`);
      if (fault === 'reordered' && held === undefined) {
        late = event;
        world.setTimer(1500, () => {
          if (late !== event) return;
          late = undefined;
          tell(event);
        });
        return;
      }
      if (fault === 'late') deliver(() => {}, dice.between(1000, 30_000));
      if (fault === 'expired') deliver(() => hand(expired));
      tell(event);
      if (held !== undefined) tell(held);
      if (fault === 'duplicate') tell(event);
      if (fault === 'cut') deliver(() => fail('Unreachable', 'the watch was cut'));
      if (fault === 'ended') deliver(() => finish(resolve));
      if (fault === 'silent') deliver(fallSilent);
      if (fault === 'crash') deliver(() => void wire.crash());
      if (fault === 'pause') deliver(() => wire.pause());
    }

    function begin(): void {
      if (over) return;
      const fault = faults.watch(`${site} (start)`, true);
      wire.trace?.(
        `${process.identity}  watch ${resource} from ${request.query['resourceVersion']}` +
          `${fault === undefined ? '' : `  !! ${fault}`}`,
      );
      if (fault === 'refused') {
        const status = dice.pick([429, 500, 503]);
        deliver(() =>
          finish(() =>
            reject(errorOfAnswer(`watch ${request.path}`, { status, headers: {}, body: Buffer.alloc(0) }, clock.now())),
          ),
        );
        return;
      }
      if (fault === 'crash') return void wire.crash();
      const result = core.handle({
        method: 'GET',
        path: request.path,
        query: new URLSearchParams({ ...request.query, watch: '1' }),
        headers: { accept: 'application/json', 'user-agent': 'mooring-controller' },
        user: wire.user,
      });
      if (result.watch === undefined) {
        const { status, headers, body } = result;
        deliver(() =>
          finish(() =>
            reject(errorOfAnswer(`watch ${request.path}`, { status, headers, body: Buffer.from(body) }, clock.now())),
          ),
        );
        return;
      }
      stream = result.watch;
      const again = memory.get(request.path);
      // The last word of before, once more; never one that a list has overtaken since, which no server would tell.
      const goesOn = again?.object.metadata?.resourceVersion === request.query['resourceVersion'];
      if (fault === 'repeated after reconnect' && again !== undefined && goesOn) tell(again);
      result.watch.start({
        line: (line) => receive(JSON.parse(line.text) as ObjectEvent),
        end: (cut) => deliver(() => (cut ? fail('Unreachable', 'the watch was cut') : finish(resolve))),
      });
      if (fault === 'expired') deliver(() => hand(expired));
      if (fault === 'silent') fallSilent();
      if (fault === 'ended') deliver(() => finish(resolve));
      if (fault === 'cut') deliver(() => fail('Unreachable', 'the watch was cut'));
      if (fault === 'pause') wire.pause();
    }

    request.signal.addEventListener('abort', aborted, { once: true });
    if (request.signal.aborted) return aborted();
    world.setTimer(dice.between(0.5, 12), begin);
  });
}
