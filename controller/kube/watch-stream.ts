import type { IncomingMessage } from 'node:http';
import { type KubeError, KubeError as KubeFailure, type WatchEvent } from './api.ts';
import { withoutMembers } from './unread-members.ts';

/** Longer than any object in etcd (a request is at most 3 MiB), with room for escaping. */
const maxLineBytes = 64 * 1024 * 1024;
const newline = 0x0a;
const types: ReadonlySet<unknown> = new Set(['ADDED', 'MODIFIED', 'DELETED', 'BOOKMARK', 'ERROR']);

/**
 * Splits a stream of bytes into lines, independently of the chunks: a line ends at a newline byte, which is never part
 * of a UTF-8 sequence. `end` throws when bytes are left over, because the stream was cut.
 */
export function lineReader(
  onLine: (line: Buffer) => void,
  limit = maxLineBytes,
): { push(chunk: Buffer): void; end(): void } {
  let parts: Buffer[] = [];
  let length = 0;
  return {
    push(chunk) {
      let start = 0;
      for (let at = chunk.indexOf(newline); at >= 0; at = chunk.indexOf(newline, start)) {
        const last = chunk.subarray(start, at);
        const line = parts.length === 0 ? last : Buffer.concat([...parts, last], length + last.length);
        parts = [];
        length = 0;
        start = at + 1;
        if (line.length > 0) onLine(line);
      }
      if (start === chunk.length) return;
      const rest = chunk.subarray(start);
      length += rest.length;
      if (length > limit) throw new Error(`a line exceeds ${limit} bytes`);
      parts.push(rest);
    },
    end() {
      if (length > 0) throw new Error(`the stream was cut within a line, after ${length} bytes of it`);
    },
  };
}

/** Parses one line of a watch. Throws an Error that names the fault. */
export function parseWatchLine(line: string): WatchEvent {
  let value: unknown;
  try {
    value = JSON.parse(line);
  } catch {
    throw new Error(`a line of ${line.length} characters is no JSON`);
  }
  const event = value as { readonly type?: unknown; readonly object?: unknown } | null;
  if (typeof event !== 'object' || event === null || !types.has(event.type)) {
    throw new Error('a line is no watch event: type is none of ADDED, MODIFIED, DELETED, BOOKMARK, ERROR');
  }
  if (typeof event.object !== 'object' || event.object === null) {
    throw new Error(`a watch event of type ${event.type} has no object`);
  }
  return event as WatchEvent;
}

/**
 * Reads a watch to its end. Resolves when the server ended it cleanly. Rejects with a KubeError (status 0) when it was
 * cut, a line was no event or `signal` aborted, and with any error of `onEvent`. The connection is closed in every case
 * except the first.
 */
export function readWatch(
  response: IncomingMessage,
  options: {
    readonly name: string;
    readonly signal: AbortSignal;
    readonly unread?: readonly string[];
    onEvent(event: WatchEvent): void;
  },
): Promise<void> {
  const { name, signal, unread = [], onEvent } = options;
  return new Promise((resolve, reject) => {
    let over = false;
    const finish = (error?: unknown) => {
      if (over) return;
      over = true;
      signal.removeEventListener('abort', onAbort);
      if (error === undefined) return resolve();
      response.destroy();
      reject(error);
    };
    const broken = (reason: string, message: string, cause?: unknown): KubeError =>
      new KubeFailure({ status: 0, reason, message: `WATCH ${name}: ${message}`, cause });
    const onAbort = () => finish(broken('Aborted', 'given up', signal.reason));
    const lines = lineReader((line) => {
      if (over) return;
      let event: WatchEvent;
      try {
        event = parseWatchLine(withoutMembers(line, unread).toString('utf8'));
      } catch (error) {
        return finish(broken('Unreadable', (error as Error).message, error));
      }
      try {
        onEvent(event);
      } catch (error) {
        finish(error);
      }
    });
    const guarded = (step: () => void) => {
      try {
        step();
      } catch (error) {
        finish(broken('Cut', (error as Error).message, error));
      }
    };
    response.on('data', (chunk: Buffer) => {
      if (!over) guarded(() => lines.push(chunk));
    });
    response.on('end', () => {
      guarded(() => {
        lines.end();
        if (!response.complete) throw new Error('the stream was cut');
        finish();
      });
    });
    response.on('error', (error) => finish(broken('Cut', error.message, error)));
    response.on('close', () => finish(broken('Cut', 'the stream was cut')));
    signal.addEventListener('abort', onAbort);
    if (signal.aborted) onAbort();
  });
}
