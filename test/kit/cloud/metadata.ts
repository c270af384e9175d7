import { createHash } from 'node:crypto';
import type { Clock } from '../../../common/process/clock.ts';
import type { Random } from '../../../common/process/random.ts';
import type { CallCounter } from './calls.ts';
import { codeOf } from './cloud-service.ts';
import { delay, refusal, spoil } from './effects.ts';
import type { Faults } from './faults.ts';
import type { IdentitySigner } from './identity-signer.ts';
import type { SimulatedInstance } from './instance.ts';
import type { CloudModel } from './model.ts';
import { type Answer, failure, toReply, type WireHandler, type WireReply, type WireRequest } from './wire.ts';

export interface MetadataServiceParts {
  readonly clock: Clock;
  readonly random: Random;
  readonly model: CloudModel;
  readonly faults: Faults;
  readonly calls: CallCounter;
  readonly signer: IdentitySigner;
}

/** Header that a client must send and that every answer of ours carries, so that neither is mistaken for another. */
export const metadataHeader = 'x-simulated-metadata';

const documentPath = '/metadata/v1/instance';
const identityPath = '/metadata/v1/identity';
const defaultWaitSeconds = 60;
const maxWaitSeconds = 300;

/**
 * The metadata services of all instances, one under each `/<instance id>`:
 * `GET /<id>/metadata/v1/instance[?wait_for_change=true&last_etag=<etag>&timeout_sec=<n>]`.
 * A long poll ends when the document differs from `last_etag`, or after `timeout_sec` with the document as it is.
 * `GET /<id>/metadata/v1/identity?challenge=<text>`: the signed identity of the VM.
 * The connections of a VM that does not run break.
 */
export function metadataService(parts: MetadataServiceParts): WireHandler {
  const { clock, random, model, faults, calls, signer } = parts;

  return async (request, signal) => {
    const match = /^\/([^/]+)(\/.*)$/.exec(request.path);
    const id = match?.[1] ?? '';
    const identity = match?.[2] === identityPath;
    if (request.method !== 'GET' || (match?.[2] !== documentPath && !identity)) {
      calls.count('metadata.unknown', '404');
      return toReply(failure(404, 'path-not-found', `no ${request.method} ${request.path}`));
    }
    const waits = request.query.get('wait_for_change') === 'true';
    const operation = identity ? 'metadata.identity' : waits ? 'metadata.wait' : 'metadata.get';
    const effects = faults.strike({ operation, instance: id, project: model.get(id)?.project });
    await delay(effects, clock, random, signal);
    const answer = refusal(effects) ?? (identity ? signed(id, request) : await serve(id, request, waits, signal));
    const reply: WireReply =
      answer === 'silence' || answer === 'lost' ? { kind: answer } : spoil(answer, effects, random);
    calls.count(operation, codeOf(reply));
    return reply;
  };

  async function serve(
    id: string,
    request: WireRequest,
    waits: boolean,
    signal: AbortSignal,
  ): Promise<Answer | 'lost'> {
    if (request.headers[metadataHeader] !== 'true') {
      return failure(403, 'header-missing', `header ${metadataHeader}: true is required`);
    }
    if (request.headers['x-forwarded-for'] !== undefined)
      return failure(403, 'forwarded', 'forwarded requests are refused');
    const seconds = Number(request.query.get('timeout_sec') ?? defaultWaitSeconds);
    if (!Number.isFinite(seconds) || seconds < 0) return failure(400, 'invalid', 'timeout_sec: expected seconds');
    const last = request.query.get('last_etag');
    const now = current(id);
    if (!waits || now === 'lost' || last === null || now.etag !== last) return toAnswer(now);
    await changed(id, last, Math.min(seconds, maxWaitSeconds) * 1000, signal);
    return toAnswer(current(id));
  }

  function signed(id: string, request: WireRequest): Answer | 'lost' {
    if (request.headers[metadataHeader] !== 'true') {
      return failure(403, 'header-missing', `header ${metadataHeader}: true is required`);
    }
    const instance = model.get(id);
    if (!instance || current(id) === 'lost') return 'lost';
    const challenge = request.query.get('challenge') ?? '';
    return { status: 200, headers: { [metadataHeader]: 'true' }, value: signer.sign(instance, challenge) };
  }

  function current(id: string): MetadataDocument | 'lost' {
    const instance = model.get(id);
    return !instance || instance.power === 'stopped' || instance.power === 'terminated' ? 'lost' : documentOf(instance);
  }

  function changed(id: string, last: string, timeoutMs: number, signal: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      const finish = () => {
        stop();
        timer.cancel();
        signal.removeEventListener('abort', finish);
        resolve();
      };
      const timer = clock.setTimer(timeoutMs, finish);
      const stop = model.watch(id, () => {
        const now = current(id);
        if (now === 'lost' || now.etag !== last) finish();
      });
      signal.addEventListener('abort', finish, { once: true });
      if (signal.aborted) finish();
    });
  }
}

interface MetadataDocument {
  readonly etag: string;
  readonly value: unknown;
}

function documentOf(instance: SimulatedInstance): MetadataDocument {
  const { id, incarnation, name, project, region, zone, type, hostname, internalDns, externalDns } = instance;
  const { interfaces, smbiosUuid, tags, notices } = instance;
  const identity = { id, incarnation, name, project, region, zone, type, smbiosUuid };
  const value = { ...identity, hostname, internalDns, externalDns, interfaces, tags, notices };
  return { value, etag: createHash('sha256').update(JSON.stringify(value)).digest('hex').slice(0, 16) };
}

function toAnswer(document: MetadataDocument | 'lost'): Answer | 'lost' {
  if (document === 'lost') return 'lost';
  return { status: 200, headers: { etag: document.etag, [metadataHeader]: 'true' }, value: document.value };
}
